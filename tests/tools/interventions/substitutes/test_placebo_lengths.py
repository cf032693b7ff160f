"""Placebos are about as long as the real result: what a model's context is filled with is no content."""

from collections.abc import Iterable

import pytest
from tests.tools.browser.conftest import Shelf
from tests.tools.conftest import Caller
from tests.tools.interventions.substitutes.conftest import Standing, Written

from toolablate.tools import Resources, ToolResult, open_toolset
from toolablate.tools.guards.guard import NoGuard
from toolablate.tools.interventions.substitutes.fitting import CLOSE, Substitute, code_substitute, own_substitute
from toolablate.tools.interventions.substitutes.withheld import Withheld
from toolablate.tools.placebo_sources import PlaceboSource, PlaceboSources
from toolablate.tools.tool import PrintedOutput
from toolablate.traces.records import ChoiceTarget, InterventionUse, Question, ToolUse

TARGET = ChoiceTarget(letters=("A",))
QUESTION = Question(id="q", prompt="Which town?", choices=("New Ulm", "Gera"), target=TARGET)
OTHERS = tuple(Question(id=f"o{number}", prompt=f"other {number}", target=TARGET) for number in range(4))
REAL = "https://real.example/"


def prose(word: str, chars: int) -> str:
    lines = (f"{word} number {number} is like every other one of its kind" for number in range(chars))
    text = ""
    for line in lines:
        if len(text) + len(line) >= chars:
            return text
        text += line + "\n"
    return text


def shelves(real: int, others: Iterable[int]) -> tuple[Resources, PlaceboSources]:
    """A real page of so many characters, and one page for each other question."""
    shelf, found = Shelf(), {"": [(REAL, "Real")]}
    shelf.put(REAL, prose("secret", real), title="Real")
    for number, chars in enumerate(others):
        url = f"https://candidate.example/{number}"
        shelf.put(url, prose("bread", chars), title=f"Baking {number}")
        found[f"other {number}"] = [(url, f"Baking {number}")]
    search = Written(found)
    return Resources(search=search, pages=shelf), PlaceboSources((QUESTION, *OTHERS), {}, search, shelf)


async def all_of(tools: object, call: Caller, first: ToolResult) -> tuple[list[str], int]:
    """The lines of a page, window by window, and how many there are said to be."""
    lines, result = first.output.split("\n")[2:], first
    while result.truncated:
        assert result.output.split("\n")[0] == first.output.split("\n")[0]
        result = await call(tools, "browser_open", page_id=first.output[1:9], line=len(lines))
        lines += result.output.split("\n")[2:]
    return lines, int(first.output.split("\n")[1].rpartition(" ")[2])


@pytest.mark.parametrize("real", [700, 9_000, 33_000])
async def test_a_page_is_joined_of_several_or_cut_until_it_is_as_long_as_the_real_one(
    real: int, standing: Standing, call: Caller
) -> None:
    resources, sources = shelves(real, (2_000, 12_000, 4_000, 20_000))
    async with standing("placebo", "search", resources, QUESTION, placebo_sources=sources) as tools:
        opened = await call(tools, "browser_open", url=REAL)
        lines, said = await all_of(tools, call, opened)
    assert len(lines) == said
    assert [line.partition(":")[0] for line in lines] == [f"L{number}" for number in range(said)]
    text = "\n".join(line.partition(": ")[2] for line in lines)
    assert real / CLOSE <= len(text) <= real * CLOSE
    assert "secret" not in text
    assert opened.output.split("\n")[0].endswith(f"({REAL})")
    # Of 33,000 characters no page is long enough alone.
    assert (len(opened.changes[0].detail.split(", ")) > 1) == (real == 33_000)
    assert ("Baking" in text) == (real == 33_000)


