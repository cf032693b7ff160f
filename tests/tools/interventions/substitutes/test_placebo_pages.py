"""A page that stands in answers for itself, whatever is asked of it: nothing of the real one is to be learnt."""

import asyncio
import json

import pytest
from tests.tools.browser.conftest import Shelf
from tests.tools.conftest import Caller
from tests.tools.interventions.substitutes.conftest import Noticing, Standing, Written

from toolablate.tools import Resources, ToolResult
from toolablate.tools.placebo_sources import PlaceboSources
from toolablate.traces.errors import ToolError
from toolablate.traces.records import ChoiceTarget, Question, ToolRequest

QUESTION = Question(id="q", prompt="Which town?", choices=("New Ulm", "Gera"), target=ChoiceTarget(letters=("A",)))
OTHERS = tuple(
    Question(id=f"o{number}", prompt=f"other {number}", target=ChoiceTarget(letters=("A",))) for number in range(3)
)
REAL = "https://real.example/"
MOVED = "https://moved.example/"
SECRET = "zanzibar"


def candidate(number: int) -> str:
    return f"https://candidate.example/{number}"


@pytest.fixture
def shelf() -> Shelf:
    """One real page of four lines with a link, which another address leads to, and pages of other questions."""
    shelf = Shelf()
    shelf.put(REAL, f"{SECRET} one\n{SECRET} two\n{SECRET} link\n{SECRET} end", (f"{SECRET} link", MOVED), title=SECRET)
    shelf.pages["https://old.example/"] = shelf.pages[REAL]
    shelf.put(MOVED, f"{SECRET} moved to Gera", title=f"{SECRET} moved")
    for number in range(3):
        shelf.put(candidate(number), f"bread {number}\nbutter {number}\nin all the towns", title=f"Baking {number}")
    return shelf


@pytest.fixture
def resources(shelf: Shelf) -> Resources:
    found = {f"other {number}": [(candidate(number), f"Baking {number}")] for number in range(3)}
    return Resources(search=Written({"": [(REAL, SECRET)], **found}), pages=shelf)


@pytest.fixture
def sources(resources: Resources) -> PlaceboSources:
    return PlaceboSources((QUESTION, *OTHERS), {}, resources.search, resources.pages)


def secret(*results: ToolResult) -> bool:
    return any(SECRET in f"{result.output} {result.changes}" for result in results)


async def test_nothing_of_a_page_is_shown_by_what_is_wrong_with_a_call(
    resources: Resources, sources: PlaceboSources, standing: Standing, call: Caller
) -> None:
    async with standing("placebo", "search", resources, QUESTION, placebo_sources=sources) as tools:
        beyond = await call(tools, "browser_open", url=REAL, line=999)
        page_id = beyond.output.partition("[")[2][:8]
        anything = await call(tools, "browser_find", page_id=page_id, pattern="e")
        last_real = await call(tools, "browser_open", page_id=page_id, line=3)
        link = await call(tools, "browser_open", page_id=page_id, link=0)
        no_link = await call(tools, "browser_open", page_id=page_id, link=9)
        found = await call(tools, "browser_find", page_id=page_id, pattern=SECRET)
        bad = await call(tools, "browser_find", page_id=page_id, pattern="(", regex=True)
        shown = await call(tools, "browser_open", page_id=page_id)
    assert beyond.output.startswith("Error: there is no line 999; [")
    assert beyond.output.endswith(f"] {shown.output.partition('] ')[2].partition(chr(10))[0]} has lines 0-2.")
    assert (last_real.status, last_real.error) == ("error", "no_such_line")
    assert link.output == f"Error: there is no link 0; page {page_id} has no links."
    assert no_link.output == f"Error: there is no link 9; page {page_id} has no links."
    assert (link.status, link.error, link.truncated) == ("error", "no_such_link", False)
    assert found.output.startswith(f"No match for '{SECRET}' in [{page_id}] Baking")
    assert not secret(beyond, anything, last_real, link, no_link, bad, shown)
    assert [line.partition(": ")[2][:5] for line in shown.output.split("\n")[2:]] == ["bread", "butte", "in al"]
    assert all(result.changes[0].detail == beyond.changes[0].detail for result in (anything, link, found, shown))
    assert bad.original is not None
    assert bad.error == "bad_pattern"


