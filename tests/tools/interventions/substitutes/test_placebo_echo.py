"""What a model itself has written is no secret: a placebo repeats it where the tool does."""

from datetime import UTC, datetime

import pytest
from tests.tools.browser.conftest import Shelf
from tests.tools.conftest import Caller
from tests.tools.interventions.substitutes.conftest import Standing

from toolablate.tools import Resources, SearchOutcome, SearchQuery
from toolablate.tools.browser.page import Page
from toolablate.tools.placebo_sources import PlaceboSource, PlaceboSources
from toolablate.traces.records import ChoiceTarget, Lookup, Question, SearchReply

QUESTION = Question(id="q", prompt="Which town?", choices=("New Ulm", "Gera"), target=ChoiceTarget(letters=("A",)))
OTHER = "https://other.example/"
NAMED = "https://real.example/new-ulm"
MOVED = "https://real.example/moved"


class NoResult:
    """A search that finds nothing."""

    name = "empty"

    async def find(self, asked: SearchQuery) -> SearchOutcome:
        reply = SearchReply(query=asked.query, fetched_at=datetime.now(UTC), provider="x", status="empty")
        return SearchOutcome(reply, Lookup(kind="search", key="k"))


@pytest.fixture
def shelf() -> Shelf:
    """A page whose address holds a choice, and one that leads to it under another address."""
    shelf = Shelf()
    shelf.put(NAMED, "The town of New Ulm lies in Minnesota.", title="New Ulm")
    shelf.pages[MOVED] = shelf.pages[NAMED]
    return shelf


@pytest.fixture
def sources() -> PlaceboSources:
    bread = f"[0123abcd] Bread ({OTHER})\nlines 0-0 of 1\nL0: It has been baked for long."
    return PlaceboSources((QUESTION,), {"browser_open": [PlaceboSource("d", bread, prompt="p")]})


async def test_a_search_without_results_says_what_was_asked(
    shelf: Shelf, sources: PlaceboSources, standing: Standing, call: Caller
) -> None:
    resources = Resources(search=NoResult(), pages=shelf)
    async with standing("placebo", "search", resources, QUESTION, placebo_sources=sources) as tools:
        found = await call(tools, "web_search", query='the mayor  of New Ulm\'s "Gera" street')
    assert found.output == "No results for 'the mayor of New Ulm\\'s \"Gera\" street'."
    assert found.changes == ()


async def test_a_page_keeps_the_address_that_the_call_names_and_no_other(
    shelf: Shelf, sources: PlaceboSources, standing: Standing, call: Caller
) -> None:
    resources = Resources(search=NoResult(), pages=shelf)
    async with standing("placebo", "search", resources, QUESTION, placebo_sources=sources) as tools:
        opened = await call(tools, "browser_open", url=NAMED)
        inside = await call(tools, "browser_find", page_id=opened.output[1:9], pattern="New Ulm")
        baked = await call(tools, "browser_find", page_id=opened.output[1:9], pattern="gera|baked", regex=True)
    async with standing("placebo", "search", resources, QUESTION, placebo_sources=sources) as tools:
        moved = await call(tools, "browser_open", url=MOVED)
    page_id = opened.output[1:9]
    assert opened.output.split("\n")[0] == f"[{page_id}] Bread ({NAMED})"
    assert inside.output == f"No match for 'New Ulm' in [{page_id}] Bread ({NAMED})."
    assert baked.output.split("\n")[1:] == ["1 line with 'gera|baked'", "L0: It has been baked for long."]
    assert moved.output.split("\n")[0] == f"[{moved.output[1:9]}] Bread ({MOVED})"


class Elsewhere(Shelf):
    """Looks for each page at another address, and says so."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address

    async def read(self, url: str) -> Page:
        return await super().read(self._address)


@pytest.mark.parametrize(
    ("named", "read", "told"),
    [
        (NAMED, NAMED, True),
        (NAMED, f"{NAMED}/the-answer-is-gera", False),
        (NAMED, f"{NAMED}-gera", False),
        (NAMED, f"https://archive.example/{NAMED}", False),
        (f"{NAMED}?to=https://", MOVED, False),
        ("://", MOVED, False),
        ("https://", MOVED, False),
    ],
)
async def test_an_address_stays_only_where_the_call_names_all_of_it(
    sources: PlaceboSources, standing: Standing, call: Caller, named: str, read: str, told: bool
) -> None:
    resources = Resources(search=NoResult(), pages=Elsewhere(read))
    async with standing("placebo", "search", resources, QUESTION, placebo_sources=sources) as tools:
        gone = await call(tools, "browser_open", url=named)
    assert gone.status == "error"
    assert gone.output == (f"Error: {read} is not here." if told else "Error: this is not to be had.")
    assert bool(gone.changes) is not told
