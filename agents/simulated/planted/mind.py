"""What a simulated model believes at any point of a conversation: pure functions of a scenario and a request."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from toolablate.agents.session import NOT_ALLOWED, NOT_EXECUTED
from toolablate.agents.simulated.planted.scenario import (
    TOOLSET_OF,
    CallKind,
    Nats,
    Reaction,
    Scenario,
    ScenarioScript,
    Toolset,
    Turn,
)
from toolablate.agents.simulated.policy import Offer, understood
from toolablate.traces.records import Message, ModelRequest

Source = Literal["prompted", "offered", "called", "commits", "holds", "fail"]
Asked = Literal["open", "now", "ignore_tools"]

TOOLSETS: tuple[Toolset, ...] = ("search", "code")
"""In the order in which a model that is offered both uses them."""

OF_TOOLS: frozenset[Source] = frozenset({"called", "commits", "holds", "fail"})
"""What is left of in part where a model is told to set aside what tools did."""

_IGNORE_TOOLS = re.compile(r"\b(?:put|set)(?:ting)? aside\b", re.IGNORECASE)
_FAILED = re.compile(
    r"Traceback \(most recent call last\)|^\w*(?:Error|Exception): "
    r"|\A\s*Error\b|\AThis call (?:failed|was interrupted)\b",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What came back from a call of one kind."""

    kind: CallKind
    text: str

    @property
    def failed(self) -> bool:
        return _failed(self.text)


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a model is in a conversation.

    prompted  whether a system prompt was given
    kinds     of the calls that its tools can make
    turns     how many of its replies made calls
    results   what came back, in order, without calls that were not executed
    asked     whether it may go on as it likes, or is asked for its answer now, setting aside what tools gave or not
    """

    prompted: bool
    kinds: frozenset[CallKind]
    turns: int
    results: tuple[ToolOutcome, ...]
    asked: Asked = "open"


@dataclass(frozen=True, slots=True)
class Influence:
    """What moves a belief away from the prior, and where it comes from."""

    source: Source
    toolset: Toolset | None
    moves: Nats


def situation(request: ModelRequest) -> Situation:
    offers = understood(request.tools)
    messages = request.messages
    return Situation(
        prompted=any(message.role == "system" for message in messages),
        kinds=frozenset(offers),
        turns=sum(bool(message.tool_calls) for message in messages),
        results=tuple(_results(messages, offers)),
        asked=_asked(messages),
    )


def script_turns(scenario: Scenario, kinds: Collection[CallKind]) -> tuple[tuple[Toolset, Turn], ...]:
    """The turns of a model whose tools can make calls of these kinds, without the calls that they cannot make."""
    possible = (
        (toolset, turn, tuple(call for call in turn.calls if call.kind in kinds))
        for toolset, script in offered_scripts(scenario, kinds)
        for turn in script.turns
    )
    return tuple(
        (toolset, turn if calls == turn.calls else turn.model_copy(update={"calls": calls}))
        for toolset, turn, calls in possible
        if calls
    )


def offered_scripts(scenario: Scenario, kinds: Collection[CallKind]) -> tuple[tuple[Toolset, ScenarioScript], ...]:
    """The scripts of the toolsets that are offered, in the order in which they are followed."""
    offered = {TOOLSET_OF[kind] for kind in kinds}
    return tuple(
        (toolset, scenario.scripts[toolset]) for toolset in TOOLSETS if toolset in offered & scenario.scripts.keys()
    )


def influences(scenario: Scenario, now: Situation) -> tuple[Influence, ...]:
    """All that has moved the belief by now."""
    found = [Influence("prompted", None, scenario.prompted)] if now.prompted else []
    done = script_turns(scenario, now.kinds)[: now.turns]
    for toolset, script in offered_scripts(scenario, now.kinds):
        found.append(Influence("offered", toolset, script.offered))
        turns = [turn for whose, turn in done if whose == toolset]
        if turns:
            found.append(Influence("called", toolset, script.called))
        found += [Influence("commits", toolset, turn.commits) for turn in turns]
        fitting = (reaction for reaction in script.reactions if fits(reaction, now.results))
        found += [Influence(reaction.when, toolset, reaction.moves) for reaction in fitting]
    return tuple(each for each in found if each.moves)


def belief(scenario: Scenario, now: Situation) -> dict[str, float]:
    """The probability of each letter, the one with the largest prior first."""
    return believed(scenario, influences(scenario, now), aside=now.asked == "ignore_tools")


def believed(scenario: Scenario, moved: Iterable[Influence], *, aside: bool = False) -> dict[str, float]:
    """The softmax of the prior with these influences, in the order of the prior: the same order however the belief is
    moved, so that one draw can be put to several beliefs."""
    weights = {
        letter: scenario.prior[letter]
        for letter in sorted(scenario.prior, key=lambda each: (-scenario.prior[each], each))
    }
    for each in moved:
        share = scenario.ignore_tools if aside and each.source in OF_TOOLS else 1.0
        for letter, nats in each.moves.items():
            weights[letter] += share * nats
    top = max(weights.values())
    raised = {letter: math.exp(weight - top) for letter, weight in weights.items()}
    total = sum(raised.values())
    return {letter: value / total for letter, value in raised.items()}


def drawn(probabilities: Mapping[str, float], u: float) -> str:
    """The letter at `u` in [0, 1) of the cumulated probabilities, in their order."""
    below = 0.0
    for letter, probability in probabilities.items():
        below += probability
        if u < below:
            return letter
    return list(probabilities)[-1]


def _results(messages: Sequence[Message], offers: Mapping[CallKind, Offer]) -> Iterable[ToolOutcome]:
    kinds = {offer.tool: kind for kind, offer in offers.items()}
    called = {call.id: call.name for message in messages for call in message.tool_calls}
    for message in messages:
        kind = kinds.get(called.get(message.tool_call_id, "")) if message.role == "tool" else None
        if kind is not None and message.content not in (NOT_EXECUTED, NOT_ALLOWED):
            yield ToolOutcome(kind, message.content)


def fits(reaction: Reaction, results: Sequence[ToolOutcome]) -> bool:
    """Whether these results, in order, are what it reacts to."""
    of_kind = [result for result in results if result.kind == reaction.kind]
    if reaction.when == "fail":
        return bool(of_kind) and of_kind[-1].failed
    return any(_holds(result.text, reaction.phrase) for result in of_kind)


@lru_cache(maxsize=20_000)
def _holds(text: str, phrase: str) -> bool:
    return phrase.casefold() in text.casefold()


@lru_cache(maxsize=20_000)
def _failed(text: str) -> bool:
    return _FAILED.search(text) is not None


def _asked(messages: Sequence[Message]) -> Asked:
    """A user's message after the question asks for the answer, unless the model may still call tools."""
    if messages[-1].role != "user" or sum(message.role == "user" for message in messages) < 2:
        return "open"
    return "ignore_tools" if _IGNORE_TOOLS.search(messages[-1].content) else "now"
