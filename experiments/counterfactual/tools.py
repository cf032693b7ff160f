"""The tools of a trial that is taken up again: what was recorded where it was, and the tools themselves beyond it."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from toolablate.agents.session import NOT_ALLOWED
from toolablate.experiments.counterfactual.recorded import (
    REPLAY,
    RecordedResults,
    begun,
    is_of_tool,
    reply_of,
    result_of,
)
from toolablate.tools import ToolResult, Toolset
from toolablate.traces.errors import InternalError
from toolablate.traces.records import (
    Change,
    Event,
    Mismatch,
    Rebuilt,
    ToolCall,
    ToolReply,
    ToolRequest,
    ToolSpec,
    clean_text,
)

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
