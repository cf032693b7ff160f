"""Which trials are replayed by a random design, and whether their scores will count."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from toolablate.analysis.arms import has_ladder
from toolablate.analysis.attribution.decomposition import inclusion_probability, is_sampled
from toolablate.analysis.attribution.signals.of_trace import signals_of
from toolablate.analysis.pairing import RIGHT, counts
from toolablate.experiments.attribution.cases import Case, case_of
from toolablate.experiments.environment.web import silent
from toolablate.experiments.plans.plan import find_modules_beside, load_plan
from toolablate.experiments.scoring import Scorers
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    Condition,
    Model,
    Question,
    ReplayDesign,
    ScriptedModel,
)
from toolablate.traces.store import Store, TrialSummary


@dataclass(frozen=True, slots=True)
class ChosenTrial:
    """A trial that is to be replayed, as a comparison sees it and as its replays do."""

    seen: TrialSummary
    case: Case
    condition: Condition

    @property
    def is_wrong(self) -> bool:
        return (self.seen.value or 0.0) < RIGHT


def choose(
    store: Store,
    design: ReplayDesign,
    observed: Iterable[TrialSummary],
    *,
    models: Sequence[str] = (),
    conditions: Sequence[str] = (),
) -> tuple[ChosenTrial, ...]:
    """Those of `candidates` in the random sample. Raises InputError as that does, and for a trial of a script, which
    says its next line whatever it is asked."""
    question, model = lru_cache(maxsize=None)(store.question), lru_cache(maxsize=None)(store.model)
    found = candidates(store, design, observed, models=models, conditions=conditions)
    of_names = store.conditions_of(found)
    return tuple(
        _chosen(store, each, of_names[each.condition], question, model)
        for each in found
        if is_sampled(design, each.trial, each.value or 0.0)
    )


def candidates(
    store: Store,
    design: ReplayDesign,
    observed: Iterable[TrialSummary],
    *,
    models: Sequence[str] = (),
    conditions: Sequence[str] = (),
) -> tuple[TrialSummary, ...]:
    """Of the trials that have ended and are scored those that the design may choose, by the names that tables show; all
    models and all conditions whose tools speak for themselves where none is named. Raises InputError for names that are
    not there, and where there is no such trial."""
    seen = [each for each in observed if counts(each)]
    with_tools = {name: each for name, each in store.conditions_of(seen).items() if has_ladder(each)}
    _refuse_unknown("--model", models, {each.model for each in seen})
    _refuse_unknown("--condition", conditions, with_tools)
    found = [
        each
        for each in seen
        if each.condition in (conditions or with_tools) and each.model in (models or (each.model,))
    ]
    if not found:
        raise InputError(
            f"{store.path} has no scored trial of a condition with tools",
            hint="toolablate run PLAN, with conditions such as 'none' and 'python'",
            code="no_trials",
        )
    return tuple(each for each in found if inclusion_probability(design, each.value or 0.0) > 0)


def _chosen(
    store: Store,
    seen: TrialSummary,
    condition: Condition,
    question: Callable[[str], Question],
    model: Callable[[str], Model],
) -> ChosenTrial:
    trace = store.trace(seen.trial)
    if isinstance(model(trace.trial.model), ScriptedModel):
        raise InputError(
            f"model {seen.model!r} is scripted: its replies never change",
            hint="--model keeps to models that can be asked",
            code="scripted",
        )
    signals = signals_of(trace, question(trace.trial.question), condition)
    return ChosenTrial(seen, case_of(trace, condition, signals), condition)


def _refuse_unknown(option: str, named: Iterable[str], known: Iterable[str]) -> None:
    there_are = sorted(known)
    for name in named:
        if name not in there_are:
            raise InputError(
                f"{option}: no scored trials with tools are called {name!r}",
                hint=f"there are {', '.join(there_are)}" if there_are else "there are none at all",
                code="unknown_name",
            )


# Whether replays will have scores that count.


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
    return Scorers(plan, silent).names(map(store.question, questions))
