"""A conversation as steps: one reply of the model each, with what came of it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from toolablate.traces.records import Artifact, Event, ModelCall, ToolCall

LAID_OUT = 100
"""Calls of one reply whose arguments are read; those of more are taken as they were written."""


@dataclass(frozen=True, slots=True)
class Step:
    """`first` is the index of the first of its `events` in the conversation. The reply is the first of them that is a
    ModelCall; only a conversation without any reply has a step without one.

    `said` is what the model said and did: its thoughts, its words, then each call's tool and arguments. Ids that an
    endpoint gave are no part of it, nor is the layout of arguments that are JSON.
    """

    first: int
    events: tuple[Event, ...]
    said: tuple[str, ...]

    @property
    def asked(self) -> ModelCall | None:
        return next((event for event in self.events if isinstance(event, ModelCall)), None)

    @property
    def results(self) -> tuple[ToolCall, ...]:
        return tuple(event for event in self.events if isinstance(event, ToolCall))

    @property
    def shown(self) -> tuple[tuple[str, str, tuple[Artifact, ...]], ...]:
        """What its calls gave, as text and as images."""
        return tuple((each.status, each.output, tuple(filter(is_image, each.artifacts))) for each in self.results)

    @property
    def tools(self) -> frozenset[str]:
        """The names of those that the reply calls."""
        return frozenset() if self.asked is None else frozenset(c.name for c in self.asked.reply.message.tool_calls)


def is_image(artifact: Artifact) -> bool:
    """A drawing in SVG is none: programs give the parts of one and the same other names each time."""
    kind = artifact.mime.strip().lower()
    return kind.startswith("image/") and not kind.startswith("image/svg")


def steps_of(conversation: Sequence[Event]) -> tuple[Step, ...]:
    """Every event is in one step, in order. A step begins with each reply of the model and goes on to the next one: so
    it has the results of the calls that the reply made, and failures before the next reply. What came before the first
    reply belongs to the first step."""
    begins = [index for index, event in enumerate(conversation) if isinstance(event, ModelCall)]
    begins = [0, *begins[1:]] if conversation else []
    ends = [*begins[1:], len(conversation)] if conversation else []
    return tuple(_step(first, tuple(conversation[first:end])) for first, end in zip(begins, ends, strict=True))


def _step(first: int, events: tuple[Event, ...]) -> Step:
    asked = next((event for event in events if isinstance(event, ModelCall)), None)
    if asked is None:
        return Step(first, events, ())
    message = asked.reply.message
    calls = message.tool_calls
    plain = (part for call in calls[:LAID_OUT] for part in (call.name, _plain_arguments(call.arguments)))
    as_written = (part for call in calls[LAID_OUT:] for part in (call.name, call.arguments))
    return Step(first, events, (message.reasoning.strip(), message.content.strip(), *plain, *as_written))


def _plain_arguments(text: str) -> str:
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, sort_keys=True)
    except (ValueError, RecursionError):
        return text
