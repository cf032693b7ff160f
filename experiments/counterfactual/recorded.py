"""What the tools of a trial gave, by what they were asked."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise

from toolablate.agents.resuming import answered
from toolablate.agents.session import NOT_ALLOWED, OUT_OF_TIME
from toolablate.tools import ToolResult
from toolablate.traces.records import Event, ModelCall, ToolCall, ToolReply, ToolRequest, canonical_json

REPLAY = "replay"
"""The name under which the changes of a replay stand among those of interventions."""


class RecordedResults:
    """The results of a whole conversation, for calls that are made again from `event` on.

    The n-th call in the same words gets the n-th result; those that had theirs before the event come first, since of
    calls that were made at once a later one may have ended earlier. What a cell of code gives depends on all cells
    before it, so of the tools that `coding` names a result is given only as long as all their calls so far are the
    same, and none is made `anew` with another effect. A result for which `unwanted` holds is not given, and its call so
    made anew. Each call is to be asked for once, in the order in which calls are made.
    """

    def __init__(
        self,
        conversation: Sequence[Event],
        event: int,
        *,
        coding: Collection[str],
        anew: bool,
        unwanted: Callable[[ToolCall], bool],
    ) -> None:
        places = [index for index, _ in begun(conversation) if index is not None]
        calls = [(index, conversation[index]) for index in sorted(places, key=lambda index: index >= event)]
        made = [(index, each) for index, each in calls if isinstance(each, ToolCall) and is_of_tool(each)]
        given, before = [each for _, each in made], [each for index, each in made if index < event]
        self._coding = coding
        self._results: dict[str, list[ToolCall]] = defaultdict(list)
        for each in given:
            self._results[_words(each.call)].append(each)
        self._asked: dict[str, int] = defaultdict(int)
        for each in before:
            self._asked[_words(each.call)] += 1
        self._cells = [each for each in given if each.call.name in coding]
        self._made = [_words(each.call) for each in before if each.call.name in coding]
        self._anew = anew
        self._unwanted = unwanted

    def of(self, request: ToolRequest) -> ToolCall | None:
        found = self._found(request)
        if found is None or not self._unwanted(found):
            return found
        self._anew = self._anew or request.name in self._coding
        return None

    def _found(self, request: ToolRequest) -> ToolCall | None:
        words = _words(request)
        if request.name in self._coding:
            self._made.append(words)
            same = [_words(each.call) for each in self._cells[: len(self._made)]] == self._made
            return self._cells[len(self._made) - 1] if same and not self._anew else None
        results, place = self._results.get(words, []), self._asked[words]
        self._asked[words] += 1
        return results[min(place, len(results) - 1)] if results else None


def begun(events: Sequence[Event], waiting: Sequence[ToolRequest] = ()) -> Iterator[tuple[int | None, ToolRequest]]:
    """The calls that were made, in the order in which they were begun, each with the index of its event: calls that are
    made at once end in any order. Those of the last reply that are `waiting` for their results have None."""
    places = {id(event): index for index, event in enumerate(events)}
    asked = [index for index, event in enumerate(events) if isinstance(event, ModelCall)]
    for start, end in pairwise([*asked, len(events)]):
        replied = events[start]
        assert isinstance(replied, ModelCall)
        calls = replied.reply.message.tool_calls
        made = answered(calls, events[start + 1 : end])
        for place, call in enumerate(calls):
            if place in made:
                yield places[id(made[place])], call
            elif any(call is each for each in waiting):
                yield None, call


def is_of_tool(event: ToolCall) -> bool:
    """Whether it says what the tool gave; some were refused, or the time of their trial ran out under them."""
    return event.error != OUT_OF_TIME and event.output != NOT_ALLOWED


def result_of(event: ToolCall) -> ToolResult:
    """As the tool gave it to the model."""
    return ToolResult(
        event.output,
        event.status,
        event.error,
        event.truncated,
        event.artifacts,
        event.lookup,
        event.markers,
        event.changes,
        event.original,
    )


def reply_of(given: ToolCall | ToolResult) -> ToolReply:
    return ToolReply(
        output=given.output,
        status=given.status,
        error=given.error,
        truncated=given.truncated,
        artifacts=given.artifacts,
    )


def _words(request: ToolRequest) -> str:
    """Of a call, however its arguments are laid out."""
    try:
        arguments = canonical_json(json.loads(request.arguments))
    except (ValueError, RecursionError):
        arguments = request.arguments
    return f"{request.name} {arguments}"
