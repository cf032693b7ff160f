"""What a model did with its calls: searches and pages, and how much code it wrote."""

import re
from collections.abc import Sequence

from toolablate.analysis.attribution.signals.records import Effort, Reading, Repeated
from toolablate.analysis.attribution.signals.steps import Call

_WORD = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")


def reading(calls: Sequence[Call]) -> Reading:
    """Of all calls that were not refused."""
    made = [call for call in calls if call.made.status != "invalid"]
    searches = [call for call in made if call.form == "search"]
    return Reading(
        searches=tuple(call.event for call in searches),
        pages=tuple(call.event for call in made if call.form == "page" and call.made.status == "ok"),
        repeated=_repeated(searches),
        leaks=tuple(call.event for call in made if any(mark.kind == "answer_leak" for mark in call.made.markers)),
    )


def effort(calls: Sequence[Call], prompt: str) -> Effort:
    """Lines that hold nothing, or a comment alone, are none; a Chinese character of a question counts as a word."""
    cells = [call for call in calls if call.form == "code" and call.made.status != "invalid"]
    lines = [line.strip() for call in cells for line in call.asked.split("\n")]
    written = sum(bool(line) and not line.startswith("#") for line in lines)
    return Effort(tuple(call.event for call in cells), written, len(_WORD.findall(prompt)))


def _repeated(searches: Sequence[Call]) -> tuple[Repeated, ...]:
    first: dict[tuple[str, ...], int] = {}
    found: list[Repeated] = []
    for call in searches:
        words = tuple(sorted(_WORD.findall(call.asked.casefold())))
        earlier = first.setdefault(words, call.event)
        if earlier != call.event:
            found.append(Repeated(call.event, earlier))
    return tuple(found)
