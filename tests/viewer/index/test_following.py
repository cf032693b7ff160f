"""The index follows its store."""

import random
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.traces.samples import CODE, MODEL, NONE, SIMULATED, attempt, begun, plan, run, score, trials
from tests.viewer.index.stores import LONG_NAME, label, make, planned_trials, record, refreshed, summaries

from toolablate.analysis.selection import Selection
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    Answer,
    Attribution,
    ChoiceTarget,
    Condition,
    OpenAIModel,
    Question,
    ToolCall,
    ToolRequest,
    ToolUse,
    Trial,
)
from toolablate.traces.store import Recorder, Store
from toolablate.viewer.index import ViewerIndex


def _index(path: Path, store: Path) -> ViewerIndex:
    return refreshed(ViewerIndex.open(path), store)


def _trials(index: ViewerIndex) -> dict[str, tuple[str, ...]]:
    rows = index.questions(Selection(), size=1000).rows
    return {trial.trial: trial.tools for row in rows for glance in row.glances for trial in glance.trials}


async def test_nothing_is_read_or_written_twice(tmp_path: Path) -> None:
    """A trace that was read is not read again: here it could not be."""
    store = tmp_path / "s.db"
    made = await make(store)
    index = _index(tmp_path / "i.db", store)
    before, version = _trials(index), index.version()
    refreshed(index, store)
    assert index.version() == version
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("UPDATE parts SET body = x'00'")
        connection.commit()
    with Recorder(store) as recorder:
        left = [trial for trial in planned_trials(made.questions, 2) if trial.id not in recorder.finished_trials()]
        new = next(trial for trial in left if trial.condition == CODE.identity())
        await record(recorder, new, random.Random(3), failing=False)
    refreshed(index, store)
    assert index.version() > version
    assert _trials(index) == {**before, new.id: index.trial(new.id).tools}
    assert index.trial(new.id).outcome == "answered"


