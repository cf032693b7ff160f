"""What came of trials that go on from others, read for all at once."""

import asyncio
from pathlib import Path

import pytest
from tests.traces.samples import attempt, filled, score
from tests.traces.test_resumptions import WORLD, resumed, trial_under

from toolablate.traces.errors import InputError
from toolablate.traces.records import AnswerNow, Score, Swap, Trace
from toolablate.traces.store import Counterfactual, Recorder, Store

LONG = "an answer that is longer than what a body holds in itself " * 3


async def _replayed(path: Path) -> list[Trace]:
    """The trials of a plan; of the first, two repeats of one change, one that failed and one that was never begun."""
    parents = await filled(path, 2)
    probed, swapped = resumed(parents[0], change=AnswerNow()), resumed(parents[0], change=Swap(content="null", text=""))
    other = resumed(parents[1])
    with Recorder(path) as recorder:
        trials = [trial_under(probed, parents[0], repeat) for repeat in (0, 1, 2)]
        spoiled, elsewhere = trial_under(swapped, parents[0]), trial_under(other, parents[1])
        recorder.resume(WORLD, [probed, swapped, other], [*trials, spoiled, elsewhere])
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
