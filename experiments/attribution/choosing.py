"""Which trials are replayed by a random design, and what the replays of each depend on."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from toolablate.analysis.arms import has_ladder
from toolablate.analysis.attribution.belief import Flip, belief_steps
from toolablate.analysis.attribution.decomposition import ToolKind, is_chosen, probability
from toolablate.analysis.attribution.signals.of_trace import signals_of
from toolablate.analysis.attribution.signals.signal_types import Signals
from toolablate.analysis.attribution.trace_rules import faults
from toolablate.analysis.from_store import scorer_meant
from toolablate.analysis.pairing import RIGHT, counts
from toolablate.experiments.plans.plan import find_modules_beside, load_plan
from toolablate.experiments.replay.replayed_tools import is_of_tool
from toolablate.experiments.scoring import Scorers
from toolablate.tools import resource_of
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    Answer,
    Budget,
    Condition,
    Event,
    Limit,
    Model,
    ModelCall,
    Question,
    ReplayDesign,
    ScriptedModel,
    ToolCall,
    ToolUse,
    Trace,
)
from toolablate.traces.store import Observation, Store

_OF_FORMS: Mapping[str, ToolKind] = {"code": "code", "search": "search", "page": "search", "other": "other"}
_OF_RESOURCES: Mapping[str | None, ToolKind] = {"sandbox": "code", "search": "search", "pages": "search"}


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gave: the event of the call, the tool, and its kind."""

    event: int
    tool: str
    kind: ToolKind


@dataclass(frozen=True, slots=True)
class Case:
    """A trial of a condition with tools; events are indices of its conversation.

    attempt  the attempt that its current trace is
    steps    the events of its `belief_steps`
    results  calls that a tool answered, in order
    last     the last request that was answered, None where none was
    ending   the answer, None where there is none
    fault    the first call that a tool is to blame for, and that was not recovered from
    budget   the condition's with all limits doubled, where one of these stopped the trial
    kinds    of the tools that the model was offered, by their names
    """

    trial: str
    attempt: int
    steps: tuple[int, ...]
    results: tuple[Result, ...]
    last: int | None
    ending: int | None
    fault: int | None
    budget: Budget | None
    kinds: Mapping[str, ToolKind]

    @property
    def used(self) -> frozenset[ToolKind]:
        """The kinds of tools whose results it has."""
        return frozenset(result.kind for result in self.results)

    def named(self, kinds: frozenset[ToolKind]) -> tuple[str, ...]:
        """The tools of these kinds, also those that were not called: a run that goes on may call them."""
        return tuple(sorted(name for name, kind in self.kinds.items() if kind in kinds))

    @property
    def shown(self) -> tuple[int, ...]:
        """The results that the last request has seen, by their events."""
        return tuple(result.event for result in self.results if self.last is not None and result.event < self.last)

    def turned_by(self, flip: Flip) -> int | None:
        """The last result between the two steps of a fall; None where the reply did it, or they are no neighbours."""
        if flip.step - flip.after != 1:
            return None
        begin, end = self.steps[flip.after], self.steps[flip.step]
        return next((each.event for each in reversed(self.results) if begin <= each.event < end), None)


def case_of(trace: Trace, condition: Condition, signals: Signals) -> Case:
    """Of a planned trial's current trace, whose events are its whole conversation."""
    kinds = _kinds(trace, signals)
    asked = [index for index, event in enumerate(trace.events) if isinstance(event, ModelCall)]
    return Case(
        trial=trace.trial.id,
        attempt=trace.attempt,
        steps=belief_steps(trace.events),
        results=tuple(
            Result(index, event.call.name, kinds[event.call.name])
            for index, event in enumerate(trace.events)
            if isinstance(event, ToolCall) and event.status != "invalid" and is_of_tool(event)
        ),
        last=asked[-1] if asked else None,
        ending=ending_of(trace.events),
        fault=next(iter(faults(signals)), None),
        budget=_doubled(condition.budget, signals.budget.stopped if trace.outcome == "budget" else None),
        kinds=kinds,
    )


def ending_of(conversation: Sequence[Event]) -> int | None:
    """The event of the answer, None where there is none."""
    return next((index for index, event in enumerate(conversation) if isinstance(event, Answer)), None)


def _kinds(trace: Trace, signals: Signals) -> dict[str, ToolKind]:
    """Of a tool that was called by its first call, of any other by what it is made of."""
    requests = (event.request for event in trace.events if isinstance(event, ModelCall))
    offered = (spec.name for request in requests for spec in request.tools)
    kinds = {name: _OF_RESOURCES.get(resource_of(ToolUse(name=name)), "other") for name in dict.fromkeys(offered)}
    return kinds | {call.tool: _OF_FORMS[call.form] for call in reversed(signals.calls)}


def _doubled(budget: Budget, stopped: Limit | None) -> Budget | None:
    if stopped in (None, "reply_length", "context_length"):
        return None
    return Budget(
        turns=2 * budget.turns,
        tool_calls=2 * budget.tool_calls,
        tokens=None if budget.tokens is None else 2 * budget.tokens,
        cost_usd=None if budget.cost_usd is None else 2 * budget.cost_usd,
        seconds=2 * budget.seconds,
    )


# Which trials of a store are replayed: those of conditions with tools that a design chooses by lot.


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
    return Scorers(plan).names(map(store.question, questions))
