import asyncio
import os
import sqlite3
import time
from pathlib import Path

import pytest
from tests.traces.samples import (
    CODE,
    MODEL,
    NONE,
    QUESTIONS,
    SIMULATED,
    attempt,
    begun,
    filled,
    plan,
    run,
    score,
    trials,
)

from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import (
    Answer,
    Condition,
    OpenAIModel,
    Price,
    ToolCall,
    ToolRequest,
    Trial,
)
from toolablate.traces.store import Recorder, Store, TrialRecorder, trace_digest, verify
from toolablate.traces.store.digests import EventContents


async def test_what_went_in_comes_out(tmp_path: Path) -> None:
    written = await filled(tmp_path / "s.db")
    with Store(tmp_path / "s.db") as store:
        assert list(store.traces()) == written
        assert [store.trace(trace.trial.id) for trace in written] == written
        assert store.finished_trials() == {trace.trial.id for trace in written}
        assert store.questions() == QUESTIONS
        assert store.models() == (MODEL, SIMULATED)
        assert store.conditions() == (NONE, CODE)
        assert store.runs() == (run(),)
        assert store.question(QUESTIONS[1].identity()) == QUESTIONS[1]
        assert store.model(SIMULATED.identity()) == SIMULATED
        assert store.condition(CODE.identity()) == CODE
        assert store.scores(written[0].trial.id) == (score(written[0].trial),)


async def test_a_store_at_rest_is_one_file(tmp_path: Path) -> None:
    await filled(tmp_path / "s.db", 1)
    with Store(tmp_path / "s.db") as store:
        assert len(list(store.traces())) == 1
    assert os.listdir(tmp_path) == ["s.db"]  # noqa: PTH208


async def test_the_digest_is_that_of_the_content_wherever_it_is(tmp_path: Path) -> None:
    (first,), (second,) = [await filled(tmp_path / name, 1) for name in ("a.db", "b.db")]
    assert trace_digest(first) == trace_digest(second)
    with Store(tmp_path / "a.db") as store:
        assert trace_digest(store.trace(first.trial.id)) == trace_digest(first)
    changed = first.model_copy(update={"events": first.events[:-1]})
    assert trace_digest(changed) != trace_digest(first)
    assert trace_digest(first.model_copy(update={"seconds": 12.6})) != trace_digest(first)


