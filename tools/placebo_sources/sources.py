"""Where results under other questions come from: a store of an earlier run, and the web that this run stands on."""

import re
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TypeVar

from toolablate.tools.browser.page import Page, PageSource, PageUnreadableError
from toolablate.tools.corpus import DOCUMENT_TOOLS, QuestionDocuments
from toolablate.tools.guards.guard import Guard, Inspection, NoGuard
from toolablate.tools.guards.passages import normal_text
from toolablate.tools.search.provider import RESULTS_ASKED_FOR, SearchSource, normal_query
from toolablate.tools.search.ranked_results import canonical_url
from toolablate.tools.search.tool import search_tool
from toolablate.tools.tool import Entry, Listed
from toolablate.traces.records import Question, digest_text

T = TypeVar("T")


def ranked(candidates: Iterable[T], seed: str, key: Callable[[T], str]) -> list[T]:
    """The candidates in an order drawn by the seed: that of the digests of their keys with it."""
    return sorted(candidates, key=lambda candidate: digest_text(f"{seed}\n{key(candidate)}"))


def same_words(text: str) -> str:
    """What texts have in common that differ in blanks, case and width alone."""
    return " ".join(normal_text(text).casefold().split())


MOST_ASKED = 8
"""How many other questions are looked up for one result at most."""

_QUERY_CHARS = 200
_PAGES_TRIED = 5


@dataclass(frozen=True, slots=True)
class PlaceboSource:
    """A result that was shown under another question, which `source` names; `error` is empty where it worked."""

    source: str
    output: str
    error: str = ""
    prompt: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class PlaceboResults:
    """What a search under another question found; `source` names that question."""

    source: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class PlaceboSources:
    """For all trials of a run: the `questions` that there are, results of an earlier run by tool, and what is asked of
    the web; `asked` are those of the questions that the run asks, `documents` where documents of questions are found.
    """

    questions: Sequence[Question] = ()
    kept: Mapping[str, Sequence[PlaceboSource]] = field(default_factory=dict)
    search: SearchSource | None = None
    pages: PageSource | None = None
    asked: Sequence[Question] = ()
    documents: QuestionDocuments | None = None

    def without(self, tool: str, *, from_questions: bool) -> Question | None:
        """A question that the run asks and for which nothing else gives a result of the tool: no earlier result that
        worked, and, where results are found for questions, no other question. None where there is no such question."""
        if tool in DOCUMENT_TOOLS:
            alone = (each for each in self.asked if not self.under(each, NoGuard()).of_documents().others(""))
            return next(alone, None)
        kept = {
            (each.source, same_words(each.prompt), each.cluster) for each in self.kept.get(tool, ()) if not each.error
        }
        if from_questions:
            kept.update((each.id, same_words(each.prompt), each.cluster) for each in self.questions)
        return next((each for each in self.asked if not any(is_other(each, *candidate) for candidate in kept)), None)

    def under(self, question: Question, guard: Guard) -> "TrialPlaceboSources":
        """For a trial of one question, which gives none to itself, nor what shares its prompt or its cluster."""
        return TrialPlaceboSources(self, question, guard)


