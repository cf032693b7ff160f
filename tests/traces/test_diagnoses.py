"""Designs of replays, and what judges hold for the causes of failures, in a store."""

import asyncio
import sqlite3
from pathlib import Path

import pytest
from tests.traces.samples import attempt, filled, plan

from toolablate.traces.errors import StoreError
from toolablate.traces.records import (
    Diagnosis,
    JudgeCall,
    Message,
    ModelReply,
    ModelRequest,
    ReplayDesign,
    Trial,
)
from toolablate.traces.store import Recorder, Store, verify

SHORT, LONG = ReplayDesign(samples=2), ReplayDesign(samples=9, steps="bisect")


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
def test_damage_is_found_and_named(tmp_path: Path, statement: str, told: str) -> None:
    path = tmp_path / "s.db"
    asyncio.run(_diagnosed(path))
    connection = sqlite3.connect(path)
    assert connection.execute(statement).rowcount == 1
    connection.commit()
    connection.close()
    (problem,) = verify(path).problems
    assert told in problem.what