async def test_where_a_page_has_moved_to_is_not_told(
    shelf: Shelf, resources: Resources, sources: PlaceboSources, standing: Standing, call: Caller
) -> None:
    async with standing("placebo", "search", resources, QUESTION, placebo_sources=sources) as tools:
        moved = await call(tools, "browser_open", url="https://old.example/")
        gone = await call(tools, "browser_open", url="https://gone.example/")
    assert moved.output.split("\n")[0].endswith("(https://old.example/)")
    assert gone.output == "Error: https://gone.example/ is not here."

    class Redirecting(Shelf):
        async def read(self, url: str):  # type: ignore[no-untyped-def]
            return await super().read(f"https://{SECRET}.example/" if "gone" in url else url)

    elsewhere = Redirecting(shelf.pages)
    async with standing("placebo", "search", Resources(search=resources.search, pages=elsewhere), QUESTION) as tools:
        gone = await call(tools, "browser_open", url="https://gone.example/")
    assert (gone.output, gone.error) == ("Error: this is not to be had.", "not_in_archive")
    assert gone.changes[0].detail == "words of the call left out"


@pytest.mark.parametrize("delays", [(0, 0.2), (0.2, 0)])
async def test_calls_made_at_once_are_shown_one_page_whoever_is_first(
    shelf: Shelf, standing: Standing, delays: tuple[float, float]
) -> None:
    found = {f"other {number}": [(candidate(number), f"Baking {number}")] for number in range(3)}
    resources = Resources(search=Written(found, delays=delays), pages=shelf)
    sources = PlaceboSources((QUESTION, *OTHERS), {}, resources.search, shelf)
    asked = [{"url": REAL, "line": line} for line in (0, 1)]
    async with standing("placebo", "search", resources, QUESTION, placebo_sources=sources) as tools:
        first, second = await asyncio.gather(*(tools.call(opening(each)) for each in asked))
    async with standing("placebo", "search", resources, QUESTION, placebo_sources=sources) as tools:
        (alone,) = [await tools.call(opening(asked[1]))]
    assert first.changes == second.changes == alone.changes
    assert first.output.split("\n")[0] == second.output.split("\n")[0] == alone.output.split("\n")[0]


def opening(arguments: dict[str, object]) -> ToolRequest:
    return ToolRequest(id="1", name="browser_open", arguments=json.dumps(arguments))


async def test_pages_that_were_really_found_are_never_shown_though_a_substitute_names_them(
    shelf: Shelf, standing: Standing, call: Caller
) -> None:
    found = {"": [(REAL, "a"), (candidate(0), "b")], "first": [(candidate(1), "Baking 1")]}
    search = Written(found | {f"other {n}": [(REAL, "a"), (candidate(n), f"Baking {n}")] for n in range(3)})
    resources = Resources(search=search, pages=shelf)
    sources = PlaceboSources((QUESTION, *OTHERS), {}, search, shelf)
    async with standing("placebo", "search", resources, QUESTION, placebo_sources=sources) as tools:
        listed = [await call(tools, "web_search", query=query) for query in ("x", "first", "y")]
        opened = await call(tools, "browser_open", url=REAL)
    assert all(REAL not in result.output and candidate(0) not in result.output for result in listed)
    # Found by the first search: not shown by the second either, whose own results do not have it.
    assert candidate(1) not in listed[2].output
    assert not secret(*listed, opened)


async def test_what_a_page_links_to_passes_with_it_but_for_what_is_withheld(
    shelf: Shelf, resources: Resources, sources: PlaceboSources, standing: Standing, call: Caller
) -> None:
    kept = "https://kept.example/"
    for number in range(3):
        text = f"some bread {number} here\nand more"
        shelf.put(candidate(number), text, ("bread", kept), title=f"Baking in Gera {number}")
    shelf.put(kept, "The mayor of Gera\nwas here", title="The gera page")
    async with standing("placebo", "search", resources, QUESTION, placebo_sources=sources, guard=Noticing()) as tools:
        listed = await call(tools, "web_search", query="x")
        url = listed.output.split("\n")[2].strip()
        opened = await call(tools, "browser_open", url=url)
        linked = await call(tools, "browser_open", page_id=opened.output[1:9], link=0)
        nothing = await call(tools, "browser_find", page_id=linked.output[1:9], pattern="gera")
        page_id = linked.output[1:9]
    assert url.startswith("https://candidate.example/")
    assert opened.output.split("\n")[0] == f"[{opened.output[1:9]}] (no title) ({url})"
    assert opened.changes[0].detail == "unchanged: a page under another question already, but for what is withheld"
    assert linked.output == f"[{page_id}] (no title) ({kept})\nlines 0-1 of 2\nL1: was here"
    assert nothing.output == f"No match for 'gera' in [{page_id}] (no title) ({kept})."


