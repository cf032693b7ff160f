"""Whether answers can be found and computed, asked of a real corpus and written into questions."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from toolablate.benchmarks.questions import load_questions
from toolablate.cli import group
from toolablate.experiments.annotating import Sought, computable, phrasings_of
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    ChoiceTarget,
    CodeTarget,
    NumberTarget,
    Question,
    ReferenceTarget,
    SpansTarget,
    Target,
)

CORPUS = [
    {
        "id": "hill",
        "url": "https://www.hill.example/goats/",
        "title": "The farm on the hill",
        "text": "Ledger of the Brindlewick farm on the northern hillside. In that winter the Brindlewick farm kept"
        " thirty-seven goats on the northern hillside, more than ever before.",
    },
    {
        "id": "mill",
        "url": "https://mill.example/",
        "title": "Mill",
        "text": "The watermill at Tarrowford ground barley for the abbey until the flood. Thirty-seven sacks a day.",
    },
]
GOATS = {
    "id": "goats",
    "domain": "farming",
    "prompt": "A ledger is quoted below. How many goats did the Brindlewick farm keep on the northern hillside?",
    "answers": ["thirty-seven"],
}
FLOOD = {
    "id": "flood",
    "domain": "mills",
    "prompt": "Which river flooded the watermill at Tarrowford?",
    "answers": ["the Oskel"],
    "metadata": {"source_urls": ["http://mill.example"], "computable": "a person's word"},
}
NOWHERE = {
    "id": "nowhere",
    "domain": "mills",
    "prompt": "Who painted the ceiling of the observatory in Quellstadt?",
    "answers": ["Ludmila Harth"],
}

Annotate = Callable[..., Result]


@pytest.fixture
def annotate(tmp_path: Path) -> Annotate:
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, CORPUS)), encoding="utf-8")
    search = '[search]\nprovider = "corpus"\ncorpus = "corpus.jsonl"\n'

    def run(*questions: dict[str, Any], search: str = search, options: tuple[str, ...] = ()) -> Result:
        (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")
        (tmp_path / "plan.toml").write_text(
            'conditions = ["none"]\n[questions]\nfile = "questions.jsonl"\n'
            f'{search}[[models]]\nprovider = "simulated"\nname = "s"\n',
            encoding="utf-8",
        )
        asked = ["annotate", str(tmp_path / "plan.toml"), "-o", str(tmp_path / "out.jsonl"), *options]
        return CliRunner().invoke(group, asked)

    return run


def written(tmp_path: Path) -> dict[str, dict[str, Any]]:
    return {question.id: question.metadata for question in load_questions(tmp_path / "out.jsonl")}


def test_sources_and_answers_are_found_and_written_as_metadata(annotate: Annotate, tmp_path: Path) -> None:
    done = annotate(GOATS, FLOOD, NOWHERE)
    assert done.exit_code == 0, done.output
    found = written(tmp_path)
    assert (found["goats"]["retrieved"], found["goats"]["retrievable"]) == ("answer", 1.0)
    assert (found["flood"]["retrieved"], found["flood"]["computable"]) == ("source", "a person's word")
    assert found["nowhere"] == {"computable": "no", "retrievable": 0.0, "retrieved": "nothing"}
    assert "mills: 50 % of 2 questions (9 to 91)" in done.output
    assert "best found: 1 source, 1 answer, 1 nothing" in done.output
    # The questions are the same ones, so that stores of them go on.
    before, after = (load_questions(tmp_path / name) for name in ("questions.jsonl", "out.jsonl"))
    assert [each.identity() for each in before] == [each.identity() for each in after]


def test_nothing_is_asked_twice(annotate: Annotate, tmp_path: Path) -> None:
    annotate(GOATS, NOWHERE)
    kept = tmp_path / "runs/plan.retrievals.jsonl"
    lines = kept.read_text(encoding="utf-8").splitlines()
    # What a killed process had begun to write is taken off, and asked again.
    kept.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:50], encoding="utf-8")
    assert annotate(GOATS, NOWHERE).exit_code == 0
    again = kept.read_text(encoding="utf-8").splitlines()
    assert again[:-1] == lines[:-1]
    assert json.loads(again[-1])["phrasing"] == json.loads(lines[-1])["phrasing"]
    annotate(GOATS | {"answers": ["ninety"]}, NOWHERE)
    assert written(tmp_path)["goats"]["retrieved"] == "nothing", "another answer is looked for anew"


def test_without_search_the_questions_own_documents_are_searched(annotate: Annotate, tmp_path: Path) -> None:
    own = GOATS | {"documents": [{"name": "ledger", "text": CORPUS[0]["text"]}]}
    assert annotate(own, NOWHERE, search="").exit_code == 0
    found = written(tmp_path)
    assert (found["goats"]["retrieved"], "retrieved" in found["nowhere"]) == ("answer", False)
    assert "not asked" in annotate(GOATS, search="").output


def test_a_search_that_failed_is_no_miss(annotate: Annotate, tmp_path: Path) -> None:
    search = '[search]\nprovider = "searxng"\nendpoint = "http://127.0.0.1:9/"\n'
    done = annotate(GOATS, search=search, options=("--phrasings", "1"))
    assert done.exit_code == 1, done.output
    assert "failed: 1 x " in done.output
    assert written(tmp_path)["goats"] == {"computable": "no"}
    assert (tmp_path / "runs/plan.retrievals.jsonl").read_bytes() == b""


def test_metadata_of_another_form_is_refused(annotate: Annotate) -> None:
    done = annotate(FLOOD | {"metadata": {"source_urls": [7]}})
    assert isinstance(done.exception, InputError)
    assert "question 'flood': metadata.source_urls must be a text or a list of texts" in str(done.exception)


def question(prompt: str, target: Target, **more: Any) -> Question:
    return Question(id="q", prompt=prompt, target=target, **more)


def test_phrasings_are_those_of_the_metadata_then_by_rule() -> None:
    asked = question(
        "In 1911 it rained. How much?  Say why.", NumberTarget(value=3), metadata={"phrasings": "rain 1911"}
    )
    assert phrasings_of(asked, 3) == ("rain 1911", "How much?", "In 1911 it rained. How much? Say why.")
    long = phrasings_of(question("word " * 500, NumberTarget(value=3)), 4)
    assert all(len(each) <= 300 for each in long)
    assert phrasings_of(question("为什么轴承会损坏？请说明理由。", NumberTarget(value=3)), 1) == ("为什么轴承会损坏？",)


@pytest.mark.parametrize(
    ("published", "found", "is_source"),
    [
        (
            "https://a.example/questions/7/what-did---mean-by-it",
            "https://a.example/questions/7/what-did-ann-lee-mean-by-it",
            True,
        ),
        ("https://forum.example/viewtopic.php?t=17&u=-", "https://forum.example/viewtopic.php?t=17&u=8", True),
        ("https://forum.example/viewtopic.php?t=17&u=-", "https://forum.example/viewtopic.php?t=18&u=8", False),
        ("https://forum.example/u/-/posts", "https://forum.example/u/ann/posts", True),
        ("https://forum.example/t/why-swell/12", "https://forum.example/t/why-they-swell/12", False),
    ],
)
def test_a_source_is_known_without_the_names_that_its_published_address_lost(
    published: str, found: str, is_source: bool
) -> None:
    sought = Sought(question("Why?", NumberTarget(value=3), metadata={"source_urls": [published]}))
    assert sought.is_source(found) == is_source


def test_an_answer_counts_only_beside_the_questions_words() -> None:
    asked = question(str(GOATS["prompt"]), NumberTarget(value=37))
    assert Sought(asked).answered_by("The ledger: goats that the Brindlewick farm kept on the northern hillside: 37.")
    assert not Sought(asked).answered_by("Bus 37 leaves from the station.")
    assert not Sought(question("Which? A. x B. y", ChoiceTarget(letters=("A",)))).anything


@pytest.mark.parametrize(
    ("prompt", "target", "more", "expected"),
    [
        ("Write f.", CodeTarget(tests=("assert f() == 1",)), {}, "yes"),
        ("A rod of 2 m weighs 3 kg. How dense?", NumberTarget(value=1.5), {}, "yes"),
        ("How many goats were there?", NumberTarget(value=37), {}, "unclear"),
        (
            "A rod of 2 m weighs 3 kg. Why?",
            ReferenceTarget(answer="Because 2 of its 3 parts rust in the rain."),
            {},
            "no",
        ),
        ("From 2 and 3?", ReferenceTarget(answer="97.28 kJ/mol"), {}, "yes"),
        ("From 2 and 3?", SpansTarget(spans=("north",)), {}, "no"),
        ("Of 2 and 3?", ChoiceTarget(letters=("B",)), {"choices": ("5", "6")}, "yes"),
        ("Which of 2 and 3? A. x B. y", ChoiceTarget(letters=("B",)), {}, "unclear"),
    ],
)
def test_computability_goes_by_the_form_of_answer_and_question(
    prompt: str, target: Target, more: dict[str, Any], expected: str
) -> None:
    assert computable(question(prompt, target, **more)) == expected


def test_a_store_goes_on_with_annotated_questions(annotate: Annotate, tmp_path: Path) -> None:
    annotate(GOATS, FLOOD, NOWHERE)
    plan = tmp_path / "plan.toml"
    text = plan.read_text(encoding="utf-8").replace('["none"]', '["none", "scaffold"]')
    plan.write_text(text, encoding="utf-8")
    ran = [CliRunner().invoke(group, ["run", str(plan), "--json"])]
    plan.write_text(text.replace("questions.jsonl", "out.jsonl"), encoding="utf-8")
    ran.append(CliRunner().invoke(group, ["run", str(plan), "--json"]))
    before, after = (json.loads(done.stdout) for done in ran)
    assert (before["done_before"], after["done_before"]) == (0, 6), after
    asked = ["compare", str(tmp_path / "runs/plan.sqlite"), "--by", "metadata.retrieved", "--json"]
    rows = json.loads(CliRunner().invoke(group, asked).stdout)["comparisons"]
    assert [row["group"] for row in rows if row["by"]] == ["answer", "nothing", "source"]