@pytest.mark.parametrize(("real", "other"), [(6_000, 1_800), (900, 6_000), (5_000, 5_200)])
async def test_a_page_that_a_placebo_leads_to_is_as_long_as_the_one_in_whose_place_it_is_listed(
    real: int, other: int, standing: Standing, call: Caller
) -> None:
    resources, sources = shelves(real, (other,) * 4)
    async with standing("placebo", "search", resources, QUESTION, placebo_sources=sources) as tools:
        listed = await call(tools, "web_search", query="x")
        url = listed.output.split("\n")[2].strip()
        opened = await call(tools, "browser_open", url=url)
        lines, said = await all_of(tools, call, opened)
    assert url.startswith("https://candidate.example/")
    assert opened.output.split("\n")[0].endswith(f"({url})")
    assert len(lines) == said
    assert real / CLOSE <= sum(len(line.partition(": ")[2]) + 1 for line in lines) <= real * CLOSE
    assert opened.changes[0].detail.startswith("unchanged") == (other == 5_200)
    assert "secret" not in opened.output


@pytest.mark.parametrize("chars", [900, 6_000, 15_000])
def test_code_output_and_results_of_ones_own_tools_are_joined_until_they_are_as_long(chars: int) -> None:
    withheld, real = Withheld(QUESTION), prose("secret", chars)
    kept = [PlaceboSource("d", prose("rain", 300)), PlaceboSource("e", prose("snow", 500))]
    sources = PlaceboSources((QUESTION,), {"weather": kept}).under(QUESTION, NoGuard())
    printed = code_substitute(ToolResult(real), PrintedOutput(real), "python", "s", sources, withheld)
    own = own_substitute(ToolResult(real), "weather", "s", sources, withheld)
    for substitute in (printed, own):
        assert substitute is not None
        assert chars / CLOSE <= len(substitute.output) <= chars * CLOSE
        assert "secret" not in substitute.output


async def test_a_list_is_put_together_of_several_questions_where_each_finds_too_little(
    standing: Standing, call: Caller
) -> None:
    real = [(f"https://real.example/{number}", f"Real {number} {'x' * 200}") for number in range(5)]
    found = {f"other {n}": [(f"https://o.example/{n}", f"Other {n} {'y' * 210}")] for n in range(4)}
    search = Written({"": real, **found})
    sources = PlaceboSources((QUESTION, *OTHERS), {}, search, Shelf())
    async with standing(
        "placebo", "search", Resources(search=search, pages=Shelf()), QUESTION, placebo_sources=sources
    ) as tools:
        listed = await call(tools, "web_search", query="x", max_results=5)
    assert listed.original is not None
    assert len(listed.original.output) / CLOSE <= len(listed.output)
    assert [line[:8] for line in listed.output.split("\n")[1::3]] == [f"{rank}. Other" for rank in range(1, 5)]


async def test_placebos_may_be_short_whatever_the_real_result_has(call: Caller) -> None:
    resources, sources = shelves(20_000, (9_000,) * 4)
    uses = [InterventionUse(name="placebo", options={"chars": 300})]
    async with open_toolset(
        [ToolUse(name="search")], resources, interventions=uses, question=QUESTION, seed="s", placebo_sources=sources
    ) as tools:
        listed = await call(tools, "web_search", query="x")
        url = listed.output.split("\n")[2].strip()
        opened = [await call(tools, "browser_open", url=each) for each in (REAL, url)]
    assert len(listed.output) <= 300
    for each in opened:
        assert not each.truncated
        lines = each.output.split("\n")[2:]
        assert each.output.split("\n")[1] == f"lines 0-{len(lines) - 1} of {len(lines)}"
        assert sum(map(len, lines)) <= 2 * 300
    sources_of_own = PlaceboSources((QUESTION,), {"weather": [PlaceboSource("d", prose("rain", 3_000))]})
    for tool, make in (("python", code), ("weather", own)):
        substitute = make(prose("secret", 9_000), tool, sources_of_own)
        assert substitute is not None
        assert 100 <= len(substitute.output) <= 2 * 300


def code(real: str, tool: str, sources: PlaceboSources) -> Substitute | None:
    withheld, under = Withheld(QUESTION), sources.under(QUESTION, NoGuard())
    return code_substitute(ToolResult(real), PrintedOutput(real), tool, "s", under, withheld, 300)


def own(real: str, tool: str, sources: PlaceboSources) -> Substitute | None:
    return own_substitute(ToolResult(real), tool, "s", sources.under(QUESTION, NoGuard()), Withheld(QUESTION), 300)