async def test_a_guard_looks_at_substitutes_as_at_what_is_real(shelf: Shelf, standing: Standing, call: Caller) -> None:
    found = {
        "": [(REAL, "noticed")],
        "other 0": [
            ("https://blocked.example/", "x"),
            (candidate(0), "a noticed title"),
            (candidate(1), "blocked too"),
        ],
    }
    shelf.put(candidate(0), "a noticed text", title="Baking")
    resources = Resources(search=Written(found), pages=shelf)
    sources = PlaceboSources((QUESTION, OTHERS[0]), {}, resources.search, shelf)
    async with standing("placebo", "search", resources, QUESTION, placebo_sources=sources, guard=Noticing()) as tools:
        listed = await call(tools, "web_search", query="x")
        foreign = await call(tools, "browser_open", url=candidate(0))
        substituted = await call(tools, "browser_open", url=MOVED)
    assert listed.output.split("\n")[1:] == [
        "1. a noticed title",
        f"    {candidate(0)}",
        "    More of a noticed title.",
    ]
    assert [marker.where for marker in listed.markers] == [candidate(0)]
    assert all(result.lookup is not None for result in (listed, foreign, substituted))
    assert [marker.where for marker in foreign.markers] == [candidate(0)]
    assert [marker.where for marker in substituted.markers] == [candidate(0)]


async def test_a_page_never_stands_in_for_itself_nor_with_what_is_withheld_in_its_title(
    shelf: Shelf, standing: Standing, call: Caller
) -> None:
    shelf.put(candidate(0), "bread", title="The bread of NEW-ULM")
    found = {"other 0": [(REAL, "x")], "other 1": [(REAL, "x")], "other 2": [(candidate(0), "y")]}
    resources = Resources(search=Written(found), pages=shelf)
    sources = PlaceboSources((QUESTION, *OTHERS), {}, resources.search, shelf)
    async with standing("placebo", "search", resources, QUESTION, placebo_sources=sources) as tools:
        opened = await call(tools, "browser_open", url=REAL)
        found_in = await call(tools, "browser_find", page_id=opened.output[1:9], pattern="new ulm")
    assert opened.output.split("\n")[2:] == ["L0: bread"]
    assert opened.output.split("\n")[0] == f"[{opened.output[1:9]}] (no title) ({REAL})"
    assert found_in.output == f"No match for 'new ulm' in [{opened.output[1:9]}] (no title) ({REAL})."


async def test_a_placebo_source_search_that_fails_is_a_failure(shelf: Shelf, standing: Standing, call: Caller) -> None:
    search = Written({})
    search.status = "rate_limited"
    sources = PlaceboSources((QUESTION, *OTHERS), {}, search, shelf)
    async with standing(
        "placebo", "search", Resources(search=search, pages=shelf), QUESTION, placebo_sources=sources
    ) as tools:
        with pytest.raises(ToolError) as failed:
            await call(tools, "browser_open", url=REAL)
    assert (failed.value.code, failed.value.retryable) == ("rate_limited", True)
    assert SECRET not in str(failed.value)


async def test_words_of_every_day_are_withheld_in_content_and_never_in_the_tools_own_words(
    shelf: Shelf, resources: Resources, standing: Standing, call: Caller
) -> None:
    question = QUESTION.model_copy(update={"choices": ("Yes", "No")})
    shelf.put(candidate(0), "no bread\nbutter\nYes", title="No bread")
    sources = PlaceboSources((question, OTHERS[0]), {}, resources.search, shelf)
    async with standing(
        "placebo", "search", Resources(search=Written({}), pages=shelf), question, placebo_sources=sources
    ) as tools:
        nothing = await call(tools, "web_search", query="is it?")
        gone = await call(tools, "browser_open", url="https://none.example/")
        opened = await call(tools, "browser_open", url=REAL)
        no_match = await call(tools, "browser_find", page_id=opened.output[1:9], pattern="no")
    assert (nothing.output, nothing.changes) == ("No results for 'is it?'.", ())
    assert gone.output == "Error: https://none.example/ is not here."
    assert opened.output.split("\n")[1:] == ["lines 0-0 of 1", "L0: butter"]
    assert no_match.output == f"No match for 'no' in [{opened.output[1:9]}] (no title) ({REAL})."
