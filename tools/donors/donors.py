"""Where results under other questions come from: a store of an earlier run, and the web that this run stands on."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from toolablate.tools.browser.page import Page, PageSource, PageUnreadableError
from toolablate.tools.donors.ranking import ranked
from toolablate.tools.guards.guard import Guard
from toolablate.tools.guards.normal import normal_text
from toolablate.tools.search.lookup import RESULTS_ASKED_FOR, SearchSource, normal_query
from toolablate.tools.search.provider import SearchQuery
from toolablate.tools.search.tool import search_tool
from toolablate.traces.records import Question

MOST_ASKED = 8
"""How many other questions are looked up for one result at most."""

_QUERY_CHARS = 200
_PAGES_TRIED = 5


@dataclass(frozen=True, slots=True)
class Donor:
    """A result that was shown under another question, which `source` names; `error` is empty where it worked."""

    source: str
    output: str
    error: str = ""
    prompt: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class Donors:
    """For all trials of a run: its `questions`, results of an earlier run by tool, and what is asked of the web."""

    questions: Sequence[Question] = ()
    kept: Mapping[str, Sequence[Donor]] = field(default_factory=dict)
    search: SearchSource | None = None
    pages: PageSource | None = None

    def under(self, question: Question, guard: Guard) -> "TrialDonors":
        """For a trial of one question, which gives none to itself, nor what shares its prompt or its cluster."""
        return TrialDonors(self, question, guard)


class TrialDonors:
    """For one trial. What is drawn depends on the `seed` of each call and on what there is to choose from; one more
    question changes few of the choices."""

    def __init__(self, donors: Donors, question: Question, guard: Guard) -> None:
        self._donors = donors
        self._question = question
        self._prompt = _normal(question.prompt)
        self._guard = guard

    def kept(self, tool: str) -> list[Donor]:
        """Results of the tool from an earlier run, in no order."""
        found = self._donors.kept.get(tool, ())
        return [donor for donor in found if self._is_other(donor.source, donor.prompt, donor.cluster)]

    def others(self, seed: str) -> list[Question]:
        """The other questions of the plan, in an order drawn by the seed."""
        others = (each for each in self._donors.questions if self._is_other(each.id, each.prompt, each.cluster))
        return ranked(others, seed, lambda question: question.id)

    async def results(self, seed: str, given: Mapping[str, JsonValue]) -> AsyncIterator[Donor]:
        """Searches for what other questions say, made as the call of the search tool with these arguments was. Raises
        ToolError where the search failed."""
        if self._donors.search is None:
            return
        tool = search_tool(self._donors.search, self._guard)
        wanted = given.get("max_results", given.get("topn"))
        # More than are shown, where a provider gives them anyhow: some may have to be left out.
        most = max(wanted, RESULTS_ASKED_FOR[0]) if isinstance(wanted, int) else RESULTS_ASKED_FOR[0]
        for other in self.others(seed)[:MOST_ASKED]:
            asked: dict[str, JsonValue] = {"query": query_of(other), "max_results": most}
            result = await tool.call(asked | {"before": given.get("before")})
            if result.status == "ok":
                yield Donor(other.id, result.output)

    async def pages(self, seed: str) -> AsyncIterator[tuple[str, Page]]:
        """For other questions, with their ids, the first page that can be read of those that a search finds. Raises
        ToolError where the search failed for want of a network."""
        if self._donors.search is None or self._donors.pages is None:
            return
        for other in self.others(seed)[:MOST_ASKED]:
            found = await self._donors.search.find(SearchQuery(query_of(other)))
            urls = [result.url for result in found.reply.results] if found.reply else []
            page = await self._first_readable(self._donors.pages, urls[:_PAGES_TRIED])
            if page is not None:
                yield other.id, page

    async def _first_readable(self, pages: PageSource, urls: Iterable[str]) -> Page | None:
        for url in urls:
            if self._guard.inspect(url, "").blocked:
                continue
            try:
                page = await pages.read(url)
            except PageUnreadableError:
                continue
            if not self._guard.inspect(page.url, page.text).blocked:
                return page
        return None

    def _is_other(self, id: str, prompt: str, cluster: str) -> bool:
        same_source = bool(cluster) and cluster == self._question.cluster
        return id != self._question.id and not same_source and _normal(prompt) != self._prompt


def query_of(question: Question) -> str:
    """The question's words, as many as a search takes well."""
    words = normal_query(question.prompt)
    return words if len(words) <= _QUERY_CHARS else words[:_QUERY_CHARS].rpartition(" ")[0] or words[:_QUERY_CHARS]


def _normal(prompt: str) -> str:
    return " ".join(normal_text(prompt).casefold().split())
