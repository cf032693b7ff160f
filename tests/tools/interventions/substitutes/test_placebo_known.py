"""What is really found in a trial, or kept back, is in no substitute, wherever else it comes from."""

import pytest
from tests.tools.browser.conftest import Shelf
from tests.tools.conftest import Caller
from tests.tools.interventions.substitutes.conftest import Noticing, Standing, Written

from toolablate.tools import Resources
from toolablate.tools.placebo_sources import PlaceboSource, PlaceboSources
from toolablate.traces.records import ChoiceTarget, Question

QUESTION = Question(id="q", prompt="Which town?", choices=("New Ulm", "Gera"), target=ChoiceTarget(letters=("A",)))
OTHER = Question(id="o", prompt="other", target=ChoiceTarget(letters=("A",)))
REAL, BREAD, SALT = (f"https://{name}.example/" for name in ("real", "bread", "salt"))


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    shelf.put(REAL, "zanzibar", title="Zanzibar")
    shelf.put(BREAD, "bread, and a link to salt", ("salt", SALT), title="Bread")
    shelf.put(SALT, "salt of the sea", title="Salt")
    return shelf


async def test_a_page_that_a_substitute_named_and_a_search_really_found_later_is_another(
    shelf: Shelf, standing: Standing, call: Caller
) -> None:
    search = Written(
        {"first": [(REAL, "Zanzibar")], "second": [(BREAD, "Bread")], "other": [(BREAD, "Bread"), (SALT, "Salt")]}
    )
    sources = PlaceboSources((QUESTION, OTHER), {}, search, shelf)
    resources = Resources(search=search, pages=shelf)
    for queries, passes in ((["first"], True), (["first", "second"], False)):
        async with standing("placebo", "search", resources, QUESTION, placebo_sources=sources) as tools:
            shown = [await call(tools, "web_search", query=query) for query in queries]
            opened = await call(tools, "browser_open", url=BREAD)
        assert BREAD in shown[0].output
        assert ("Bread" in opened.output) == passes
        assert opened.changes[0].detail.startswith("unchanged" if passes else "o")


async def test_a_link_to_what_was_really_found_leads_to_another_page(
    shelf: Shelf, standing: Standing, call: Caller
) -> None:
    search = Written(
        {"first": [(REAL, "Zanzibar")], "second": [(SALT, "Salt")], "other": [(BREAD, "Bread"), (REAL, "x")]}
    )
    shelf.put("https://stone.example/", "stone of the hill", title="Stone")
    kept = "[0123abcd] Stone (https://stone.example/)\nlines 0-0 of 1\nL0: stone of the hill"
    sources = PlaceboSources((QUESTION, OTHER), {"browser_open": [PlaceboSource("k", kept, prompt="p")]}, search, shelf)
    for queries, title in ((["first"], "Salt"), (["first", "second"], "Stone")):
        async with standing(
            "placebo", "search", Resources(search=search, pages=shelf), QUESTION, placebo_sources=sources
        ) as tools:
            for query in queries:
                await call(tools, "web_search", query=query)
            opened = await call(tools, "browser_open", url=BREAD)
            linked = await call(tools, "browser_open", page_id=opened.output[1:9], link=0)
        assert opened.output.split("\n")[0] == f"[{opened.output[1:9]}] Bread ({BREAD})"
        address = SALT if title == "Salt" else "https://stone.example/"
        assert linked.output.split("\n")[0] == f"[{linked.output[1:9]}] {title} ({address})"


async def test_no_page_that_was_really_found_stands_in_for_another(
    shelf: Shelf, standing: Standing, call: Caller
) -> None:
    search = Written({"first": [(BREAD, "Bread")], "other": [(BREAD, "Bread"), (SALT, "Salt")]})
    sources = PlaceboSources((QUESTION, OTHER), {}, search, shelf)
    for queries, title in (([], "Bread"), (["first"], "Salt")):
        async with standing(
            "placebo", "search", Resources(search=search, pages=shelf), QUESTION, placebo_sources=sources
        ) as tools:
            for query in queries:
                await call(tools, "web_search", query=query)
            opened = await call(tools, "browser_open", url=REAL)
        assert f"] {title} ({REAL})" in opened.output


async def test_results_of_an_earlier_run_are_looked_at_as_those_of_this_one(
    shelf: Shelf, standing: Standing, call: Caller
) -> None:
    pages = [
        f"[0123abcd] Zanzibar ({REAL})\nlines 0-0 of 1\nL0: zanzibar",
        f"[0123abcd] Kept back ({SALT})\nlines 0-0 of 1\nL0: blocked",
        f"[0123abcd] Bread ({BREAD})\nlines 0-0 of 1\nL0: bread",
    ]
    lists = [
        f"Results for 'x':\n1. Zanzibar\n    {REAL}\n    zanzibar",
        f"Results for 'x':\n1. Kept back\n    {SALT}\n    blocked",
        f"Results for 'x':\n1. 面包\n    {SALT}\n    面包与盐，以及其他许多东西",
        f"Results for 'x':\n1. Bread\n    {BREAD}\n    bread",
    ]
    kept = {
        "browser_open": [PlaceboSource(f"p{place}", page, prompt="p") for place, page in enumerate(pages)],
        "web_search": [PlaceboSource(f"l{place}", listed, prompt="p") for place, listed in enumerate(lists)],
    }
    resources = Resources(search=Written({"": [(REAL, "Zanzibar")]}), pages=shelf)
    sources = PlaceboSources((QUESTION,), kept, None, shelf)
    for seed in "abcdef":
        tools = standing("placebo", "search", resources, QUESTION, placebo_sources=sources, seed=seed, guard=Noticing())
        async with tools:
            listed = await call(tools, "web_search", query="y")
            opened = await call(tools, "browser_open", url=REAL)
        assert (listed.changes[0].detail, opened.changes[0].detail) == ("l3", "p2")