class TrialPlaceboSources:
    """For one trial. What is drawn depends on the `seed` of each call and on what there is to choose from; one more
    question changes few of the choices."""

    def __init__(self, sources: PlaceboSources, question: Question, guard: Guard) -> None:
        self._sources = sources
        self._question = question
        self._guard = guard

    def of_documents(self) -> "TrialDocumentSources":
        """For tools that search the documents of a question."""
        return TrialDocumentSources(self._sources, self._question, self._guard)

    def kept(self, tool: str) -> list[PlaceboSource]:
        """Results of the tool from an earlier run, in no order."""
        found = self._sources.kept.get(tool, ())
        return [each for each in found if is_other(self._question, each.source, same_words(each.prompt), each.cluster)]

    def others(self, seed: str) -> list[Question]:
        """The other questions of the plan, in an order drawn by the seed: those in the language of this one first."""
        others = (
            each
            for each in self._sources.questions
            if is_other(self._question, each.id, same_words(each.prompt), each.cluster)
        )
        order = ranked(others, seed, lambda question: question.id)
        return sorted(order, key=lambda question: question.language != self._question.language)

    def inspect(self, where: str, text: str) -> Inspection:
        """What the guard of this question says of a text that is to be shown."""
        return self._guard.inspect(where, text)

    async def results(self, seed: str, most: int = 0, before: date | None = None) -> AsyncIterator[PlaceboResults]:
        """Searches for what other questions say, for `most` results from before a day, or for as many as a provider
        gives anyhow, since some may have to be left out. Raises ToolError where a search failed."""
        for other in self.others(seed)[:MOST_ASKED]:
            search = self._search_for(other)
            if search is None:
                return
            tool = search_tool(search, self._guard)
            result = await tool.call(
                {
                    "query": query_of(other),
                    "max_results": max(most, RESULTS_ASKED_FOR[0]),
                    "before": before.isoformat() if before else None,
                }
            )
            if isinstance(result.parsed, Listed) and result.parsed.entries:
                yield PlaceboResults(other.id, result.parsed.entries)

    async def pages(self, seed: str, taken: Collection[str] = ()) -> AsyncIterator[tuple[str, Page]]:
        """For other questions, with their ids, the first page that can be read of those that a search finds, apart from
        those at the canonical addresses that are `taken`; after these, the next ones of each. Raises ToolError where a
        search failed."""
        if self._pages is None:
            return
        left: list[tuple[str, list[str]]] = []
        async for found in self.results(seed):
            urls = [entry.url for entry in found.entries if canonical_url(entry.url) not in taken][:_PAGES_TRIED]
            page = await self._first_readable(self._pages, urls)
            if page is not None:
                yield found.source, page
                left.append((found.source, urls))
        while left:
            for source, urls in left:
                page = await self._first_readable(self._pages, urls)
                if page is not None:
                    yield source, page
            left = [each for each in left if each[1]]

    async def page(self, url: str) -> Page | None:
        """What is at an address; None where that cannot be read, or is kept back."""
        return None if self._pages is None else await self._first_readable(self._pages, [url])

    def _search_for(self, other: Question) -> SearchSource | None:
        return self._sources.search

    @property
    def _pages(self) -> PageSource | None:
        return self._sources.pages

    async def _first_readable(self, pages: PageSource, urls: list[str]) -> Page | None:
        """Takes the addresses that it tries off the list."""
        while urls:
            try:
                page = await pages.read(urls.pop(0))
            except PageUnreadableError:
                continue
            if not self.inspect(page.url, page.text).blocked:
                return page
        return None


class TrialDocumentSources(TrialPlaceboSources):
    """For tools that search the documents of a question: the documents of other questions, which share none with it.
    Results of an earlier run are of no use: which documents they are from is not recorded."""

    def kept(self, tool: str) -> list[PlaceboSource]:
        return []

    def others(self, seed: str) -> list[Question]:
        own = {document.text for document in self._question.documents}
        return [
            other
            for other in super().others(seed)
            if other.documents and own.isdisjoint(document.text for document in other.documents)
        ]

    def inspect(self, where: str, text: str) -> Inspection:
        return NoGuard().inspect(where, text)

    def _search_for(self, other: Question) -> SearchSource | None:
        return None if self._sources.documents is None else self._sources.documents.search(other.documents)

    @property
    def _pages(self) -> PageSource | None:
        # Of all questions: a model may open what a placebo has shown it.
        return None if self._sources.documents is None else self._sources.documents.pages()


def is_other(question: Question, id: str, words: str, cluster: str) -> bool:
    """Whether that is neither the question itself nor one with the same words or from the same source."""
    same_source = bool(cluster) and cluster == question.cluster
    return id != question.id and not same_source and words != same_words(question.prompt)


def query_of(question: Question) -> str:
    """The question's words, as many as a search takes well."""
    words = normal_query(question.prompt)
    return words if len(words) <= _QUERY_CHARS else words[:_QUERY_CHARS].rpartition(" ")[0] or words[:_QUERY_CHARS]


# Results of search and of the browser as a trace keeps them, which is as a model was shown them, read back.


_ENTRY = re.compile(r"^\d+\. (.*)\n    (.+)(?:\n    (.*))?$", re.MULTILINE)
_HEADING = re.compile(r"\[[0-9a-f]{8}\] (.*) \((.*)\)")
_NUMBERED = re.compile(r"L\d+: ?")
_MARK = re.compile(r"【\d+†([^†】]*)(?:†[^】]*)?】")


def entries_of(output: str) -> tuple[Entry, ...]:
    """The results of a list; none where it is no list."""
    return tuple(Entry(found[0].partition(". ")[2], found[2].strip()) for found in _ENTRY.finditer(output))


def page_of(output: str) -> Page | None:
    """The lines that were shown of a page as a page, without its links; None where none were."""
    first, _, rest = output.partition("\n")
    heading = _HEADING.fullmatch(first)
    _, *lines = rest.split("\n")
    if heading is None or not lines:
        return None
    return Page.of(
        heading[2], heading[1], "\n".join(_MARK.sub(r"\1", _NUMBERED.sub("", line, count=1)) for line in lines)
    )
