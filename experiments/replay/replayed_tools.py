"""The tools of a replayed trial: recorded results up to the change, the tools themselves beyond it."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from pydantic import JsonValue

from toolablate.agents.resuming import answered
from toolablate.agents.session import NOT_ALLOWED, is_of_tool
from toolablate.tools import Page, PageUnreadableError, SearchOutcome, SearchQuery, Tool, ToolResult, Toolset
from toolablate.tools.text import MISS_MESSAGES, told
from toolablate.tools.tool import PLAIN, Entry, ResultTemplate
from toolablate.traces.errors import InternalError
from toolablate.traces.records import (
    Change,
    Event,
    Lookup,
    Mismatch,
    MissKind,
    ModelCall,
    Rebuilt,
    SearchReply,
    SearchResult,
    ToolCall,
    ToolReply,
    ToolRequest,
    ToolSpec,
    canonical_json,
    clean_text,
    digest_json,
)

if TYPE_CHECKING:
    from toolablate.tools.placebo_sources import TrialPlaceboSources

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
    made at once end in any order, and what an agent's tool asks by itself stands before its result. Those of the last
    reply that are `waiting` for their results have None."""
    places = {id(event): index for index, event in enumerate(events)}
    asked = [(index, event) for index, event in enumerate(events) if isinstance(event, ModelCall)]
    for number, (start, replied) in enumerate(asked, start=1):
        calls, within = replied.reply.message.tool_calls, replied.within
        end = next((index for index, later in asked[number:] if later.within == within), len(events))
        given = [each for each in events[start + 1 : end] if isinstance(each, ToolCall) and each.within == within]
        made = answered(calls, given)
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
    the same, for their effects. Any other call is made; `missed` names the tools of those that nobody could answer."""

    def __init__(
        self,
        specs: Sequence[ToolSpec],
        toolset: Toolset,
        recorded: RecordedResults,
        kept_up: Collection[str],
        swapped: SwappedCall | None,
    ) -> None:
        self.specs = tuple(specs)
        self.missed: list[str] = []
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
            result = _as_called(await self._toolset.call(request))
            if result.status == "error" and result.lookup and result.lookup.miss:
                self.missed.append(request.name)
            return result
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


def _as_called(result: ToolResult) -> ToolResult:
    """The result that only gave a placebo its form was never given for this call."""
    unrecorded = any(each.intervention == REPLAY and each.detail.startswith(_UNRECORDED) for each in result.changes)
    return replace(result, original=None) if unrecorded else result


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
        self.kind = kind
        self._tool = tool

    @property
    def template(self) -> ResultTemplate:
        return self._tool.template if self._tool else PLAIN

    def refusal(self, arguments: Mapping[str, JsonValue]) -> ToolResult | None:
        return self._tool.refusal(arguments) if self._tool else None

    async def call(self, arguments: Mapping[str, JsonValue]) -> ToolResult:
        if refused := self.refusal(arguments):
            return refused
        lookup = Lookup(kind=self.kind, key=digest_json([self.spec.name, dict(arguments)]), miss=_MISS)
        return ToolResult(told(MISS_MESSAGES[_MISS]), status="error", error=_MISS, lookup=lookup)

    async def close(self) -> None:
        return None


# What stands in for a tool that may not be asked, where a placebo takes the place of what it gives: the placebo needs a
# real result for its kind, form and length.


_UNRECORDED = "not recorded, and not called"
"""Of a call of which nobody knows what it would have given."""

PAGES_OF = {"browser_find": "browser_open", "browser.find": "browser.open", "document_find": "document_open"}
"""The tools that open the pages that others search."""


@dataclass(frozen=True, slots=True)
class GivenResult:
    """What a tool gave in a trial, before anything changed it."""

    call: ToolRequest
    reply: ToolReply
    lookup: Lookup | None


def given_results(conversation: Sequence[Event]) -> tuple[GivenResult, ...]:
    """Of the calls that fitted their tools and were made, in the order in which they ended."""
    calls = (each for each in conversation if isinstance(each, ToolCall) and each.status != "invalid")
    return tuple(
        GivenResult(each.call, each.original or reply_of(each), each.lookup)
        for each in calls
        if is_of_tool(each) and (each.original or not each.changes)
    )


class PlaceboStandIn:
    """A call in the words of the record gets what the tool gave then. Any other gets a result that the trial has of
    this tool, else one under another question: a placebo takes its place. Where there is neither, nothing is to be had.

    `kept_in` says where the results under other questions are from. `web` is the tool itself, on what is stored of
    searches and pages; None for tools that say nothing of how their results are built.
    """

    def __init__(
        self,
        tool: UnrecordedTool,
        given: Sequence[GivenResult],
        sources: "TrialPlaceboSources",
        kept_in: str,
        web: Tool | None = None,
    ) -> None:
        self.spec = tool.spec
        self.template = web.template if web else tool.template
        self._unrecorded = tool
        self._given = [each for each in given if each.call.name == tool.spec.name]
        self._sources = sources
        self._kept_in = kept_in
        self._web = web

    def refusal(self, arguments: Mapping[str, JsonValue]) -> ToolResult | None:
        return self._web.refusal(arguments) if self._web else self._unrecorded.refusal(arguments)

    async def call(self, arguments: Mapping[str, JsonValue]) -> ToolResult:
        name = self.spec.name
        words = _words(ToolRequest(id="", name=name, arguments=canonical_json(dict(arguments))))
        recorded = next((each for each in reversed(self._given) if _words(each.call) == words), None)
        kept = [each for each in self._sources.kept(PAGES_OF.get(name, name)) if not each.error]
        if recorded is not None:
            made_anew = self._web if recorded.reply.status == "ok" else None
            result = await made_anew.call(arguments) if made_anew else _given_again(recorded)
            return self._noted(result, "recorded, and not called again")
        if not kept:
            return await self._unrecorded.call(arguments)
        if self._web is not None:
            return self._noted(await self._web.call(arguments), _UNRECORDED)
        form = next((each for each in reversed(self._given) if each.reply.status == "ok"), None)
        text = form.reply.output if form else min(kept, key=lambda each: digest_json([words, each.output])).output
        return self._noted(ToolResult(text, lookup=_unlooked(self._unrecorded.kind, words)), _UNRECORDED)

    def _noted(self, result: ToolResult, how: str) -> ToolResult:
        detail = f"{how}: placebos are results for other questions in {self._kept_in}"
        return replace(result, changes=(Change(intervention=REPLAY, detail=detail),))

    async def close(self) -> None:
        if self._web is not None:
            await self._web.close()


def _given_again(given: GivenResult) -> ToolResult:
    reply = given.reply
    return ToolResult(
        reply.output, reply.status, reply.error, reply.truncated, artifacts=reply.artifacts, lookup=given.lookup
    )


def _unlooked(kind: LookupKind, asked: str) -> Lookup:
    return Lookup(kind=kind, key=digest_json([kind, asked]), miss=_MISS)


class StoredSearch:
    """A `SearchSource` of the searches of one trial; for what that did not search, its last list of results, else one
    under another question."""

    name = "store"

    def __init__(self, given: Sequence[GivenResult], sources: "TrialPlaceboSources") -> None:
        self._given = [each for each in given if each.call.name in _SEARCHES and each.reply.status == "ok"]
        self._sources = sources

    async def find(self, asked: SearchQuery) -> SearchOutcome:
        found = next((each for each in reversed(self._given) if _query(each) == asked.query), None)
        output = found.reply.output if found else self._other()
        lookup = (found.lookup if found else None) or _unlooked("search", asked.query)
        results = tuple(_result(rank, each) for rank, each in enumerate(_entries(output), start=1))
        status: Literal["ok", "empty"] = "ok" if results else "empty"
        reply = SearchReply(
            query=asked.query, fetched_at=datetime.now(UTC), provider=self.name, status=status, results=results
        )
        return SearchOutcome(reply, lookup, "")

    def _other(self) -> str:
        of_trial = [each.reply.output for each in self._given if _entries(each.reply.output)]
        kept = (each.output for name in _SEARCHES for each in self._sources.kept(name) if not each.error)
        return of_trial[-1] if of_trial else next(kept, "")


class StoredPages:
    """A `PageSource` of the pages that one trial opened, as far as it was shown them, and of those that others opened
    under other questions; at any other address, a page of the trial, else one of the others."""

    def __init__(self, given: Sequence[GivenResult], sources: "TrialPlaceboSources") -> None:
        self._given = [each for each in given if each.call.name in PAGES_OF.values() and each.reply.status == "ok"]
        self._sources = sources

    async def read(self, url: str) -> Page:
        from toolablate.tools.placebo_sources import page_of

        own = [(each, page) for each in self._given if (page := page_of(each.reply.output))]
        windows = [page for each, page in own if url in (page.url, _argument(each, "url"), _argument(each, "id"))]
        if windows:
            text = "\n".join(dict.fromkeys(page.text.rstrip("\n") for page in windows))
            lookup = Lookup(kind="page", key=digest_json(["page", url]))
            return Page.of(windows[0].url, windows[0].title, text, lookup=lookup)
        kept = (each for name in PAGES_OF.values() for each in self._sources.kept(name) if not each.error)
        others = [page for each in kept if (page := page_of(each.output))]
        lookup = _unlooked("page", url)
        known = next((page for page in others if page.url == url), None)
        page_like = known or (own[-1][1] if own else next(iter(others), None))
        if page_like is None:
            raise PageUnreadableError(MISS_MESSAGES[_MISS], code=_MISS, lookup=lookup)
        return Page.of(url, page_like.title, page_like.text, lookup=lookup)


_SEARCHES = ("web_search", "browser.search")


def _argument(given: GivenResult, name: str) -> str:
    try:
        arguments = json.loads(given.call.arguments)
    except (ValueError, RecursionError):
        return ""
    return str(arguments.get(name, "")) if isinstance(arguments, dict) else ""


def _query(given: GivenResult) -> str:
    from toolablate.tools.search.provider import normal_query

    return normal_query(_argument(given, "query"))


def _entries(output: str) -> tuple[Entry, ...]:
    from toolablate.tools.placebo_sources import entries_of

    return entries_of(output)


def _result(rank: int, entry: Entry) -> SearchResult:
    from toolablate.tools.search.ranked_results import canonical_url

    title, _, rest = entry.text.partition("\n")
    snippet = rest.partition("\n")[2].strip()
    return SearchResult(rank=rank, url=entry.url, canonical_url=canonical_url(entry.url), title=title, snippet=snippet)
