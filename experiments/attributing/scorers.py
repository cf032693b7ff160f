"""Whether replays will have scores that count."""

from collections.abc import Sequence
from pathlib import Path

from toolablate.experiments.plans.plan import find_modules_beside, load_plan
from toolablate.experiments.scoring.scoring import Scorers
from toolablate.traces.errors import InputError
from toolablate.traces.store import Store


def refuse_other_scorers(store: Store, trials: Sequence[str], counting: Sequence[str], plan: Path | None) -> None:
    """Raises InputError where none of the `counting` scorers would score the replays of a trial. The scorers of their
    plan do: of `plan` where it is named, else of that of the last run that called for the trial."""
    named = _scorers_of(store, trials, plan) if plan is not None else None
    for trial in trials:
        run = store.run_of(trial)
        scoring = named if named is not None else run.scorers if run else counting
        if not set(scoring) & set(counting):
            raise InputError(
                f"replays of trial {trial[:12]} would be scored by {', '.join(scoring)}, where the scores of"
                f" {', '.join(counting)} are to count",
                hint="name a plan with that scorer: --plan PLAN; or ask for the scores of the other one: --scorer",
                code="other_scorer",
            )


def _scorers_of(store: Store, trials: Sequence[str], path: Path) -> Sequence[str]:
    find_modules_beside(path)
    plan, _ = load_plan(path)
    questions = {store.trace(trial).trial.question for trial in trials}
    return Scorers(plan).names(map(store.question, questions))
