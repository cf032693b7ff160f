"""What tools give for the calls of scenes, read from the trials of a store."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from toolablate.agents.simulated.planted.mind import Result
from toolablate.agents.simulated.planted.scene import TOOLSET_OF, CallKind, Scene
from toolablate.agents.simulated.policy import Offer, understood
from toolablate.traces.records import Condition, ModelCall, ToolCall, Trace

Mode = Literal["real", "placebo", "sham"]
Offers = Mapping[CallKind, Offer]

_Key = tuple[str, Mode, CallKind, str]

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


class Outputs:
    """Of the calls of one store's trials, by question, under real tools and stand-ins.

    A cell of code may depend on the cells before it. Of several outputs of one cell that after the most of them counts,
    so a cell that needs another one should not be in a scene whose calls fail at random.
    """

    def __init__(self, traces: Iterable[tuple[Trace, str, Condition]]) -> None:
        """`traces` with the id of their question's record and their condition."""
        self._known: dict[_Key, tuple[int, str]] = {}
        for trace, question, condition in traces:
            for key, cells, output in _given(trace, question, condition):
                if key not in self._known or self._known[key][0] < cells:
                    self._known[key] = (cells, output)

    def of(self, scene: Scene, mode: Mode, kind: CallKind, asked: str) -> str:
        """What a call gives.

        What no trial has seen lies beyond every budget. Where tools are real, the last such call of a script is taken
        to hold the phrases that nothing seen holds, and the others to hold none; under a placebo a call fails as the
        real one does and holds nothing else; as a sham it is empty.
        """
        key = (scene.question, mode, kind, asked)
        if key in self._known:
            return self._known[key][1]
        if mode == "real":
            return "\n".join(self._unseen(scene, kind)) if asked == _last(scene, kind) else ""
        real = Result(kind, self.of(scene, "real", kind, asked)) if mode == "placebo" else None
        return "Error: " if real is not None and real.failed else ""

    def _unseen(self, scene: Scene, kind: CallKind) -> Iterator[str]:
        """The phrases that no result of such a call has held."""
        seen = [
            output.casefold()
            for (question, mode, of, _), (_, output) in self._known.items()
            if (question, mode, of) == (scene.question, "real", kind)
        ]
        for phrase in _phrases(scene, kind):
            if not any(phrase.casefold() in output for output in seen):
                yield phrase


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


def _given(trace: Trace, question: str, condition: Condition) -> Iterator[tuple[_Key, int, str]]:
    """What each call gave, and how many cells of code had been run before."""
    names = {use.name for use in condition.interventions}
    mode: Mode = "sham" if "sham" in names else "placebo" if "placebo" in names else "real"
    if names & {"oracle", "adversarial"}:
        return
    cells = 0
    for event, made in calls_of(trace):
        if made.broken:
            continue
        yield (question, mode, made.kind, made.asked), cells, made.output
        if mode == "placebo":
            real = event.original.output if event.original else event.output
            yield (question, "real", made.kind, made.asked), cells, real
        cells += made.kind == "code"


def _last(scene: Scene, kind: CallKind) -> str | None:
    """What the last call of a kind in a script asks for."""
    script = scene.scripts.get(TOOLSET_OF[kind])
    turns = script.turns if script else ()
    return next((call.text for turn in reversed(turns) for call in reversed(turn.calls) if call.kind == kind), None)


def _phrases(scene: Scene, kind: CallKind) -> Iterator[str]:
    toolset = TOOLSET_OF[kind]
    reactions = scene.scripts[toolset].reactions if toolset in scene.scripts else ()
    yield from (reaction.phrase for reaction in reactions if reaction.kind == kind and reaction.when == "holds")
