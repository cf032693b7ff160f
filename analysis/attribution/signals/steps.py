"""A trace as the signals read it: what was called and shown, and what the model said, each with its event."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from toolablate.traces.records import ModelCall, ToolCall, Trace

Form = Literal["code", "search", "page", "other"]

THOUGHT_END = "</think>"

_BY_NAME: dict[str, Form] = {
    "python": "code",
    "web_search": "search",
    "search": "search",
    "browser_open": "page",
    "browser_find": "page",
    "open": "page",
    "find": "page",
}
_BY_ARGUMENT: dict[str, Form] = {"code": "code", "query": "search", "url": "page"}


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was answered: event `event` of the trace. `asked` is the code, the query or the address, else the
    arguments as they were written."""

    event: int
    form: Form
    asked: str
    made: ToolCall

    @property
    def output(self) -> str:
        return self.made.output


@dataclass(frozen=True, slots=True)
class Said:
    """What a model wrote in one reply, its thoughts before the rest."""

    event: int
    text: str


@dataclass(frozen=True, slots=True)
class Steps:
    """`final` is the text of the answer without thoughts, "" where there is none; `ended` the event that holds it, None
    where the trial ended without one."""

    calls: tuple[Call, ...]
    said: tuple[Said, ...]
    final: str
    ended: int | None

    @classmethod
    def of(cls, trace: Trace) -> "Steps":
        calls = tuple(_call(index, event) for index, event in enumerate(trace.events) if event.kind == "tool_call")
        said = tuple(Said(index, _text(event)) for index, event in model_calls(trace))
        ended = next(
            (index for index, event in reversed(list(enumerate(trace.events))) if event.kind == "answer"), None
        )
        return cls(calls, said, (trace.answer or "").rpartition(THOUGHT_END)[2].strip(), ended)

    def between(self, first: int, last: int) -> tuple[int, ...]:
        """The results that came after one event and before another."""
        return tuple(call.event for call in self.calls if first < call.event < last)


def model_calls(trace: Trace) -> Iterator[tuple[int, ModelCall]]:
    """The requests that were answered, each with its index."""
    return ((index, event) for index, event in enumerate(trace.events) if event.kind == "model_call")


def _call(index: int, event: ToolCall) -> Call:
    arguments = _arguments(event.call.arguments)
    by_argument: Form = next((_BY_ARGUMENT[name] for name in _BY_ARGUMENT if name in arguments), "other")
    form = _BY_NAME.get(event.call.name.rpartition(".")[2], by_argument)
    named = ("code", "query", "url", "id", "pattern")
    texts = (arguments[name] for name in named if isinstance(arguments.get(name), str))
    return Call(index, form, str(next(texts, event.call.arguments)), event)


def _arguments(text: str) -> dict[str, object]:
    """What a model wrote where it is a JSON object, else nothing: some send code as it is."""
    try:
        parsed = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _text(event: ModelCall) -> str:
    message = event.reply.message
    return f"{message.reasoning}\n{message.content}" if message.reasoning else message.content
