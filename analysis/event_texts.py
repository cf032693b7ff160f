"""The texts of a trial's events, as the index has them and as snippets quote them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

PAGES = frozenset({"web_search", "browser_open", "browser_find", "document_search", "document_open", "document_find"})
"""Tools of ours that show searches, pages and documents."""

FAILURE = "failure"
"""The status of an infrastructure failure, which is no call."""


class EventText(NamedTuple):
    """`event` is its number; `column` is that of the index. `tool` and `status` are those of a call, "" elsewhere."""

    event: int
    column: str
    text: str
    tool: str = ""
    status: str = ""


def texts_of(events: Sequence[Mapping[str, Any]]) -> Iterator[EventText]:
    """Of a trace's events, as the JSON values that reach disk. What requests repeat was said before, and is left
    out; the last reply is left out where it is the answer."""
    answers = {event["text"] for event in events if event["kind"] == "answer"}
    for number, event in enumerate(events):
        match event["kind"]:
            case "model_call":
                message = event["reply"]["message"]
                for name in ("reasoning", "content"):
                    said = message.get(name, "")
                    if said and said not in answers:
                        yield EventText(number, "reply", said)
            case "tool_call":
                yield from _of_call(number, event)
            case "answer":
                yield EventText(number, "answer", event["text"])
            case "failure":
                yield EventText(number, "output", event.get("message", ""), "", FAILURE)


def _of_call(number: int, event: Mapping[str, Any]) -> Iterator[EventText]:
    call = event["call"]
    tool, status = call["name"], event.get("status", "ok")
    yield EventText(number, "code", _arguments(call["arguments"]), tool, status)
    column = "page" if tool in PAGES or event.get("lookup") else "output"
    yield EventText(number, column, event["output"], tool, status)


def _arguments(text: str) -> str:
    """As a reader of code has them: without the escapes of JSON. What is no JSON stays as it is."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return "\n".join(_strings(found))


def _strings(value: Any) -> Iterator[str]:
    """In their order; keys are the same in all calls of a tool."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting += reversed(each.values())
        elif isinstance(each, list):
            waiting += reversed(each)
        elif each is not None:
            yield json.dumps(each)
