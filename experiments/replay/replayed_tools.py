"""The tools of a replayed trial: recorded results up to the change, the tools themselves beyond it."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from pydantic import JsonValue

from toolablate.agents.resuming import answered
from toolablate.agents.session import NOT_ALLOWED, is_of_tool
from toolablate.tools import Page, PageUnreadableError, SearchOutcome, SearchQuery, Tool, ToolResult, Toolset
from toolablate.tools.text import MISS_MESSAGES, told
from toolablate.tools.tool import PLAIN, ResultTemplate
from toolablate.traces.errors import InternalError
from toolablate.traces.records import (
    Change,
    Event,
    Lookup,
    Mismatch,
    MissKind,
    ModelCall,
    Rebuilt,
    ToolCall,
    ToolReply,
    ToolRequest,
    ToolSpec,
    canonical_json,
    clean_text,
    digest_json,
)

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


# The tools of a trial that is taken up again: what was recorded where it was, and the tools themselves beyond it.


_SHOWN_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class SwappedCall:
    """A recorded call that is shown with another text; where `text` is None it is made anew."""

    recorded: ToolCall
    text: str | None


@dataclass(frozen=True, slots=True)
class BarredTools:
    """The tools of a trial that calls none any more, as its model was told of them."""

    specs: tuple[ToolSpec, ...]

    async def call(self, request: ToolRequest) -> ToolResult:
        raise InternalError(f"the tool {request.name!r} was called in a trial that calls none")


class ReplayedTools:
    """A call in the words of the record gets the recorded result; those of the tools that `kept_up` names are made all
    the same, for their effects. Any other call is made."""

    def __init__(
        self,
        specs: Sequence[ToolSpec],
        toolset: Toolset,
        recorded: RecordedResults,
        kept_up: Collection[str],
        swapped: SwappedCall | None,
    ) -> None:
        self.specs = tuple(specs)
        self._toolset = toolset
        self._recorded = recorded
        self._kept_up = kept_up
        self._swapped = swapped
        self._known: list[tuple[ToolRequest, ToolCall | None, SwappedCall | None]] = []

    async def call(self, request: ToolRequest) -> ToolResult:
        """Raises ToolError or SandboxError as a toolset does."""
        held, swapped = self._looked_up(request)
        if swapped is not None and swapped.text is not None:
            if request.name in self._kept_up:
                await self._toolset.call(request)
            else:
                self._toolset.pass_over(request)
            return _swapped(swapped.recorded, swapped.text)
        if swapped is not None or held is None:
            return await self._toolset.call(request)
        if request.name not in self._kept_up:
            self._toolset.pass_over(request)
            return result_of(held)
        now = await self._toolset.call(request)
        return _as_recorded(held, now)

    def _looked_up(self, request: ToolRequest) -> tuple[ToolCall | None, SwappedCall | None]:
        """A call that is tried again is the same object, and is not counted again."""
        for earlier, held, swapped in self._known:
            if earlier is request:
                return held, swapped
        held, swapped = self._recorded.of(request), self._swapped
        if swapped is not None and swapped.recorded.call == request:
            self._swapped = None
        else:
            swapped = None
        self._known.append((request, held, swapped))
        return held, swapped


async def rebuild(
    toolset: Toolset, before: Sequence[Event], names: Collection[str], waiting: Sequence[ToolRequest] = ()
) -> Rebuilt:
    """Makes the recorded calls of these tools again, in the order in which they were begun, and compares what they
    give. Those of other tools, and those of the last reply that are `waiting` for their results, are only numbered.
    Raises ToolError or SandboxError where infrastructure failed."""
    began, calls, mismatches = time.monotonic(), 0, []
    for index, request in begun(before, waiting):
        event = before[index] if index is not None else None
        if isinstance(event, ToolCall) and event.call.name in names and is_of_tool(event):
            now = await toolset.call(request)
            calls += 1
            expected = _of_condition(event)
            if not _same(expected, now):
                shown = (clean_text(each.output)[:_SHOWN_CHARS] for each in (expected, now))
                mismatches.append(Mismatch(event=index, recorded=next(shown), now=next(shown)))
        elif not isinstance(event, ToolCall) or event.output != NOT_ALLOWED:
            toolset.pass_over(request)
    return Rebuilt(at=0.0, seconds=round(time.monotonic() - began, 6), calls=calls, mismatches=tuple(mismatches))


def _of_condition(event: ToolCall) -> ToolCall | ToolReply:
    """What was given under the condition, before an earlier replay swapped it."""
    replayed = any(change.intervention == REPLAY for change in event.changes)
    return event.original if replayed and event.original is not None else event


def _same(recorded: ToolCall | ToolReply, now: ToolResult) -> bool:
    return (recorded.output, recorded.status) == (clean_text(now.output), now.status)


def _as_recorded(held: ToolCall, now: ToolResult) -> ToolResult:
    result = result_of(held)
    if _same(_of_condition(held), now):
        return result
    differs = Change(intervention=REPLAY, detail="shown as it was recorded; made again, it gave something else")
    return replace(result, changes=(*held.changes, differs), original=held.original or reply_of(now))


def _swapped(recorded: ToolCall, text: str) -> ToolResult:
    detail = f"showed {len(text):,} characters in place of {len(recorded.output):,}"
    return ToolResult(
        text,
        lookup=recorded.lookup,
        changes=(Change(intervention=REPLAY, detail=detail),),
        original=reply_of(recorded),
    )


# What stands in for a tool that may not be asked anew: whatever it is asked was not recorded.


LookupKind = Literal["search", "page", "mcp"]

_MISS: MissKind = "not_in_archive"


class UnrecordedSearch:
    """A `SearchSource` that has nothing."""

    name = "unrecorded"

    async def find(self, asked: SearchQuery) -> SearchOutcome:
        lookup = Lookup(kind="search", key=digest_json(["search", asked.query]), miss=_MISS)
        return SearchOutcome(None, lookup, MISS_MESSAGES[_MISS])


class UnrecordedPages:
    """A `PageSource` that has nothing."""

    async def read(self, url: str) -> Page:
        lookup = Lookup(kind="page", key=digest_json(["page", url]), miss=_MISS)
        raise PageUnreadableError(MISS_MESSAGES[_MISS], code=_MISS, lookup=lookup)


class UnrecordedTool:
    """In place of a `tool` that may not be asked; where there is None, as of a server that is not started, no more is
    known of it than what the model was told."""

    def __init__(self, spec: ToolSpec, kind: LookupKind = "mcp", tool: Tool | None = None) -> None:
        self.spec = spec
        self._kind = kind
        self._tool = tool

    @property
    def template(self) -> ResultTemplate:
        return self._tool.template if self._tool else PLAIN

    def refusal(self, arguments: Mapping[str, JsonValue]) -> ToolResult | None:
        return self._tool.refusal(arguments) if self._tool else None

    async def call(self, arguments: Mapping[str, JsonValue]) -> ToolResult:
        if refused := self.refusal(arguments):
            return refused
        lookup = Lookup(kind=self._kind, key=digest_json([self.spec.name, dict(arguments)]), miss=_MISS)
        return ToolResult(told(MISS_MESSAGES[_MISS]), status="error", error=_MISS, lookup=lookup)

    async def close(self) -> None:
        return None