HOSTILE = [
    "",
    "~",
    "~t1",
    "~j1",
    "~t1" * 100,
    "\x00 nul \x00",
    "\x1b]0;title\x07",
    "\N{PILE OF POO}" * 70,
    "'; DROP TABLE traces; --",
    "\ufeff\u2028\u202e",
    "x" * 300_000,
    "a\r\nb\rc\n",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_any_text_survives(tmp_path: Path, text: str) -> None:
    events = [
        ToolCall(at=0, call=ToolRequest(id=text, name=text, arguments=text), output=text, error=text),
        Answer(at=1, text=text),
    ]
    with Recorder(tmp_path / "s.db") as recorder:
        trial = plan(recorder)[0]
        session = await begun(recorder, trial)
        for event in events:
            session.record(event)
        await session.finish("answered", 1.0)
    with Store(tmp_path / "s.db") as store:
        assert list(store.trace(trial.id).events) == events
    assert verify(tmp_path / "s.db").ok


async def test_lone_surrogates_are_replaced_in_what_is_kept_and_in_what_is_returned(tmp_path: Path) -> None:
    event = Answer(at=0, text="half \ud83d an emoji")
    with Recorder(tmp_path / "s.db") as recorder:
        for trial, written_elsewhere in zip(plan(recorder), (False, True), strict=False):
            session = await begun(recorder, trial)
            session.record(*(EventContents().written(event) if written_elsewhere else (event,)))
            trace = await session.finish("answered", 1.0)
            assert trace.answer == "half \ufffd an emoji"
            with Store(tmp_path / "s.db") as store:
                assert store.trace(trial.id) == trace
    assert verify(tmp_path / "s.db").ok


async def test_each_distinct_text_is_stored_once(tmp_path: Path) -> None:
    """Twenty turns repeat a history that grows with each; what is stored grows with the turns alone."""
    sizes = {}
    for turns in (10, 20):
        path = tmp_path / f"{turns}.db"
        with Recorder(path) as recorder:
            await attempt(recorder, plan(recorder)[0], turns=turns)
        connection = sqlite3.connect(path)
        (sizes[turns],) = connection.execute(
            "SELECT (SELECT sum(length(body)) FROM texts) + (SELECT sum(size) FROM blocks)"
        ).fetchone()
        connection.close()
    assert sizes[20] < 2.5 * sizes[10]


async def test_events_can_be_read_while_the_trial_still_runs(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Recorder(path) as recorder:
        trial = plan(recorder)[0]
        session = await begun(recorder, trial)
        session.record(Answer(at=0, text="first"))
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        deadline = time.monotonic() + 30
        while connection.execute("SELECT count(*) FROM events").fetchone() == (0,) and time.monotonic() < deadline:  # noqa: ASYNC110 - another process's view
            await asyncio.sleep(0.005)  # the loop stays free, as it is in a run
        assert connection.execute("SELECT count(*) FROM events").fetchone() == (1,)
        connection.close()
        with Store(path) as store:
            assert store.finished_trials() == frozenset()
            assert [row.running for row in store.counts()] == [1, 0]
            with pytest.raises(InputError, match="no attempt at it has ended"):
                store.trace(trial.id)
        await session.finish("answered", 1.0)
        with Store(path) as store:
            assert store.trace(trial.id).answer == "first"


@pytest.mark.parametrize(
    ("outcomes", "current"),
    [
        (["failed"], 1),
        (["failed", "failed"], 2),
        (["failed", "answered"], 2),
        (["failed", "failed", "budget"], 3),
        (["answered"], 1),
    ],
)
async def test_every_attempt_is_kept_and_the_last_good_one_counts(
    tmp_path: Path, outcomes: list[str], current: int
) -> None:
    with Recorder(tmp_path / "s.db") as recorder:
        trial = plan(recorder)[0]
        for outcome in outcomes:
            await attempt(recorder, trial, outcome=outcome)  # type: ignore[arg-type]
        finished = recorder.finished_trials()
    with Store(tmp_path / "s.db") as store:
        assert store.trace(trial.id).attempt == current
        assert [trace.attempt for trace in store.attempts(trial.id)] == list(range(1, len(outcomes) + 1))
        assert store.trace(trial.id, attempt=1).outcome == outcomes[0]
        assert store.finished_trials() == finished == ({trial.id} if set(outcomes) != {"failed"} else set())
        with pytest.raises(InputError, match="no attempt 9"):
            store.trace(trial.id, attempt=9)
    assert verify(tmp_path / "s.db").ok


@pytest.mark.deep
async def test_many_trials_at_once_do_not_mix(tmp_path: Path) -> None:
    with Recorder(tmp_path / "s.db") as recorder:
        planned = plan(recorder, trials(repeats=20))
        traces = await asyncio.gather(*(attempt(recorder, trial, turns=3) for trial in planned))
    with Store(tmp_path / "s.db") as store:
        assert {trace.trial.id: trace for trace in store.traces()} == {trace.trial.id: trace for trace in traces}
    assert verify(tmp_path / "s.db").ok


async def test_planning_again_keeps_what_is_done_and_adds_what_is_new(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    written = await filled(path)
    with Recorder(path) as recorder:
        plan(recorder, trials(repeats=2), identity="run-2")
        assert recorder.finished_trials() == {trace.trial.id for trace in written}
    with Store(path) as store:
        assert sum(row.planned for row in store.counts()) == 2 * len(written)
        assert sum(row.pending for row in store.counts()) == len(written)
        assert len(store.summaries(run="run-1")) == len(store.summaries(run="run-2")) == len(written)


def test_a_new_label_replaces_the_old_one_of_the_same_thing(tmp_path: Path) -> None:
    with Recorder(tmp_path / "s.db") as recorder:
        plan(recorder)
        renamed = Condition(name="closed book")
        priced = OpenAIModel(name=MODEL.name, price=Price(input=1, output=2))
        recorder.plan(run("run-2"), QUESTIONS, [priced], [renamed], [])
    with Store(tmp_path / "s.db") as store:
        assert [condition.name for condition in store.conditions()] == ["closed book", "python"]
        assert store.model(MODEL.identity()) == priced
    assert verify(tmp_path / "s.db").ok


async def test_conditions_that_share_a_name_are_told_apart(tmp_path: Path) -> None:
    edited = Condition(name="none", prompt="Think.")
    with Recorder(tmp_path / "s.db") as recorder:
        planned = trials(conditions=(NONE, edited))[:2]
        recorder.plan(run(), QUESTIONS, [MODEL], [NONE, edited], planned)
        for trial in planned:
            await attempt(recorder, trial)
    with Store(tmp_path / "s.db") as store:
        names = [seen.condition for seen in store.summaries()]
    assert names == [f"none@{NONE.identity()[:8]}", f"none@{edited.identity()[:8]}"]


def _refused_plans() -> dict[str, list[Trial]]:
    known = trials()[0]
    return {part: [known.model_copy(update={part: "f" * 32})] for part in ("question", "model", "condition")}


@pytest.mark.parametrize("part", ["question", "model", "condition"])
def test_a_plan_that_names_the_unknown_leaves_nothing_behind(tmp_path: Path, part: str) -> None:
    with Recorder(tmp_path / "s.db") as recorder:
        with pytest.raises(StoreError, match=f"names the {part} ffff"):
            recorder.plan(run(), QUESTIONS, [MODEL], [NONE, CODE], [*trials(), *_refused_plans()[part]])
        plan(recorder)
    with Store(tmp_path / "s.db") as store:
        assert len(store.runs()) == 1
    assert verify(tmp_path / "s.db").ok


async def test_a_refused_job_disturbs_no_other(tmp_path: Path) -> None:
    stranger = Trial(question="0" * 32, model="0" * 32, condition="0" * 32)
    with Recorder(tmp_path / "s.db") as recorder:
        planned = plan(recorder)
        good, bad = await asyncio.gather(begun(recorder, planned[0]), begun(recorder, stranger), return_exceptions=True)
        assert isinstance(bad, StoreError)
        assert "not planned" in bad.message
        assert isinstance(good, TrialRecorder)
        good.record(Answer(at=0, text="yes"))
        await good.finish("answered", 1.0)
        with pytest.raises(StoreError, match="not planned"):
            await recorder.score([score(planned[0]), score(stranger)])
        with pytest.raises(StoreError, match="already"):
            recorder.plan(run(), [], [], [], [])
    report = verify(tmp_path / "s.db")
    assert (report.ok, report.finished, report.unscored) == (True, 1, 1)


async def test_an_attempt_ends_once(tmp_path: Path) -> None:
    with Recorder(tmp_path / "s.db") as recorder:
        session = await begun(recorder, plan(recorder)[0])
        await session.finish("failed", 1.0)
        with pytest.raises(StoreError, match="finished already"):
            session.record(Answer(at=0, text="late"))
        with pytest.raises(StoreError, match="finished already"):
            await session.finish("answered", 1.0)
    with pytest.raises(StoreError, match="closed"):
        await begun(recorder, trials()[0])
    recorder.close()


async def test_a_caller_that_is_cancelled_does_not_undo_the_end(tmp_path: Path) -> None:
    with Recorder(tmp_path / "s.db") as recorder:
        trial = plan(recorder)[0]
        session = await begun(recorder, trial)
        await asyncio.sleep(0.1)
        task = asyncio.create_task(session.finish("answered", 1.0))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert verify(tmp_path / "s.db").ok
