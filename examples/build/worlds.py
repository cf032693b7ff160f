"""The search of the ablation: one corpus or another behind a tool of one name. Conditions differ by it alone."""

from functools import lru_cache
from pathlib import Path

from toolablate.tools import CorpusSearch, SearchQuery, open_corpus, tool


@tool(nothing="Nothing was found.")
async def look_up(query: str, *, corpus: str) -> str:
    """Search the library; returns the two pages that fit best."""
    pages, search = _opened(corpus)
    reply = (await search.search(SearchQuery(query, 2))).reply
    found = [page for each in reply.results if (page := pages.at(each.url)) is not None]
    return "\n\n".join(f"{page.heading.title}\n{page.heading.url}\n{page.text}" for page in found)


@lru_cache
def _opened(corpus: str):
    pages = open_corpus(Path(__file__).parent / corpus)
    return pages, CorpusSearch(pages)
