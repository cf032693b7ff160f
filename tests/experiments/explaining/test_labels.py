"""`toolablate labels` on a store that a real run filled."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.experiments.attributing.test_attribute import ran, read, said, toolablate

from toolablate.traces.records import Label
from toolablate.traces.store import Recorder, verify

__all__ = ["ran"]


@pytest.fixture
def labelled(ran: Path, tmp_path: Path) -> tuple[Path, str]:
    """A store in which two people said something of one wrong trial, of which the trace says something as well."""
    store = Path(shutil.copy(ran, tmp_path / "own.sqlite"))
    wrong = next(each for each in read(store)["trials"] if each["attribution"])
    with Recorder(store) as recorder:
        for person, mechanism in (("Ada", wrong["attribution"]["mechanism"]), ("Grace", "other_results")):
            given = {"trial": wrong["trial"], "person": person, "at": datetime.now(UTC), "mechanism": mechanism}
            recorder.label(Label.model_validate(given))
    return store, wrong["trial"]


def test_labels_are_held_against_the_attribution(labelled: tuple[Path, str], tmp_path: Path) -> None:
    store, trial = labelled
    found = json.loads(said("labels", store, "--json", "--csv", tmp_path / "labels.csv"))
    assert [(each["trial"], each["person"], each["agrees"]) for each in found["labels"]] == [
        (trial, "Ada", True),
        (trial, "Grace", False),
    ]
    assert {each["method"] for each in found["with_attribution"]} == {"trace"}
    assert (tmp_path / "labels.csv").read_text(encoding="utf-8").count("\n") == 3
    assert verify(store).ok


def test_the_page_names_people_and_says_that_they_are_few(labelled: tuple[Path, str]) -> None:
    store, trial = labelled
    text = said("labels", store)
    assert trial[:10] in text
    assert "too few to say" in " ".join(text.split())
    assert "Grace" not in said("labels", store, "--person", "Ada")


def test_a_person_who_said_nothing_is_refused(labelled: tuple[Path, str]) -> None:
    told = toolablate(labelled[0].parent, "labels", labelled[0], "--person", "Eve")
    assert told.returncode == 2
    assert "no label by 'Eve'" in told.stderr
    assert "'Ada', 'Grace'" in told.stderr


def test_a_store_without_labels_says_so(ran: Path) -> None:
    assert "Nobody has given a label yet" in said("labels", ran)
