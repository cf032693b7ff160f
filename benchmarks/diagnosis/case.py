"""What a judge gets to see of a failed trial: nothing of its answer key, its condition, its model or its score."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from toolablate.benchmarks.judging.measure import shown_question
from toolablate.traces.records import Answer, Event, ModelCall, Question, ToolCall

PartKind = Literal["thoughts", "text", "call", "result"]


@dataclass(frozen=True, slots=True)
class Part:
    """A text of a step; `step` is the index of its event."""

    step: int
    kind: PartKind
    text: str


@dataclass(frozen=True, slots=True)
class Case:
    """`question` is what was asked, with its choices; `answer` the final reply, "" where there is none, and `answered`
    the index of its event."""

    question: str
    language: str
    parts: tuple[Part, ...]
    answer: str
    answered: int

    @property
    def steps(self) -> frozenset[int]:
        """The steps that can be pointed to."""
        return frozenset({part.step for part in self.parts} | {self.answered})


def case_of(question: Question, events: Sequence[Event]) -> Case:
    """Of what the model said and was shown; what a tool gave before an intervention changed it is no part of that."""
    final = next((event.text for event in reversed(events) if isinstance(event, Answer)), "")
    last = max((index for index, event in enumerate(events) if isinstance(event, ModelCall)), default=-1)
    parts: list[Part] = []
    for index, event in enumerate(events):
        if isinstance(event, ModelCall):
            said = event.reply.message
            text = "" if index == last and said.content == final else said.content
            parts += [Part(index, "thoughts", said.reasoning), Part(index, "text", text)]
        elif isinstance(event, ToolCall):
            called = f"{event.call.name}\n{event.call.arguments}"
            parts += [Part(index, "call", called), Part(index, "result", event.output)]
    shown = tuple(part for part in parts if part.kind == "result" or part.text.strip())
    return Case(shown_question(question), question.language, shown, final, max(len(events) - 1, 0))
