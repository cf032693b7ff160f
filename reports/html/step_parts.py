"""What a step of a conversation is made of, to be set beside another. Texts in it are foreign, and not escaped yet."""

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from toolablate.analysis.alignment import Step, is_image
from toolablate.reports.html.cards import Form
from toolablate.reports.html.inert import without_colours
from toolablate.reports.numbers import counted
from toolablate.traces.records import Artifact, ToolCall

Place = tuple[int, int, str]
"""Of a part in its step: thoughts, words, then each call, what it gave and the images of that; the tool's name."""

MOST_CALLS = 50
"""Calls of one step, and as many results, that are shown."""
MOST_IMAGES = 20
"""Of one result."""

_ONE_TEXT = ("code", "query", "url", "pattern", "id")


class Told(NamedTuple):
    """What a part is called, its form, and its text or image."""

    label: str
    form: Form
    text: str
    image: Artifact | None = None


def parts_of(step: Step) -> Iterator[tuple[Place, Told]]:
    """What a step thinks and says where it does, its calls, and what each gave."""
    if step.asked is not None:
        message = step.asked.reply.message
        said: tuple[tuple[int, str, str], ...] = ((0, "thinks", message.reasoning), (1, "says", message.content))
        for place, label, text in said:
            if text.strip():
                yield (place, 0, ""), Told(label, "prose", text.strip())
        for place, call in enumerate(message.tool_calls[:MOST_CALLS]):
            form, text = _arguments(call.arguments)
            yield (2 + place, 0, call.name), Told(f"calls {call.name}", form, text)
    for place, result in enumerate(step.results[:MOST_CALLS]):
        status = "" if result.status == "ok" else f" ({result.status})"
        label = f"{result.call.name} gives{'' if result.output else ' nothing'}{status}"
        yield (2 + place, 1, result.call.name), Told(label, "output", without_colours(result.output))
        for number, image in enumerate(_images(result)[:MOST_IMAGES]):
            told = Told(f"{result.call.name} gives an image", "output", "", image)
            yield (2 + place, 2 + number, result.call.name), told


def parts_in(step: Step) -> int:
    """How many there are, however many of them are shown."""
    given = len(step.results) + sum(min(len(_images(each)), MOST_IMAGES) for each in step.results)
    if step.asked is None:
        return given
    message = step.asked.reply.message
    said = sum(bool(text.strip()) for text in (message.reasoning, message.content))
    return said + len(message.tool_calls) + given


def _arguments(text: str) -> tuple[Form, str]:
    """Code, a query or an address as it is, where it is all that is given; else the arguments, laid out."""
    try:
        parsed = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return "code", text
    if isinstance(parsed, dict) and len(parsed) == 1:
        ((name, value),) = parsed.items()
        if name in _ONE_TEXT and isinstance(value, str):
            return "code" if name == "code" else "output", value
    try:
        return "json", json.dumps(parsed, ensure_ascii=False, indent=2)
    except RecursionError:
        return "json", text


def remarks(step: Step) -> Iterator[str]:
    for event in step.events:
        if event.kind == "failure":
            yield f"{event.boundary} failed ({event.code})" + (", tried again" if event.retried else "")
        elif event.kind == "answer" and event.limit is not None:
            yield f"ran out of {event.limit.replace('_', ' ')}"
        elif event.kind == "rebuilt":
            yield f"taken up again here, after {event.calls} calls were made again"
        elif event.kind == "tool_call":
            if event.changes:
                yield f"changed by {', '.join(change.intervention for change in event.changes)}"
            if other := len(event.artifacts) - min(len(_images(event)), MOST_IMAGES):
                yield f"{counted(other, 'rich output')} on the trial's page"


def _images(result: ToolCall) -> Sequence[Artifact]:
    return [each for each in result.artifacts if is_image(each)]
