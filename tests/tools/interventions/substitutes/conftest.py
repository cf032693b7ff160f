"""Substitutes over the built-in questions and their corpus, and over real kernels."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Any, Literal

import pytest
import pytest_asyncio

from toolablate.benchmarks.builtin import BUILTIN_CORPUS, builtin_questions
from toolablate.sandbox import Limits, Sandbox, open_sandbox
from toolablate.tools import (
    CorpusPages,
    CorpusSearch,
    Guard,
    LiveSearch,
    Resources,
    SearchOutcome,
    SearchQuery,
    Toolset,
    open_corpus,
    open_toolset,
)
from toolablate.tools.guards.guard import Inspection
from toolablate.tools.placebo_sources import PlaceboSources
from toolablate.traces.records import (
    InterventionUse,
    Lookup,
    Marker,
    Question,
    SearchReply,
    SearchResult,
    ToolUse,
)

Standing = Callable[..., AbstractAsyncContextManager[Toolset]]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Resources]:
    """Searches and pages of the built-in corpus."""
    corpus = open_corpus(BUILTIN_CORPUS, cache=tmp_path_factory.mktemp("cache"))
    yield Resources(search=LiveSearch(CorpusSearch(corpus)), pages=CorpusPages(corpus))
    corpus.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    """One for all tests of a module, since it takes seconds to start; each tool has a kernel of its own."""
    limits = Limits(cell_seconds=4.0, grace_seconds=2.0, start_seconds=100.0)
    opened = open_sandbox("forkserver", limits)
    if not (await opened.check()).works:
        await opened.close()
        opened = open_sandbox("none", limits)
    yield opened
    await opened.close()


@pytest.fixture
def standing() -> Standing:
    """Tools with one intervention, for one question."""

    def standing(
        name: str,
        tool: str,
        resources: Resources,
        question: Question,
        *,
        placebo_sources: PlaceboSources | None = None,
        seed: str = "s",
        guard: Guard | None = None,
    ) -> Toolset:
        if placebo_sources is None:
            placebo_sources = PlaceboSources(builtin_questions(), {}, resources.search, resources.pages)
        uses, interventions = [ToolUse(name=tool)], [InterventionUse(name=name)]
        return open_toolset(
            uses,
            resources,
            guard=guard,
            interventions=interventions,
            question=question,
            seed=seed,
            placebo_sources=placebo_sources,
        )

    return standing


class Counted:
    """A sandbox that counts the kernels that are asked of it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.started = 0

    async def start(self, *files: Any) -> Any:
        self.started += 1
        return await self._sandbox.start(*files)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)


class Asked:
    """A search that writes down what it is asked."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.queries: list[str] = []

    async def find(self, asked: Any) -> Any:
        self.queries.append(asked.query)
        return await self._source.find(asked)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


class Written:
    """A search whose results are written down by query; any other query finds those of "". It may wait, or fail."""

    name = "written"

    def __init__(self, results: dict[str, list[tuple[str, str]]], *, delays: Iterable[float] = ()) -> None:
        self._results = results
        self._delays = iter(delays)
        self.status: Literal["ok", "rate_limited"] = "ok"

    async def find(self, asked: SearchQuery) -> SearchOutcome:
        await asyncio.sleep(next(self._delays, 0))
        rows = self._results.get(asked.query, self._results.get("", []))
        results = tuple(
            SearchResult(rank=rank, url=url, canonical_url=url, title=title, snippet=f"More of {title}.")
            for rank, (url, title) in enumerate(rows, start=1)
        )
        reply = SearchReply(
            query=asked.query, fetched_at=datetime.now(UTC), provider="written", status=self.status, results=results
        )
        return SearchOutcome(reply, Lookup(kind="search", key=asked.query))


class Noticing:
    """A guard that notices a word, and keeps back texts with another."""

    def inspect(self, url: str, text: str) -> Inspection:
        found = (Marker(kind="answer_leak", where=url),) if "noticed" in f"{url} {text}" else ()
        return Inspection(found, blocked="blocked" in f"{url} {text}")
