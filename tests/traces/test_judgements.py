"""What judges and people say of traces, kept and read."""

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
from toolablate.traces.records import (
    Diagnosis,
    JudgeCall,
    Label,
    Message,
    ModelReply,
    ModelRequest,
    ReplayDesign,
    Trace,
    Trial,
)
from toolablate.traces.store import Recorder, Store, verify

SHORT, LONG = ReplayDesign(samples=1), ReplayDesign(samples=9, steps="all")


def diagnosis(trial: Trial, *, judge: str = "reader@00000000", wording: int = 1, reason: str = "why") -> Diagnosis:
    request = ModelRequest(messages=(Message(role="user", content="What went wrong? " * 40),))
    reply = ModelReply(message=Message(role="assistant", content=reason), finish_reason="stop")
    return Diagnosis(
        trial=trial.id,
        judge=judge,
        wording=wording,
        error_type="knowledge",
        distraction=None,
        reason=reason,
        calls=(JudgeCall(request=request, reply=reply),),
    )


async def _diagnosed(path: Path) -> list[Diagnosis]:
    """Two trials, the first read by two judges and by one of them twice."""
    first, second = await filled(path, 2)
    given = [
        diagnosis(first.trial),
        diagnosis(first.trial, wording=2),
        diagnosis(first.trial, judge="writer@00000000"),
        diagnosis(second.trial),
    ]
    with Recorder(path) as recorder:
        for design in (LONG, SHORT, LONG):
            recorder.keep_design(design)
        await recorder.diagnose([diagnosis(first.trial, reason="an earlier one"), *given])
    return given


def test_the_same_design_is_kept_once_in_the_order_of_last_asking(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    asyncio.run(_diagnosed(path))
    with Recorder(path) as recorder:
        recorder.keep_design(SHORT)
        recorder.keep_design(ReplayDesign())
        recorder.keep_design(LONG)
    with Store(path) as store:
        assert store.replay_designs() == (SHORT, ReplayDesign(), LONG)
    assert verify(path).ok
    assert verify(path).checked["designs"] == 3


def test_a_diagnosis_replaces_that_of_the_same_trial_judge_and_wording(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    given = asyncio.run(_diagnosed(path))
    with Store(path) as store:
        assert store.diagnoses(given[0].trial) == tuple(given[:3])
        assert store.diagnoses(given[3].trial[:12]) == (given[3],)
        assert tuple(store.all_diagnoses()) == tuple(given)
    assert verify(path).ok
    assert verify(path).checked["diagnoses"] == 4


def test_diagnoses_of_a_trial_are_found_without_a_look_at_all(tmp_path: Path) -> None:
    """A judge looks for its own before each reading."""
    asyncio.run(_diagnosed(tmp_path / "s.db"))
    statements: list[str] = []
    with Store(tmp_path / "s.db") as store:
        trial = next(store.all_diagnoses()).trial
        store._connection.set_trace_callback(statements.append)
        assert store.diagnoses(trial)
        (asking,) = [statement for statement in statements if "diagnoses.body" in statement]
        steps = [step[3] for step in store._rows(f"EXPLAIN QUERY PLAN {asking}")]
    assert not [step for step in steps if step.startswith("SCAN")], steps


def test_a_trial_without_a_trace_to_read_is_refused_with_all_that_came_with_it(tmp_path: Path) -> None:
    path = tmp_path / "s.db"

    async def refuse() -> str:
        done = (await filled(path, 1))[0]
        with Recorder(path) as recorder:
            planned = plan(recorder, identity="run-2")
            await attempt(recorder, planned[1], outcome="failed")
            with pytest.raises(StoreError) as caught:
                await recorder.diagnose([diagnosis(done.trial), diagnosis(planned[1])])
        return caught.value.code

    assert asyncio.run(refuse()) == "not_scorable"
    with Store(path) as store:
        assert tuple(store.all_diagnoses()) == ()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE designs SET digest = zeroblob(16) WHERE key = 2", "digest"),
        ("UPDATE designs SET id = 'another' WHERE key = 2", "id does not follow"),
        ("UPDATE diagnoses SET digest = zeroblob(16) WHERE trial = 2", "digest"),
        ("UPDATE diagnoses SET judge = 'another' WHERE trial = 2", "column"),
        ("UPDATE diagnoses SET trace = 1 WHERE trial = 2", "no finished trace of its trial"),
    ],
)
def test_damage_of_diagnoses_is_found_and_named(tmp_path: Path, statement: str, told: str) -> None:
    path = tmp_path / "s.db"
    asyncio.run(_diagnosed(path))
    connection = sqlite3.connect(path)
    assert connection.execute(statement).rowcount == 1
    connection.commit()
    connection.close()
    (problem,) = verify(path).problems
    assert told in problem.what


# What people hold for the causes of failures, in a store.


def label(trial: str, person: str = "Ada", **more: object) -> Label:
    return Label.model_validate({"trial": trial, "person": person, "at": WHEN, "mechanism": "lock_in", **more})


def _labelled(path: Path) -> tuple[list[Trace], list[Label]]:
    """Two trials; of the first two people say something, one of them three times."""
    traces = asyncio.run(filled(path, 2))
    first, second = (trace.trial.id for trace in traces)
    given = [
        label(first, note="the sum was of finitely many", attributed="sampling_noise", method="trace", turned_at=1),
        label(first, "Grace", mechanism="retrieval_distraction", distraction="over_engineering", blind=True),
        label(first, mechanism=None),
        label(first, mechanism="sampling_noise"),
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
def test_damage_of_labels_is_found_and_named(tmp_path: Path, statement: str, told: str) -> None:
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
