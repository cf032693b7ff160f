"""Forums that somebody proposed: only their sample threads are fetched until two others have approved them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.construction.reviewing import Person, reviewing
from tests.experiments.construction.test_forum_threads import Forums, fetch, serving, written
from tests.experiments.construction.writing import run

from toolablate.experiments.construction.approvals import load_reviewed
from toolablate.experiments.construction.kinds import load_items
from toolablate.experiments.construction.sources.captures import load_capture_plan
from toolablate.traces.errors import InputError


class WithSamples(Forums):
    """Also gives questions by their numbers."""

    def answer(self, path: str, query: dict[str, list[str]]) -> Any:
        match path.strip("/").split("/"):
            case ["2.3", "questions", numbers]:
                pages = [super(WithSamples, self).answer("/2.3/questions", {"page": [n], "min": ["0"]}) for n in "12"]
                found = [each for page in pages for each in page["items"] if str(each["question_id"]) in numbers]
                return {"items": found, "has_more": False}
        return super().answer(path, query)


@pytest.fixture
def forums() -> Iterator[Forums]:
    with serving(WithSamples()) as served:
        yield served


def proposed(folder: Path, forums: Forums) -> Path:
    about = 'domain = "Chemistry"\npermission = "by mail of the owner"\nproposer = "ann"\n'
    path = written(folder, forums, f'{about}samples = ["{forums.url}/t/some-name/2"]')
    stack = f'site = "chemistry"\n{about}samples = ["https://chemistry.example/questions/9/why"]'
    path.write_text(path.read_text().replace('site = "chemistry"', stack))
    return path


def fetched(path: Path) -> list[str]:
    lines = (path.parent / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["url"].rpartition("/")[2] for line in lines]


def test_more_than_the_samples_is_fetched_once_two_others_have_approved(forums: Forums, tmp_path: Path) -> None:
    path = proposed(tmp_path, forums)
    told = fetch(path).output
    assert fetched(path) == ["2", "9"]
    assert not any("latest" in each for each in forums.asked)
    assert "Batteries: sample threads alone, until others approve it" in " ".join(told.split())
    with reviewing(path) as site:
        by_name = Person(site, name="Ann").page
        assert by_name.status_code == 400
        assert "ann has decided or proposed something here" in by_name.text
        ann, bob, cleo = Person(site, "ann"), Person(site, "bob"), Person(site, "cleo")
        assert "Nothing waits for you" in ann.client.get("/").text, "who proposes does not approve"
        first = bob.next()
        page = bob.client.get(first).text
        assert "by mail of the owner" in page
        assert f'<a href="{forums.url}/t/some-name/2"' in page
        assert ann.says(first, "accept").status_code == 422
        for person in (bob, cleo):
            assert "Kept: accepted." in person.says(first, "accept").text
        second = bob.next()
        for person in (bob, cleo):
            person.says(second, "reject", **{"for": "no permission"})
    assert run("decide", path).output == ""
    told = " ".join(fetch(path).output.split())
    assert fetched(path) == ["2", "9", "1", "5"]
    assert "Batteries: sample" not in told
    assert "Chemistry: sample threads alone" in told


def test_a_forum_that_is_written_otherwise_is_to_be_approved_anew(forums: Forums, tmp_path: Path) -> None:
    path = proposed(tmp_path, forums)
    rows = [json.loads(line) for line in run("decide", path).output.splitlines()]
    decisions = [
        {"item": row["item"], "seen": row["seen"], "reviewer": who, "verdict": "accept"}
        for row in rows
        for who in ("bob", "cleo")
    ]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, decisions)), encoding="utf-8")
    run("decide", path, tmp_path / "d.jsonl")
    assert run("decide", path).output == ""
    path.write_text(path.read_text().replace("by mail of the owner", "none", 1))
    (left,) = run("decide", path).output.splitlines()
    assert json.loads(left)["source"]["permission"] == "none"
    fetch(path)
    assert not any("latest" in each for each in forums.asked)
    # Of the other one all, which nobody changed.
    assert fetched(path) == ["2", "7", "9"]


def test_a_file_of_which_nothing_is_proposed_has_nothing_to_review(forums: Forums, tmp_path: Path) -> None:
    path = written(tmp_path, forums)
    with pytest.raises(InputError, match="no forum has a `proposer`"):
        load_items(load_reviewed(path))
    fetch(path)
    assert fetched(path) == ["1", "2", "5", "7", "9"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ('proposer = "ann"', "domain: has to be given of a forum that has a proposer"),
        ('samples = ["https://a.example/t/1"]', "proposer: has to be given of a forum that has samples"),
    ],
)
def test_a_proposal_is_whole_or_none(more: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "captures.toml"
    path.write_text(f'[[forums]]\nname = "Stills"\nlisting = "https://a.example/f"\n{more}\n', encoding="utf-8")
    with pytest.raises(InputError, match=told):
        load_capture_plan(path)
