"""Placebos of searches, of the browser, and of tools of the user's own."""

import random
import re
from datetime import UTC, datetime

import pytest
from tests.tools.browser.conftest import Shelf
from tests.tools.conftest import Caller
from tests.tools.interventions.substitutes.conftest import Asked, Standing

from toolablate.benchmarks.builtin import builtin_questions
from toolablate.tools import Resources, SearchOutcome, SearchQuery, Toolset, tool
from toolablate.tools.guards.guard import NoGuard
from toolablate.tools.interventions import InterventionSetting, open_interventions
from toolablate.tools.interventions.substitutes.withheld import Withheld
from toolablate.tools.placebo_sources import PlaceboSource, PlaceboSources
from toolablate.traces.errors import ToolError
from toolablate.traces.records import ChoiceTarget, InterventionUse, Lookup, Question, SearchReply, SearchResult

QUESTIONS = builtin_questions()
SERIES = QUESTIONS[0]
URL = re.compile(r"^ {4}(https?://\S+)$", re.MULTILINE)


async def test_a_search_shows_what_another_question_finds(library: Resources, standing: Standing, call: Caller) -> None:
    asked = Asked(library.search)
    resources = Resources(search=asked, pages=library.pages)
    async with standing("placebo", "search", resources, SERIES) as tools:
        found = await call(tools, "web_search", query="does the sum of 1/(n ln n) diverge", max_results=4)
    assert found.original is not None
    assert found.output.split("\n")[0] == found.original.output.split("\n")[0]
    assert not set(URL.findall(found.output)) & set(URL.findall(found.original.output))
    assert 1 <= len(URL.findall(found.output)) <= 4
    assert 0.5 <= len(found.output) / len(found.original.output) <= 2
    (change,) = found.changes
    assert change.detail in {question.id for question in QUESTIONS[1:]}
    assert asked.queries[0] == "does the sum of 1/(n ln n) diverge"
    assert 2 <= len(asked.queries) <= 9
    assert found.lookup is not None


async def test_pages_that_a_placebo_leads_to_are_shown_as_they_are(
    library: Resources, standing: Standing, call: Caller
) -> None:
    async with standing("placebo", "search", library, SERIES) as tools:
        found = await call(tools, "web_search", query="integral test for series")
        url = URL.findall(found.output)[0]
        opened = await call(tools, "browser_open", url=url)
        again = await call(tools, "browser_open", page_id=opened.output[1:9])
        matched = await call(tools, "browser_find", page_id=opened.output[1:9], pattern="the")
    for result in (opened, again, matched):
        assert result.original is not None
        assert result.output == result.original.output
        assert result.changes[0].detail.startswith("unchanged")


async def test_a_page_of_the_models_own_choice_is_another_one_for_the_whole_trial(
    library: Resources, standing: Standing, call: Caller
) -> None:
    real = "https://library.example/american-call"
    async with standing("placebo", "search", library, SERIES) as tools:
        opened = await call(tools, "browser_open", url=real)
        again = await call(tools, "browser_open", page_id=opened.output[1:9], line=1)
        matched = await call(tools, "browser_find", page_id=opened.output[1:9], pattern="dividends")
        bad = await call(tools, "browser_find", page_id=opened.output[1:9], pattern="(", regex=True)
        gone = await call(tools, "browser_open", url="https://library.example/none")
    assert opened.original is not None
    assert opened.output.split("\n")[0].endswith(f"({real})")
    shown = opened.output.split("\n")[2:]
    assert not set(shown) & set(opened.original.output.split("\n"))
    assert "American" not in opened.output
    assert again.output.split("\n")[2:] == shown[1:] or again.output.split("\n")[2:] == shown
    assert "dividends" not in "\n".join(matched.output.split("\n")[1:])
    assert "American" not in matched.output
    assert bad.status == "error"
    assert (gone.status, gone.error, gone.changes) == ("error", "not_in_corpus", ())


async def test_what_is_withheld_is_cut_from_pages_that_pass(standing: Standing, call: Caller) -> None:
    question = Question(id="q", prompt="Which town?", choices=("New Ulm", "Gera"), target=ChoiceTarget(letters=("A",)))
    shelf = Shelf()
    text = "A page on other things.\nThe mayor of New\nUlm came by.\nGERA won.\nNobody else did."
    shelf.put("https://a.example/", text, ("other things", "https://b.example/"), title="On New-Ulm")
    kept = "Results for 'x':\n1. A page\n    https://a.example/\n    Something quite different"
    sources = PlaceboSources((question,), {"web_search": [PlaceboSource("d", kept, prompt="p")]}, None, shelf)
    resources = Resources(search=OneResult(), pages=shelf)
    async with standing("placebo", "search", resources, question, placebo_sources=sources) as tools:
        found = await call(tools, "web_search", query="who is mayor of new  ulm?")
        opened = await call(tools, "browser_open", url="https://a.example/")
        linked = await call(tools, "browser_find", page_id=opened.output[1:9], pattern="new.ulm|nobody", regex=True)
    assert found.output.startswith("Results for 'who is mayor of new ulm?':\n1. A page")
    assert opened.output.split("\n")[0].endswith("] (no title) (https://a.example/)")
    assert [line.partition(": ")[2] for line in opened.output.split("\n")[2:]] == [
        "A page on 【0†other things†b.example】.",
        "Nobody else did.",
    ]
    assert linked.output.split("\n")[-1] == "L4: Nobody else did."
    for result, echoed in ((found, "new ulm"), (opened, ""), (linked, "new.ulm")):
        assert not Withheld(question).holds(re.sub(rf"L\d+|\d|{echoed}", "", result.output))


