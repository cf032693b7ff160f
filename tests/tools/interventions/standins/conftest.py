"""Stand-ins over the built-in questions and their corpus, and over real kernels."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from toolablate.benchmarks import BUILTIN_CORPUS, builtin_questions
from toolablate.sandbox import Limits, Sandbox, open_sandbox
from toolablate.tools import CorpusPages, CorpusSearch, LiveSearch, Resources, Toolset, open_corpus, open_toolset
from toolablate.tools.donors import Donors
from toolablate.traces.records import InterventionUse, Question, ToolUse

Standing = Callable[..., AbstractAsyncContextManager[Toolset]]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Resources]:
    """Searches and pages of the built-in corpus."""
    corpus = open_corpus(BUILTIN_CORPUS, cache=tmp_path_factory.mktemp("cache"))
    yield Resources(search=LiveSearch(CorpusSearch(corpus)), pages=CorpusPages(corpus))
    corpus.close()


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    limits = Limits(cell_seconds=1.5, grace_seconds=1.0)
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
        name: str, tool: str, resources: Resources, question: Question, *, donors: Donors | None = None, seed: str = "s"
    ) -> Toolset:
        if donors is None:
            donors = Donors(builtin_questions(), {}, resources.search, resources.pages)
        uses, interventions = [ToolUse(name=tool)], [InterventionUse(name=name)]
        return open_toolset(uses, resources, interventions=interventions, question=question, seed=seed, donors=donors)

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
