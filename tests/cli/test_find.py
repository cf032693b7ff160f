"""`toolablate find` as a user calls it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.viewer.finding.test_search import filled

from toolablate.cli import group


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("finding") / "store.sqlite")


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "find-cache"))


def find(store: Path, *options: str) -> Result:
    return CliRunner().invoke(group, ["find", str(store), "--baseline", "none", *options])


def test_hits_are_shown_in_context_and_by_condition(store: Path) -> None:
    done = find(store, "status:error log")
    assert done.exit_code == 0, done.output
    assert "Found in 1 trial of 1 question, of 8 trials searched." in done.output
    assert "1 code: import math print(math.log(0))" in done.output
    assert "1/2" in done.output


def test_the_same_as_json(store: Path) -> None:
    done = find(store, "base OR 求", "--json", "--limit", "1")
    said = json.loads(done.output)
    assert (said["hits"], said["questions"], said["questions_that_say_so"]) == (2, 2, 1)
    assert said["by_condition"][1] == {
        **{"condition": "python", "trials": 4, "hits": 2, "questions": 2, "flips": 2, "flip_hits": 2, "rest": 2},
        **{"rest_hits": 0, "expected_flip_hits": 0.0, "independent_trials": 4.0},
        "p": pytest.approx(1 / 3),
        "p_holm": pytest.approx(1 / 3),
    }
    (hit,) = said["found"]
    assert hit["flip"] == "right_to_wrong"
    assert {"event", "field", "before", "match", "after"} == set(hit["snippets"][0])


def test_a_field_for_words_without_one_and_keys_that_narrow(store: Path) -> None:
    assert json.loads(find(store, "math", "--field", "output", "--json").output)["hits"] == 1
    assert json.loads(find(store, "math", "--json").output)["hits"] == 2
    assert json.loads(find(store, "math", "--where", "flip=right", "--json").output)["trials"] == 4


def test_hostile_text_does_nothing_to_a_terminal(store: Path) -> None:
    done = find(store, "script")
    assert "<script>" in done.output
    assert "\x1b[31m" not in done.output
    assert "\u202e" not in done.output


@pytest.mark.parametrize("query", ["bogus:x", "/(/", "tool:nothing"])
def test_mistakes_are_sentences(store: Path, query: str) -> None:
    done = find(store, query)
    assert done.exit_code != 0
    assert type(done.exception).__name__ == "InputError"


def test_attributions_are_asked_for_where_they_are_needed(store: Path) -> None:
    done = find(store, "mechanism:*", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["hits"] == 2
