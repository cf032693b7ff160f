"""What tools give for the calls of scenes, read from the trials of a store."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from toolablate.agents.simulated.planted.mind import Result
from toolablate.agents.simulated.planted.scene import CallKind, Scene, Toolset
from toolablate.agents.simulated.policy import Offer, understood
from toolablate.traces.records import Condition, ModelCall, ToolCall, Trace

Mode = Literal["real", "placebo", "sham"]
Offers = Mapping[CallKind, Offer]

INJECTED = "injected_failure"
"""The error of a call that the intervention `fail` answers in place of its tool."""


@dataclass(frozen=True, slots=True)
class Made:
    """A call of a script and what came back; `broken` where an intervention made it fail, so that its tool was not
    called."""

    kind: CallKind
    asked: str
    output: str
    broken: bool = False

    @property
    def result(self) -> Result:
        return Result(self.kind, self.output)


@dataclass(frozen=True, slots=True)
class _Key:
    """What an output depends on: of a cell, also all cells before it."""

    question: str
    mode: Mode
    kind: CallKind
    asked: str
    cells: tuple[str, ...]


class Outputs:
    """Of the calls of one store's trials, by question, under real tools and stand-ins."""

    def __init__(self, traces: Iterable[tuple[Trace, str, Condition]]) -> None:
        """`traces` with the id of their question's record and their condition."""
        self._known: dict[_Key, str] = {}
        for trace, question, condition in traces:
            for key, output in _given(trace, question, condition):
                self._known.setdefault(key, output)

    def of(self, scene: Scene, mode: Mode, kind: CallKind, asked: str, before: Sequence[Made]) -> str:
        """What a call gives after those that were made before it.

        What no trial has seen is taken to hold every phrase that the scene waits for, where tools are real; under a
        placebo, to fail as the real call does and to hold nothing else; and to be empty as a sham.
        """
        cells = tuple(made.asked for made in before if made.kind == "code" and not made.broken)
        key = _Key(scene.question, mode, kind, asked, cells if kind == "code" and mode != "sham" else ())
        if key in self._known:
            return self._known[key]
        if mode == "real":
            return "\n".join(_phrases(scene, kind))
        real = Result(kind, self.of(scene, "real", kind, asked, before)) if mode == "placebo" else None
        return "Error: " if real is not None and real.failed else ""


def offers_of(trace: Trace) -> Offers:
    """The tools that the model of a trial was told of, by the kinds of calls that they take."""
    return next((understood(event.request.tools) for event in trace.events if isinstance(event, ModelCall)), {})


def calls_of(trace: Trace) -> Iterator[tuple[ToolCall, Made]]:
    """The calls of a trial in order, by what the model was shown for them."""
    kinds = {offer.tool: (kind, offer.argument) for kind, offer in offers_of(trace).items()}
    for event in trace.events:
        if isinstance(event, ToolCall) and event.call.name in kinds:
            kind, argument = kinds[event.call.name]
            asked = str(json.loads(event.call.arguments)[argument])
            yield event, Made(kind, asked, event.output, broken=event.error == INJECTED)


def _given(trace: Trace, question: str, condition: Condition) -> Iterator[tuple[_Key, str]]:
    names = {use.name for use in condition.interventions}
    mode: Mode = "sham" if "sham" in names else "placebo" if "placebo" in names else "real"
    if names & {"oracle", "adversarial"}:
        return
    cells: list[str] = []
    for event, made in calls_of(trace):
        if made.broken:
            continue
        before = tuple(cells) if made.kind == "code" and mode != "sham" else ()
        yield _Key(question, mode, made.kind, made.asked, before), made.output
        if mode == "placebo":
            real = event.original.output if event.original else event.output
            yield _Key(question, "real", made.kind, made.asked, before), real
        if made.kind == "code":
            cells.append(made.asked)


def _phrases(scene: Scene, kind: CallKind) -> Iterator[str]:
    toolset: Toolset = "code" if kind == "code" else "search"
    reactions = scene.scripts[toolset].reactions if toolset in scene.scripts else ()
    yield from (reaction.phrase for reaction in reactions if reaction.kind == kind and reaction.when == "holds")
