"""A trial's page says of it what the tables say, whichever trials they are about."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from tests.traces.samples import attempt, plan, score, trials

from toolablate.experiments.attribution.store_report import read_report
from toolablate.traces.store import Recorder, Store
from toolablate.viewer.keeping.serving import Explanations
from toolablate.viewer.keeping.shown_trials import ViewScope, read_trials

EVERY, LATEST = trials(repeats=3), trials()


async def _ran_twice(store: Path, scorers: tuple[str, ...]) -> None:
    """First with three repeats, then with one, which had been done. Of the first repeats those with tools are wrong."""
    with Recorder(store) as recorder:
        for trial in plan(recorder, EVERY, "three"):
            traced = await attempt(recorder, trial)
            harmed = trial.condition == EVERY[-1].condition and trial.repeat == 0
            await recorder.score([score(traced.trial, 0.0 if harmed else 1.0, scorer=each) for each in scorers])
        plan(recorder, LATEST, "one")


@pytest.mark.parametrize("run", ["latest", "three", "all"])
@pytest.mark.parametrize("scorers", [("choice",), ("choice", "other")])
def test_a_page_says_what_the_tables_say(tmp_path: Path, run: str, scorers: tuple[str, ...]) -> None:
    path = tmp_path / "s.sqlite"
    asyncio.run(_ran_twice(path, scorers))
    scope = ViewScope(path, run)
    with Store(path) as store:
        scorer = read_trials(store, run=run).scorer
    said = {each.evidence.inputs.trial: each for each in read_report(path, run=run, scorer=scorer).explained}
    assert any(each.attribution for each in said.values())
    explain = Explanations(scope)
    for trial, each in said.items():
        found = explain(trial)
        assert found is not None
        whole = found.explained.outlined()
        if each.attribution is None and not each.evidence.steps:
            # Of a right trial that nothing goes on from, the tables need no trace.
            inputs = replace(whole.evidence.inputs, tools=frozenset())
            whole = replace(whole, evidence=replace(whole.evidence, inputs=inputs, steps=()))
        assert whole == each


def test_a_trial_of_an_earlier_run_is_held_against_all(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    asyncio.run(_ran_twice(path, ("choice",)))
    earlier = next(each for each in EVERY if each.repeat == 2 and each.condition == EVERY[-1].condition)
    found, of_all = Explanations(ViewScope(path))(earlier.id), Explanations(ViewScope(path, "all"))(earlier.id)
    assert found is not None
    assert found == of_all
