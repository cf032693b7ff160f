"""Which trials of a store are replayed: those of conditions with tools that a design chooses by lot."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from toolablate.analysis.arms import has_ladder
from toolablate.analysis.attribution.decomposition import is_chosen, probability
from toolablate.analysis.attribution.signals.of_trace import signals_of
from toolablate.analysis.from_store import scorer_meant
from toolablate.analysis.pairing import RIGHT, counts
from toolablate.experiments.attributing.case import Case, case_of
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Model, Question, ReplayDesign, ScriptedModel
from toolablate.traces.store import Observation, Store


@dataclass(frozen=True, slots=True)
class ChosenTrial:
    """A trial that is to be replayed, as a comparison sees it and as its replays do."""

    seen: Observation
    case: Case
    condition: Condition

    @property
    def is_wrong(self) -> bool:
        return (self.seen.value or 0.0) < RIGHT


def choose(
    store: Store,
    design: ReplayDesign,
    observed: Iterable[Observation],
    *,
    models: Sequence[str] = (),
    conditions: Sequence[str] = (),
) -> tuple[ChosenTrial, ...]:
    """Those of `candidates` on whom the lot falls. Raises InputError as that does, and for a trial of a script, which
    says its next line whatever it is asked."""
    question, model = lru_cache(maxsize=None)(store.question), lru_cache(maxsize=None)(store.model)
    found = candidates(store, design, observed, models=models, conditions=conditions)
    of_names = store.conditions_of(found)
    return tuple(
        _chosen(store, each, of_names[each.condition], question, model)
        for each in found
        if is_chosen(design, each.trial, each.value or 0.0)
    )


def candidates(
    store: Store,
    design: ReplayDesign,
    observed: Iterable[Observation],
    *,
    models: Sequence[str] = (),
    conditions: Sequence[str] = (),
) -> tuple[Observation, ...]:
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
    return tuple(each for each in found if probability(design, each.value or 0.0) > 0)


def scorers_of(store: Store, design: ReplayDesign, run: str) -> tuple[str, ...]:
    """The names of the scorers whose scores count, as `choose` takes them: the design's, else those of the run."""
    known = store.scorers()
    if design.scorer:
        return (scorer_meant(known, design.scorer),)
    runs = store.runs()
    of_run = [each for each in runs if each.id.startswith(run)] or runs
    # A run that names none leaves it to those that are there, as `observations` does.
    return tuple(name for name in of_run[-1].scorers if name in known) or known


def _chosen(
    store: Store,
    seen: Observation,
    condition: Condition,
    question: Callable[[str], Question],
    model: Callable[[str], Model],
) -> ChosenTrial:
    trace = store.trace(seen.trial)
    if isinstance(model(trace.trial.model), ScriptedModel):
        raise InputError(
            f"model {seen.model!r} is a script: what it would have said otherwise, nobody knows",
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
