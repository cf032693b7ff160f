"""Trials of conditions with tools as their replays see them: results, steps, faults; and whose scores count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolablate.agents.session import is_of_tool
from toolablate.analysis.attribution.belief import BeliefFlip, belief_steps, reply_began
from toolablate.analysis.attribution.decomposition import ToolKind
from toolablate.analysis.attribution.evidence import LONG_RESULTS, computes_an_answer, shown_chars
from toolablate.analysis.attribution.signals.signal_types import Signals
from toolablate.analysis.attribution.trace_rules import repairable
from toolablate.analysis.from_store import scorer_meant
from toolablate.tools.registry import TOOLSETS, resource_of
from toolablate.traces.records import (
    Answer,
    Budget,
    Condition,
    Event,
    Limit,
    ModelCall,
    ReplayDesign,
    ToolCall,
    ToolUse,
    Trace,
)
from toolablate.traces.store import Store

_OF_FORMS: Mapping[str, ToolKind] = {"code": "code", "search": "search", "page": "search", "other": "other"}
_OF_RESOURCES: Mapping[str | None, ToolKind] = {"sandbox": "code", "search": "search", "pages": "search"}


@dataclass(frozen=True, slots=True)
class AnsweredCall:
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
    chars    of all results that the model was shown
    computes_answer  whether its code supports its answer (`computes_an_answer`)
    """

    trial: str
    attempt: int
    steps: tuple[int, ...]
    results: tuple[AnsweredCall, ...]
    last: int | None
    ending: int | None
    fault: int | None
    budget: Budget | None
    kinds: Mapping[str, ToolKind]
    chars: int = 0
    computes_answer: bool = False

    @property
    def is_long(self) -> bool:
        """Whether how much was shown may matter, whatever it was."""
        return bool(self.results) and self.chars >= LONG_RESULTS

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

    def turned_by(self, flip: BeliefFlip) -> int | None:
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
            AnsweredCall(index, event.call.name, kinds[event.call.name])
            for index, event in enumerate(trace.events)
            if isinstance(event, ToolCall) and event.status != "invalid" and is_of_tool(event)
        ),
        last=reply_began(trace.events, asked[-1]) if asked else None,
        ending=ending_of(trace.events),
        fault=next(iter(repairable(signals)), None),
        budget=_doubled(condition.budget, signals.budget.stopped if trace.outcome == "budget" else None),
        kinds=kinds,
        chars=shown_chars(signals),
        computes_answer=computes_an_answer(signals),
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


def kinds_of(condition: Condition) -> frozenset[ToolKind]:
    """Of the tools that a condition names; a function or server of the user's own is `other` until it was called."""
    names = (name for use in condition.tools for name in TOOLSETS.get(use.name, (use.name,)))
    return frozenset(_OF_RESOURCES.get(resource_of(ToolUse(name=name)), "other") for name in names)


def provider_kinds(condition: Condition) -> frozenset[ToolKind]:
    """Of the tools that the provider runs by itself, by what they are called."""
    names = (str(tool.get("type") or next(iter(tool), "")) for tool in condition.provider_tools)
    return frozenset(
        "code" if "code" in name else "search" if any(part in name for part in _READING) else "other" for name in names
    )


_READING = ("search", "fetch", "url", "maps", "retrieval")


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


def scorers_of(store: Store, design: ReplayDesign, run: str) -> tuple[str, ...]:
    """The names of the scorers whose scores count, as `choose` takes them: the design's, else those of the run."""
    known = store.scorers()
    if design.scorer:
        return (scorer_meant(known, design.scorer),)
    runs = store.runs()
    of_run = [each for each in runs if each.id.startswith(run) or run in each.tagged] or runs
    # A run that names none leaves it to those that are there, as `summaries` does.
    return tuple(name for name in of_run[-1].scorers if name in known) or known
