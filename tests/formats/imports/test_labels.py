"""What people said of trials goes out to Inspect and comes back."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.formats.exports.conftest import all_of
from tests.formats.exports.stores import BARE, FAILED, TOOLS, label
from tests.formats.imports.conftest import imported
from tests.formats.imports.test_bad_inspect_logs import HOSTILE, changed, refused
from tests.traces.samples import WHEN, attempt, plan

pytest.importorskip("inspect_ai")

from toolablate.formats.inspect.export_logs import write_logs
from toolablate.traces.records import Label
from toolablate.traces.store import Recorder, Store, verify


async def _labelled(path: Path) -> None:
    with Recorder(path) as recorder:
        plan(recorder)
        for trial in (BARE, TOOLS):
            await attempt(recorder, trial)
        await attempt(recorder, FAILED, outcome="failed")
        for person in ("Ada\u202e", "Bob"):
            recorder.label(label(TOOLS, person))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "study.sqlite"
    asyncio.run(_labelled(path))
    return path


def log_of(study: Path, folder: Path, condition: str = "python") -> Path:
    folder.mkdir()
    (log,) = write_logs(
        [each for each in all_of(study, {}) if each.called.condition == condition], folder, name="study"
    )
    return log


def said(store: Path) -> list[Label]:
    """Without the trial, whose id follows from its model."""
    with Store(store) as opened:
        return [each.model_copy(update={"trial": ""}) for each in opened.labels()]


def test_they_come_back_once_as_they_were(study: Path, store: Path, tmp_path: Path) -> None:
    log = log_of(study, tmp_path / "logs")
    assert [told.labels for told in imported(store, log)] == [2]
    assert said(store) == said(study) != []
    assert [told.labels for told in imported(store, log)] == [0]
    assert said(store) == said(study)
    assert verify(store).problems == ()


def test_what_a_person_said_since_is_added_and_the_last_word_counts(study: Path, store: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.sqlite"
    own.write_bytes(study.read_bytes())
    imported(store, log_of(own, tmp_path / "first"))
    with Store(store) as opened:
        trial = opened.labels()[0].trial
    withdrawn = Label(trial=trial, person="Bob", at=WHEN + timedelta(hours=2), mechanism=None)
    with Recorder(store) as recorder:
        recorder.label(withdrawn)
    with Recorder(own) as recorder:
        for person in ("Bob", "Ada\u202e"):
            later = label(TOOLS, person).model_copy(update={"at": WHEN + timedelta(hours=1), "note": "on reflection"})
            recorder.label(later)
    again = log_of(own, tmp_path / "second")
    assert [told.labels for told in imported(store, again)] == [1]
    assert [(each.person, each.note) for each in said(store)[2:]] == [("Bob", ""), ("Ada\u202e", "on reflection")]
    assert [told.labels for told in imported(store, again)] == [0]


def test_of_thousands_each_is_entered_once(study: Path, store: Path, tmp_path: Path) -> None:
    def many(sample: dict[str, Any]) -> None:
        if labels := sample["metadata"].get("labels"):
            labels += [labels[0] | {"note": str(number % 20)} for number in range(4000)]

    log = changed(log_of(study, tmp_path / "logs"), tmp_path / "many.eval", many)
    assert [told.labels for told in imported(store, log)] == [22]
    assert [told.labels for told in imported(store, log)] == [0]


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ("lock_in", "metadata.labels: it is no list"),
        (["lock_in"], "metadata.labels.0: it is no label"),
        ([{"person": ""}], "metadata.labels.0.person: String should have at least 1 character"),
        ([{"person": "A" * 201}], "metadata.labels.0.person: String should have at most 200 characters"),
        ([{"note": "\ud800"}], "metadata.labels.0.note: Input should be a valid string"),
        ([{}, {"mechanism": "magic"}], "metadata.labels.1.mechanism: Input should be 'retrieval_distraction'"),
        ([{"\x1b[31mkey": 1}], "metadata.labels.0.key: Extra inputs are not permitted"),
        ([{"turned_at": -1}], "metadata.labels.0.turned_at: Input should be greater than or equal to 0"),
        ([{"turned_at": 6}], "metadata.labels.0.turned_at: the sample has 6 events, from 0"),
        ([{"turned_at": 2**70}], "metadata.labels.0.turned_at: the sample has 6 events, from 0"),
        ([{"at": "yesterday"}], "metadata.labels.0.at: Input should be a valid datetime"),
        ([{"at": "2026-01-02T03:04:05"}], "metadata.labels.0.at: it is no instant with its zone"),
        ([{"at": "9999-12-31T23:59:59-12:00"}], "metadata.labels.0.at: it is no instant with its zone"),
    ],
)
def test_what_can_be_no_label_is_refused_by_file_sample_and_key(
    study: Path, store: Path, tmp_path: Path, labels: Any, told: str
) -> None:
    def hostile(sample: dict[str, Any]) -> None:
        if sample["uuid"] == TOOLS.id:
            whole = sample["metadata"]["labels"][0]
            some = isinstance(labels, list) and all(isinstance(each, dict) for each in labels)
            sample["metadata"]["labels"] = [whole | each for each in labels] if some else labels

    log = changed(log_of(study, tmp_path / "logs"), tmp_path / "bad.eval", hostile)
    assert f"{log}: sample 'q0', epoch 1 cannot be taken: {told}" in refused(store, log)


def test_a_failed_sample_has_none(study: Path, store: Path, tmp_path: Path) -> None:
    def failing(sample: dict[str, Any]) -> None:
        if sample["uuid"] == FAILED.id:
            sample["metadata"]["labels"] = [{"person": "Eve", "at": WHEN.isoformat(), "mechanism": "luck"}]

    log = changed(log_of(study, tmp_path / "logs", "none"), tmp_path / "bad.eval", failing)
    assert "metadata.labels: the sample failed" in refused(store, log)


@pytest.mark.parametrize("labels", [[{"person": HOSTILE}], "good", ["a", "b"], {"a": 1}])
def test_what_others_call_labels_is_left_alone(
    inspect_logs: Path, store: Path, tmp_path: Path, labels: Sequence[Any]
) -> None:
    log = changed(
        inspect_logs / "plain.eval", tmp_path / "l.eval", lambda sample: sample["metadata"].update(labels=labels)
    )
    assert [told.labels for told in imported(store, log)] == [0]


def test_a_time_of_another_zone_is_the_same_instant(study: Path, store: Path, tmp_path: Path) -> None:
    def moved(sample: dict[str, Any]) -> None:
        for each in sample["metadata"].get("labels", []):
            each["at"] = "2026-01-02T05:04:05.678901+02:00"

    log = log_of(study, tmp_path / "logs")
    imported(store, changed(log, tmp_path / "moved.eval", moved))
    assert {each.at for each in said(store)} == {WHEN}
    assert [told.labels for told in imported(store, log)] == [0]
