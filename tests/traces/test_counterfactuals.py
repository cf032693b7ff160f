"""What came of trials that go on from others, read for all at once."""

import asyncio
import sqlite3
from pathlib import Path

import pytest
from tests.traces.samples import CODE, attempt, filled, score

from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import (
    Again,
    AnswerNow,
    Condition,
    Drop,
    ReplayChange,
    Resumption,
    Score,
    Swap,
    Trace,
    Trial,
)
from toolablate.traces.store import Counterfactual, Recorder, Store, standing, verify
from toolablate.traces.store.same_as import same_as

FINGERPRINT: dict[str, str] = {}


def resumed(trace: Trace, event: int = 2, change: ReplayChange | None = None) -> Condition:
    resumption = Resumption(trial=trace.trial.id, attempt=trace.attempt, event=event, change=change or Again())
    return CODE.model_copy(update={"name": f"replay of {trace.trial.id[:8]}", "resumed": resumption})


def trial_under(condition: Condition, trace: Trace, repeat: int = 0) -> Trial:
    trial = trace.trial
    return Trial(question=trial.question, model=trial.model, condition=condition.identity(), repeat=repeat)


async def _resumed(path: Path) -> tuple[Trace, Trace]:
    """A trial, and one that goes on from its event 2."""
    parent = (await filled(path))[1]
    condition = resumed(parent)
    trial = trial_under(condition, parent)
    with Recorder(path) as recorder:
        recorder.resume(FINGERPRINT, [condition], [trial])
        child = await attempt(recorder, trial, turns=1)
        await recorder.score([score(trial, 0.0)])
    return parent, child


