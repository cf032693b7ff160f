"""What people hold for the causes of failures, in a store."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.traces.samples import WHEN, attempt, filled, plan

from toolablate.traces.errors import StoreError
from toolablate.traces.records import Label, Trace
from toolablate.traces.store import Recorder, Store, verify


def label(trial: str, person: str = "Ada", **more: object) -> Label:
    return Label.model_validate({"trial": trial, "person": person, "at": WHEN, "mechanism": "lock_in", **more})


def _labelled(path: Path) -> tuple[list[Trace], list[Label]]:
    """Two trials; of the first two people say something, one of them three times."""
    traces = asyncio.run(filled(path, 2))
    first, second = (trace.trial.id for trace in traces)
    given = [
        label(first, note="the sum was of finitely many", attributed="luck", method="trace", turned_at=1),
        label(first, "Grace", mechanism="retrieval_distraction", distraction="over_engineering", blind=True),
        label(first, mechanism=None),
        label(first, mechanism="luck"),
        label(second, "张三", note="💥 \u202e"),
    ]
    with Recorder(path) as recorder:
        for each in given:
            recorder.label(each)
    return traces, given


def test_all_that_people_said_is_kept_in_order(tmp_path: Path) -> None:
    traces, given = _labelled(tmp_path / "s.db")
    with Store(tmp_path / "s.db") as store:
        assert store.labels() == tuple(given)
        assert store.labels(traces[0].trial.id) == tuple(given[:4])
        assert store.labels(traces[1].trial.id[:12]) == (given[4],)
    report = verify(tmp_path / "s.db")
    assert report.ok
    assert report.checked["labels"] == 5


def test_a_trial_without_a_trace_to_read_takes_none(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    asyncio.run(filled(path, 1))

    async def fail() -> str:
        with Recorder(path) as recorder:
            planned = plan(recorder, identity="run-2")
            await attempt(recorder, planned[1], outcome="failed")
            return planned[1].id

    failed = asyncio.run(fail())
    for trial, code in ((failed, "not_scorable"), ("0" * 32, "unknown_trial")):
        with Recorder(path) as recorder, pytest.raises(StoreError) as caught:
            recorder.label(label(trial))
        assert caught.value.code == code
    with Store(path) as store:
        assert store.labels() == ()


def test_labels_of_a_trace_that_is_current_no_more_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    traces, given = _labelled(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE trials SET current = NULL, outcome = NULL WHERE id = ?", (traces[0].trial.id,))
        connection.commit()
    with Store(path) as store:
        assert store.labels() == (given[4],)
        assert store.labels(traces[0].trial.id) == ()


@pytest.mark.deep
def test_a_label_that_was_told_as_kept_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    (trace,) = asyncio.run(filled(path, 1))
    given = label(trace.trial.id).model_dump_json()
    child = subprocess.run([sys.executable, "-c", _LABEL_AND_DIE, path, given], timeout=60, check=False)
    assert child.returncode == -signal.SIGKILL
    with Recorder(path) as recorder:
        recorder.label(label(trace.trial.id, "Grace"))
    with Store(path) as store:
        assert [each.person for each in store.labels()] == ["Ada", "Grace"]
    assert verify(path).ok


_LABEL_AND_DIE = """
import os, signal, sys
from toolablate.traces.records import Label
from toolablate.traces.store import Recorder
Recorder(sys.argv[1]).label(Label.model_validate_json(sys.argv[2]))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE labels SET digest = zeroblob(16) WHERE key = 2", "digest"),
        ("UPDATE labels SET person = 'Eve' WHERE key = 2", "column"),
        ("UPDATE labels SET trace = 2 WHERE key = 2", "no finished trace of its trial"),
        ("UPDATE labels SET trial = 2, trace = 2 WHERE key = 2", "column"),
    ],
)
def test_damage_is_found_and_named(tmp_path: Path, statement: str, told: str) -> None:
    path = tmp_path / "s.db"
    _labelled(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(statement).rowcount == 1
        connection.commit()
    (problem,) = verify(path).problems
    assert told in problem.what
    assert problem.where.startswith("label 2 of trial ")


@pytest.mark.parametrize("wrong", [{"person": ""}, {"mechanism": "magic"}, {"turned_at": -1}, {"note": "x" * 20_001}])
def test_what_no_label_can_say(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        label("a", **{"person": "Ada", **wrong})  # type: ignore[arg-type]