class OneResult:
    """A search that finds one page."""

    name = "fixed"

    async def find(self, asked: SearchQuery) -> SearchOutcome:
        url = "https://real.example/"
        result = SearchResult(rank=1, url=url, canonical_url=url, title="Real", snippet="It is so, as all agree")
        reply = SearchReply(
            query=asked.query, fetched_at=datetime.now(UTC), provider="x", status="ok", results=(result,)
        )
        return SearchOutcome(reply, Lookup(kind="search", key="k"))


async def test_searches_are_of_like_length_and_free_of_every_choice(
    library: Resources, standing: Standing, call: Caller
) -> None:
    rng = random.Random(2)
    ratios = []
    for question in rng.sample(QUESTIONS, 12):
        withheld = Withheld(question)
        async with standing("placebo", "search", library, question, seed=question.id) as tools:
            for max_results in (1, 3, 10):
                query = " ".join(question.prompt.split()[:9])
                found = await call(tools, "web_search", query=query, max_results=max_results)
                if found.original is None:
                    continue
                ratios.append(len(found.output) / len(found.original.output))
                for entry in found.output.split("\n", 1)[1].split("\n"):
                    assert not withheld.holds(re.sub(r"^\d+\. ", "", entry))
                url = URL.findall(found.output)[0]
                page = await call(tools, "browser_open", url=url)
                assert not withheld.holds(
                    "\n".join(re.sub(r"^L\d+: ", "", each) for each in page.output.split("\n")[2:])
                )
    assert len(ratios) >= 20
    assert sum(0.5 <= ratio <= 2 for ratio in ratios) >= 0.95 * len(ratios)


async def test_pages_of_an_earlier_run_stand_in_for_those_of_this_one(
    library: Resources, standing: Standing, call: Caller
) -> None:
    lines = ["A page on 【0†bread†b.example】 and butter.", "It has been baked for long.", "More is told elsewhere."]
    shown = "\n".join(f"L{number}: {line}" for number, line in enumerate(lines))
    candidate = PlaceboSource("d", f"[0123abcd] Bread (https://bread.example/)\nlines 0-2 of 3\n{shown}", prompt="p")
    sources = PlaceboSources((SERIES,), {"browser.open": [candidate]}, None, library.pages)
    real = "https://library.example/american-call"
    async with standing("placebo", "gpt-oss", library, SERIES, placebo_sources=sources) as tools:
        opened = await call(tools, "browser.open", id=real)
        part = await call(tools, "browser.open", cursor=opened.output[1:9], loc=1, num_lines=1)
        found = await call(tools, "browser.find", cursor=opened.output[1:9], pattern="baked")
    assert opened.output.split("\n") == [
        f"[{opened.output[1:9]}] Bread ({real})",
        "lines 0-2 of 3",
        "L0: A page on bread and butter.",
        "L1: It has been baked for long.",
        "L2: More is told elsewhere.",
    ]
    assert part.output.split("\n")[1:] == ["lines 1-1 of 3", "L1: It has been baked for long."]
    assert found.output.split("\n")[1:] == ["1 line with 'baked'", "L1: It has been baked for long."]
    assert [result.changes[0].detail for result in (opened, part, found)] == ["d", "d", "d"]


@tool
def weather(town: str) -> str:
    """Tell the weather of a town."""
    if town == "nowhere":
        raise ValueError("there is no such town")
    return f"It rains in {town}, as it always does at this time of the year."


def own_tools(question: Question, *kept: PlaceboSource) -> Toolset:
    sources = PlaceboSources((question,), {"weather": kept}).under(question, NoGuard())
    uses = [InterventionUse(name="placebo")]
    opened = weather.open(weather.options())
    return Toolset(
        (opened,), open_interventions(uses, InterventionSetting(question=question, seed="s", placebo_sources=sources))
    )


async def test_tools_of_ones_own_show_what_they_gave_before(call: Caller) -> None:
    sun = "The sun shines in Gera, where nobody has seen a cloud since April."
    kept = (PlaceboSource("d", sun, prompt="p"), PlaceboSource("e", "It snows in Ulm.", prompt="r"))
    async with own_tools(SERIES, *kept) as tools:
        shown = await call(tools, "weather", town="Hof")
        failed = await call(tools, "weather", town="nowhere")
    assert (shown.output, shown.changes[0].detail) == (sun, "d")
    assert (failed.status, failed.error) == ("error", "ValueError")
    assert failed.output == "Error: this is not to be had."


async def test_where_nothing_is_left_it_fails_and_never_shows_what_is_real(call: Caller) -> None:
    question = Question(id="q", prompt="Which?", choices=("Gera", "Ulm"), target=ChoiceTarget(letters=("A",)))
    async with own_tools(question, PlaceboSource("d", "Sunny in GERA", prompt="p")) as tools:
        with pytest.raises(ToolError) as refused:
            await call(tools, "weather", town="Hof")
    assert refused.value.code == "no_placebo_source"
    assert "[placebo] store" in refused.value.hint
    assert "rains" not in str(refused.value)