def test_it_stands_beside_the_trials_of_plans_and_is_none_of_them(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    asyncio.run(filled(tmp_path / "alone.db"))
    parent, child = asyncio.run(_resumed(path))
    with Store(path) as store, Store(tmp_path / "alone.db") as alone:
        assert store.summaries() == alone.summaries()
        assert store.counts() == alone.counts()
        assert store.conditions() == alone.conditions()
        assert list(store.traces()) == list(alone.traces())
        assert store.finished_trials() == alone.finished_trials()
        assert store.ended_trials() == alone.ended_trials()
        assert store.environments() == alone.environments()
        assert store.runs() == alone.runs()
        assert store.trace(child.trial.id) == child
        assert list(store.traces(condition=child.trial.condition)) == [child]
        assert store.resumptions(parent.trial.id) == {child.trial.id: store.condition(child.trial.condition)}
        assert store.resumptions(child.trial.id) == {}
    assert standing(path).counts == standing(tmp_path / "alone.db").counts
    assert same_as(path, tmp_path / "alone.db").ok
    assert verify(path).ok


def test_a_failed_one_is_no_failure_of_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "s.db"

    async def fail() -> None:
        parent = (await filled(path))[0]
        condition = resumed(parent)
        with Recorder(path) as recorder:
            recorder.resume(FINGERPRINT, [condition], [trial_under(condition, parent)])
            await attempt(recorder, trial_under(condition, parent), outcome="failed")

    asyncio.run(fail())
    with Store(path) as store:
        assert store.failures() == ()


def test_a_conversation_is_whole_and_its_times_go_on(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    parent, child = asyncio.run(_resumed(path))
    with Store(path) as store:
        whole = store.conversation(child.trial.id)
        assert store.conversation(parent.trial.id) == parent.events
    assert whole[:2] == parent.events[:2]
    until = max(event.at + event.seconds for event in whole[:2])
    assert [event.at for event in whole[2:]] == [until + event.at for event in child.events]
    assert [event.model_copy(update={"at": 0.0}) for event in whole[2:]] == [
        event.model_copy(update={"at": 0.0}) for event in child.events
    ]


def test_two_changes_are_two_conditions(tmp_path: Path) -> None:
    parent = asyncio.run(filled(tmp_path / "s.db", 1))[0]
    changes = Again(), Drop(), Swap(content="gold", text="1"), Swap(content="null", text="1")
    identities = {resumed(parent, change=change).identity() for change in changes}
    assert len({*identities, resumed(parent, event=3).identity(), CODE.identity()}) == 6


def test_the_parent_has_to_be_there(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    parent = asyncio.run(filled(path, 1))[0]
    lost = parent.model_copy(update={"trial": Trial(**{**parent.trial.model_dump(), "repeat": 7})})
    with Recorder(path) as recorder, pytest.raises(StoreError) as caught:
        recorder.resume(FINGERPRINT, [resumed(lost)], [])
    assert caught.value.code == "unknown_trial"


def test_another_environment_is_refused(tmp_path: Path) -> None:
    from tests.traces.samples import plan, run

    path = tmp_path / "s.db"
    parent = asyncio.run(filled(path, 1))[0]
    with Recorder(path) as recorder:
        planned = run("run-2").model_copy(update={"fingerprint": {"sandbox": "docker"}})
        recorder.plan(planned, [], [], [], [])
        with pytest.raises(InputError) as caught:
            recorder.resume({"sandbox": "none"}, [resumed(parent)], [])
        plan(recorder, identity="run-3")
    assert caught.value.code == "other_environment"


def test_a_parent_that_was_altered_is_found(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    asyncio.run(_resumed(path))
    connection = sqlite3.connect(path)
    connection.execute("UPDATE conditions SET parent = (SELECT id FROM trials WHERE key = 1) WHERE parent NOT NULL")
    connection.commit()
    connection.close()
    (problem,) = verify(path).problems
    assert "column" in problem.what


LONG = "an answer that is longer than what a body holds in itself " * 3


async def _replayed(path: Path) -> list[Trace]:
    """The trials of a plan; of the first, two repeats of one change, one that failed and one that was never begun."""
    parents = await filled(path, 2)
    probed, swapped = resumed(parents[0], change=AnswerNow()), resumed(parents[0], change=Swap(content="null", text=""))
    other = resumed(parents[1])
    with Recorder(path) as recorder:
        trials = [trial_under(probed, parents[0], repeat) for repeat in (0, 1, 2)]
        spoiled, elsewhere = trial_under(swapped, parents[0]), trial_under(other, parents[1])
        recorder.resume(FINGERPRINT, [probed, swapped, other], [*trials, spoiled, elsewhere])
        for trial in (*trials[:2], elsewhere):
            await attempt(recorder, trial, turns=1)
        await attempt(recorder, spoiled, outcome="failed")
        first = score(trials[0], 0.0)
        newer = first.model_copy(
            update={"value": 1.0, "verdict": "correct", "scorer_version": 2, "extracted": ("B", LONG)}
        )
        other_one = Score(trial=trials[0].id, scorer="other", value=0.5, verdict="partial")
        await recorder.score([first, newer, other_one, score(elsewhere, 1.0)])
    return parents


@pytest.mark.deep
def test_they_stand_under_their_parents_with_their_newest_scores(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    parents = asyncio.run(_replayed(path))
    with Store(path) as store:
        (scorer,) = {each.scorer for each in store.scores(parents[0].trial.id)}
        found = store.counterfactuals(scorers=[scorer])
        assert store.counterfactuals(scorers=[scorer], trial=parents[1].trial.id[:12]) == {
            parents[1].trial.id: found[parents[1].trial.id]
        }
        assert {each.trial for each in found[parents[0].trial.id]} == set(store.resumptions(parents[0].trial.id))
        asked = {each.trial: store.condition(store.trace(each.trial).trial.condition).resumed for each in _ended(found)}
        assert asked == {each.trial: each.resumption for each in _ended(found)}
    assert found.keys() == {parents[0].trial.id, parents[1].trial.id}
    probes = [each for each in found[parents[0].trial.id] if isinstance(each.resumption.change, AnswerNow)]
    assert [(each.outcome, each.value, each.verdict, each.answered) for each in probes] == [
        ("answered", 1.0, "correct", ("B", LONG)),
        ("answered", None, None, ()),
        (None, None, None, ()),
    ]


def test_what_failed_has_no_score(tmp_path: Path) -> None:
    asyncio.run(_replayed(tmp_path / "s.db"))
    with Store(tmp_path / "s.db") as store:
        found = store.counterfactuals(scorers=["other"])
    (spoiled,) = [each for own in found.values() for each in own if isinstance(each.resumption.change, Swap)]
    assert (spoiled.outcome, spoiled.value) == ("failed", None)


def test_scores_of_several_scorers_are_never_mixed(tmp_path: Path) -> None:
    asyncio.run(_replayed(tmp_path / "s.db"))
    with Store(tmp_path / "s.db") as store:
        with pytest.raises(InputError) as several:
            store.counterfactuals()
        with pytest.raises(InputError) as unknown:
            store.counterfactuals(scorers=["nobody"])
    assert (several.value.code, unknown.value.code) == ("several_scorers", "unknown_scorer")


def _ended(found: dict[str, list[Counterfactual]]) -> list[Counterfactual]:
    return [each for own in found.values() for each in own if each.outcome]
