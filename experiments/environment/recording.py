"""Records pages and searches into a plan's archive outside of any trial, and seals it."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from toolablate.experiments.environment.web import OpenedWeb, open_web
from toolablate.experiments.plans.plan import Plan
from toolablate.tools import PageUnreadableError, SearchQuery
from toolablate.tools.web.exchange import FetchError
from toolablate.traces.errors import InputError, ToolablateError
from toolablate.traces.validation import why_unreadable

if TYPE_CHECKING:
    from rich.console import Console

    from toolablate.tools.archive import Archive, Seal

AT_ONCE = 8

KEYS = {
    "blocked": "private addresses and other ports are opened where web.allow or web.ports names them",
    "blocked_host": "web.blocked_hosts names it",
    "robots": "web.robots = false opens it all the same",
}
"""What a plan could say, by the code of what its policy forbids."""

Tell = Callable[[int, int], None]
"""Is told how many are done, of how many."""


@dataclass(frozen=True, slots=True)
class RecordingRequest:
    """What is to be recorded: pages, and searches with so many results; of each search's first `open_results` the pages
    too. `refresh` captures again what is there."""

    urls: Sequence[str] = ()
    queries: Sequence[str] = ()
    max_results: int = 10
    open_results: int = 0
    refresh: bool = False


@dataclass(frozen=True, slots=True)
class Recorded:
    """What came of it; `stopped` where Ctrl-C ended it before all was asked for. What is recorded is kept."""

    outcomes: tuple["Outcome", ...]
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one page or search; `problem` says why it could not be had, and is empty where it could."""

    kind: Literal["page", "search"]
    asked: str
    problem: str = ""


def read_list(path: Path, option: str) -> list[str]:
    """The lines of a file that are neither blank nor comments (`#`). Raises InputError that names `option`."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{option}: cannot read {path}: {why_unreadable(error)}", code="unreadable_list") from None
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


@contextmanager
def shown_progress(console: "Console", doing: str = "recording") -> Iterator[Tell]:
    """A bar in a terminal; nothing elsewhere."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn(doing), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(doing, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def record(plan: Plan, wanted: RecordingRequest, *, tell: Tell) -> Recorded:
    """Records each once, searches first. What fails is an outcome. Raises InputError for what the plan lacks."""
    if not plan.web.archive:
        raise InputError(
            "web.archive: missing", hint='name a folder in the plan: archive = "web-archive"', code="no_archive"
        )
    if not (wanted.urls or wanted.queries):
        raise InputError("there is nothing to record", hint="give URLs, --urls FILE or --queries FILE", code="usage")
    if not all(url.strip() for url in wanted.urls):
        raise InputError("URL: it is empty", hint="each page to record is a URL of its own", code="usage")
    offline = plan.search is not None and plan.search.provider == "corpus"
    if wanted.queries and offline:
        raise InputError(
            "search.provider: a corpus needs no recording",
            hint="name the service whose results are to be recorded",
            code="nothing_to_record",
        )
    web = plan.web.model_copy(update={"mode": "record", "as_of": None})
    plan = plan.model_copy(update={"web": web, "search": None if offline else plan.search})
    return asyncio.run(_record(plan, wanted, tell))


async def _record(plan: Plan, wanted: RecordingRequest, tell: Tell) -> Recorded:
    needed = {"search": bool(wanted.queries), "pages": bool(wanted.urls or wanted.open_results)}
    parts = frozenset(part for part, is_needed in needed.items() if is_needed)
    async with AsyncExitStack() as stack:
        web = await open_web(plan, parts, stack, refresh=wanted.refresh)
        recorder = _Recorder(web, wanted, plan.search.endpoint if plan.search else "", tell)
        try:
            await recorder.all(wanted.queries, recorder.search)
            await recorder.all([*wanted.urls, *recorder.found], recorder.page)
        except asyncio.CancelledError:
            # Ctrl-C, as `asyncio.run` passes it on; nobody else cancels this.
            return Recorded(recorder.outcomes, stopped=True)
    return Recorded(recorder.outcomes)


class _Recorder:
    """`found` are the addresses of the results whose pages are to be recorded as well."""

    def __init__(self, web: OpenedWeb, wanted: RecordingRequest, endpoint: str, tell: Tell) -> None:
        self._web = web
        self._wanted = wanted
        self._endpoint = endpoint
        self._tell = tell
        self._places = asyncio.Semaphore(AT_ONCE)
        self._total = 0
        self._ended: dict[int, Outcome] = {}
        self.found: list[str] = []

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Of what has ended, in the order in which it was given."""
        return tuple(outcome for _, outcome in sorted(self._ended.items(), key=lambda ended: ended[0]))

    async def all(self, items: Sequence[str], attempt: Callable[[str], Coroutine[None, None, Outcome]]) -> None:
        once = list(enumerate(dict.fromkeys(items), start=self._total))
        self._total += len(once)
        await asyncio.gather(*(self._one(number, item, attempt) for number, item in once))

    async def _one(self, number: int, item: str, attempt: Callable[[str], Coroutine[None, None, Outcome]]) -> None:
        async with self._places:
            self._ended[number] = await attempt(item)
        self._tell(len(self._ended), self._total)

    async def search(self, query: str) -> Outcome:
        assert self._web.search is not None
        try:
            found = await self._web.search.find(SearchQuery(query, self._wanted.max_results))
        except ToolablateError as error:
            return Outcome("search", query, error.message)
        reply = found.reply
        if reply is None:
            return Outcome("search", query, found.message)
        self.found += [result.url for result in reply.results[: self._wanted.open_results]]
        if reply.status in ("ok", "empty"):
            return Outcome("search", query)
        place = f" (asked: {self._endpoint})" if self._endpoint and self._endpoint not in reply.detail else ""
        return Outcome("search", query, f"{reply.provider}: {reply.status}: {reply.detail}{place}")

    async def page(self, url: str) -> Outcome:
        assert self._web.pages is not None
        try:
            await self._web.pages.read(url)
        except (PageUnreadableError, ToolablateError) as error:
            return Outcome("page", url, _told(error))
        return Outcome("page", url)


def _told(error: PageUnreadableError | ToolablateError) -> str:
    """What a model is told says nothing of the policy; whoever wrote it is told which part of it forbids the page."""
    cause = error.__cause__
    if isinstance(cause, FetchError) and cause.policy:
        return f"{cause.message} ({KEYS[cause.code]})" if cause.code in KEYS else cause.message
    return error.message


# Seals an archive, after reading what a recording that was cut short left unread.


def seal_archive(path: Path, *, tell: Tell) -> "Seal":
    """`tell` is told of the pages that are read on the way. Raises InputError as `tools.archive.seal`."""
    from toolablate.tools.archive import open_archive, seal
    from toolablate.tools.recorded import has_all_texts

    with open_archive(path) as archive:
        whole = archive.sealed or has_all_texts(archive)
    if not whole:
        with open_archive(path, write=True) as archive:
            asyncio.run(_complete(archive, tell))
    return seal(path)


async def _complete(archive: "Archive", tell: Tell) -> None:
    from toolablate.tools.extraction import ExtractionWorker
    from toolablate.tools.recorded import complete_texts
    from toolablate.tools.web import WebPolicy

    extractor = ExtractionWorker()
    try:
        await complete_texts(archive, extractor, limit=WebPolicy().decoded_bytes, tell=tell)
    finally:
        await extractor.close()