async def test_the_tools_called_come_from_the_current_trace(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    with Recorder(store) as recorder:
        tools = Condition(name="tools", tools=(ToolUse(name="python"),))
        asked = Question(id="q", prompt="Why?", target=ChoiceTarget(letters=("A",)))
        trial = Trial(question=asked.identity(), model=MODEL.identity(), condition=tools.identity())
        recorder.plan(run(), [asked], [MODEL], [tools], [trial])
        await _attempt(recorder, trial, "failed", ["python"])
    index = _index(tmp_path / "i.db", store)
    assert (index.trial(trial.id).tools, index.trial(trial.id).calls) == (("python",), 1)
    with Recorder(store) as recorder:
        await _attempt(recorder, trial, "answered", [LONG_NAME, "python", LONG_NAME])
    refreshed(index, store)
    assert (index.trial(trial.id).tools, index.trial(trial.id).calls) == ((LONG_NAME, "python"), 3)
    assert index.questions(Selection(tools=(LONG_NAME,))).total == 1


async def test_a_damaged_trace_hides_no_other(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    await make(store)
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("UPDATE parts SET body = x'00' WHERE key = (SELECT max(key) FROM parts)")
        connection.commit()
    assert set(_trials(_index(tmp_path / "i.db", store))) == {each.trial for each in summaries(store)}


async def test_what_was_said_of_a_trial_goes_with_its_score(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    with Recorder(store) as recorder:
        planned = plan(recorder)
        for trial in planned:
            await attempt(recorder, trial)
        await recorder.score([score(trial, 0.0) for trial in planned])
    index = _index(tmp_path / "i.db", store)
    said = [
        Attribution(trial=trial.id, mechanism="sampling_noise", method="replay", confidence=0.25, turned_at=3)
        for trial in planned
    ]
    index.put_attributions(said)
    version = index.version()
    index.put_attributions(said)
    assert index.version() == version
    found = index.trial(planned[1].id)
    assert (found.mechanism, found.method, found.confidence, found.turned_at) == ("sampling_noise", "replay", 0.25, 3)
    with Recorder(store) as recorder:
        await recorder.score([score(planned[1], 1.0, version=2)])
    refreshed(index, store)
    assert (index.trial(planned[1].id).mechanism, index.trial(planned[1].id).ending) == (None, "correct")
    assert index.trial(planned[0].id).mechanism == "sampling_noise"
    index.put_attributions(said[2:])
    assert index.facets().mechanisms == {"sampling_noise": len(said) - 2}


async def test_a_flip_follows_the_baseline(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    with Recorder(store) as recorder:
        planned = plan(recorder, trials(repeats=2))
        for trial in planned:
            await attempt(recorder, trial)
        right = {trial.id: trial.condition == NONE.identity() and trial.repeat == 0 for trial in planned}
        await recorder.score([score(trial, float(right[trial.id])) for trial in planned])
    index = _index(tmp_path / "i.db", store)
    row = index.questions(Selection()).rows[0]
    assert [(glance.condition, glance.score, glance.flip) for glance in row.glances] == [
        ("none", 0.5, None),
        ("python", 0.0, "right_to_wrong"),
    ]
    refreshed(index, store, baseline="python")
    row = index.questions(Selection(flips=("wrong_to_right",))).rows[0]
    assert [glance.flip for glance in row.glances] == ["wrong_to_right", None]
    assert index.facets().baseline == "python"


async def test_labels_are_seen_at_once_and_the_last_of_each_person_counts(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    with Recorder(store) as recorder:
        planned = plan(recorder)
        await attempt(recorder, planned[0])
    index = _index(tmp_path / "i.db", store)
    trial = planned[0].id
    for person, mechanism, shown in (
        *(
            ("Ann", "sampling_noise", "sampling_noise"),
            ("Bo", "lock_in", "lock_in"),
            ("Bo", None, "sampling_noise"),
            ("Ann", "budget", "budget"),
        ),
        *(("Bo", "format", "format"), ("Ann", None, "format"), ("Bo", None, None)),
    ):
        given = label(trial, mechanism, person)
        with Recorder(store) as recorder:
            recorder.label(given)
        version = index.version()
        index.put_label(given)
        assert index.version() > version
        assert index.trial(trial).label == shown
        assert index.trial(trial) == refreshed(index, store).trial(trial)
        assert index.questions(Selection(labels=("sampling_noise",))).total == (shown == "sampling_noise")


async def test_a_label_by_another_codebook_stands_beside_that_of_mechanisms(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    with Recorder(store) as recorder:
        first = plan(recorder)[0]
        await attempt(recorder, first)
    index, trial = _index(tmp_path / "i.db", store), first.id
    own = label(trial, "lock_in", "Ann")
    other = own.model_copy(update={"mechanism": None, "codebook": "mine", "codes": ("budget",)})
    for given in (own, other, other.model_copy(update={"codes": ()})):
        with Recorder(store) as recorder:
            recorder.label(given)
        index.put_label(given)
        assert index.trial(trial).label == refreshed(index, store).trial(trial).label == "lock_in"


async def test_no_label_is_lost_to_a_refresh_of_an_older_moment(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    with Recorder(store) as recorder:
        planned = plan(recorder)
        await attempt(recorder, planned[0])
    index = _index(tmp_path / "i.db", store)
    given = label(planned[0].id, "sampling_noise")
    with Recorder(store) as recorder, Store(store) as opened, opened.at_one_moment():
        seen = opened.summaries()
        recorder.label(given)
        index.put_label(given)
        index.refresh(opened, seen, baseline="none")
    assert index.trial(planned[0].id).label == "sampling_noise"


async def test_trials_of_another_run_are_left_out(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    with Recorder(store) as recorder:
        planned = plan(recorder)
        for trial in planned:
            await attempt(recorder, trial)
        plan(recorder, planned[:3], "run-2")
    index = ViewerIndex.open(tmp_path / "i.db")
    with Store(store) as opened:
        index.refresh(opened, opened.summaries(), baseline="none", run=None)
        assert len(_trials(index)) == len(planned)
        index.refresh(opened, opened.summaries(run="run-2"), baseline="none", run="run-2")
        with pytest.raises(InputError, match="no run"):
            index.refresh(opened, opened.summaries(), baseline="none", run="run-3")
    assert set(_trials(index)) == {trial.id for trial in planned[:3]}
    assert [(arm.condition, arm.planned, arm.ended) for arm in index.arms()] == [("none", 2, 2), ("python", 1, 1)]
    assert index.questions(Selection(text="Question 3")).total == 0


async def test_a_model_is_simulated_as_long_as_its_trials_are(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    with Recorder(store) as recorder:
        planned = plan(recorder, trials(models=(MODEL, SIMULATED)))
        for trial in planned:
            await attempt(recorder, trial)
        plan(recorder, trials(), "run-2")
    index = _index(tmp_path / "i.db", store)
    assert index.facets().simulated == {"sim"}
    with Store(store) as opened:
        index.refresh(opened, opened.summaries(run="run-2"), baseline="none", run="run-2")
    assert index.facets().simulated == frozenset()


async def test_names_that_two_records_share_are_told_apart(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    older, newer = OpenAIModel(name="gpt-x"), OpenAIModel(name="gpt-x", model="gpt-y")
    asked = Question(id="q", prompt="Why?", target=ChoiceTarget(letters=("A",)))
    planned = [
        Trial(question=asked.identity(), model=model.identity(), condition=NONE.identity()) for model in (older, newer)
    ]
    with Recorder(store) as recorder:
        recorder.plan(run(), [asked], [older, newer], [NONE], planned)
        await attempt(recorder, planned[1])
    index = _index(tmp_path / "i.db", store)
    assert [(arm.model, arm.planned, arm.ended) for arm in index.arms()] == [
        ("gpt-x", 1, 1),
        (f"gpt-x@{older.identity()[:8]}", 1, 0),
    ]
    with Recorder(store) as recorder:
        await attempt(recorder, planned[0])
    refreshed(index, store)
    names = [f"gpt-x@{model.identity()[:8]}" for model in (older, newer)]
    assert set(index.facets().models) == set(names)
    assert index.trial(planned[1].id).model == names[1]
    assert [(arm.planned, arm.ended) for arm in index.arms()] == [(1, 1), (1, 1)]


async def test_a_name_is_not_guessed(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    await make(store)
    index = _index(tmp_path / "i.db", store)
    for name, code in (("", "ambiguous_trial"), ("zz", "unknown_trial"), ("%", "unknown_trial")):
        with pytest.raises(InputError) as caught:
            index.trial(name)
        assert caught.value.code == code
    with pytest.raises(InputError):
        index.question("nothing")
    assert index.neighbours("nothing", Selection()) == (None, None)


async def test_readers_see_one_moment_while_another_writes(tmp_path: Path) -> None:
    """All trials are right, or all are wrong, whenever a page is asked for."""
    store = tmp_path / "s.db"
    with Recorder(store) as recorder:
        planned = plan(recorder)
        for trial in planned:
            await attempt(recorder, trial)
        await recorder.score([score(trial, 1.0) for trial in planned])
    index = _index(tmp_path / "i.db", store)
    seen = summaries(store)
    wrong = [replace(each, value=0.0, verdict="wrong") for each in seen]
    stop, found = threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            rows = index.questions(Selection()).rows
            found.append({trial.verdict for row in rows for glance in row.glances for trial in glance.trials})

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        writer = ViewerIndex.open(index.path)
        with Store(store) as opened:
            for turn in range(20):
                writer.refresh(opened, wrong if turn % 2 else seen, baseline="none")
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert found
    assert all(len(verdicts) == 1 for verdicts in found)


async def _attempt(recorder: Recorder, trial: Trial, outcome: str, names: list[str]) -> None:
    session = await begun(recorder, trial)
    for place, name in enumerate(names):
        call = ToolRequest(id=f"c{place}", name=name, arguments="{}")
        session.record(ToolCall(at=float(place), call=call, output="out " * 30))
    if outcome == "answered":
        session.record(Answer(at=9.0, text="A"))
    await session.finish(outcome, 9.0)
