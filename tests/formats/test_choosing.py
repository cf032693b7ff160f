"""Which trials go out of a store."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.formats.stores import BARE, BUDGET, FAILED, TOOLS
from tests.traces.samples import attempt, plan
from tests.traces.test_counterfactuals import resumed, trial_under

from toolablate.formats.exporting import ExportChoice, chosen
from toolablate.traces.errors import InputError
from toolablate.traces.store import Recorder, Store


def names(path: Path, choice: ExportChoice) -> Sequence[str]:
    with Store(path) as opened:
        return [each.trial for each in chosen(opened, choice)]


def test_all_ended_trials_of_plans_by_default(store: Path) -> None:
    assert names(store, ExportChoice()) == [BARE.id, TOOLS.id, FAILED.id, BUDGET.id]


def test_by_run_model_and_condition(store: Path) -> None:
    assert names(store, ExportChoice(run="latest", conditions=("python",))) == [TOOLS.id, BUDGET.id]
    assert len(names(store, ExportChoice(run="run", models=("gpt-x",)))) == 4


def test_replays_follow_their_trial(store: Path) -> None:
    found = names(store, ExportChoice(conditions=("python",), replays=True))
    assert [found[0], found[2]] == [TOOLS.id, BUDGET.id]
    with Store(store) as opened:
        assert list(opened.resumptions(TOOLS.id)) == [found[1]]
    assert names(store, ExportChoice(conditions=("none",), replays=True)) == [BARE.id, FAILED.id]


async def _gone_on(path: Path) -> Sequence[str]:
    """A trial, what goes on from that, and what goes on from that."""
    with Recorder(path) as recorder:
        plan(recorder)
        traces = [await attempt(recorder, TOOLS)]
        for event in (2, 1):
            condition = resumed(traces[-1], event=event)
            trial = trial_under(condition, traces[-1])
            recorder.resume({}, [condition], [trial])
            traces.append(await attempt(recorder, trial, turns=2))
    return [trace.trial.id for trace in traces]


def test_replays_of_replays_go_out_with_them(tmp_path: Path) -> None:
    family = asyncio.run(_gone_on(tmp_path / "s.sqlite"))
    assert names(tmp_path / "s.sqlite", ExportChoice(replays=True)) == family
    assert names(tmp_path / "s.sqlite", ExportChoice()) == family[:1]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (ExportChoice(run="other"), "--run: 'other' is not one run"),
        (ExportChoice(models=("gpt-y",)), "--model: no ended trial has the model 'gpt-y'"),
        (ExportChoice(conditions=("search",)), "--condition: no ended trial has the condition 'search'"),
    ],
)
def test_what_is_not_there_is_named(store: Path, choice: ExportChoice, message: str) -> None:
    with pytest.raises(InputError, match=message):
        names(store, choice)


def test_a_run_that_has_ended_no_trial_gives_none(tmp_path: Path) -> None:
    with Recorder(tmp_path / "s.sqlite") as recorder:
        plan(recorder)
    assert names(tmp_path / "s.sqlite", ExportChoice()) == []
