"""Where results under other questions come from, and for whom there are none."""

import pytest
from tests.tools.browser.conftest import Shelf
from tests.tools.interventions.substitutes.conftest import Noticing, Written

from toolablate.tools.guards.guard import NoGuard
from toolablate.tools.placebo_sources import PlaceboSource, PlaceboSources, entries_of, page_of
from toolablate.traces.errors import ToolError
from toolablate.traces.records import ChoiceTarget, Question


def question(id: str, prompt: str = "", cluster: str = "", language: str = "en") -> Question:
    target = ChoiceTarget(letters=("A",))
    return Question(id=id, prompt=prompt or f"prompt of {id}", cluster=cluster, language=language, target=target)


def test_questions_in_the_same_language_are_drawn_first() -> None:
    asked = question("q", language="zh")
    others = [question(f"o{number}", language="zh" if number % 3 == 0 else "en") for number in range(12)]
    sources = PlaceboSources((asked, *others)).under(asked, NoGuard())
    orders = [[each.language for each in sources.others(seed)] for seed in "abc"]
    assert orders == [["zh"] * 4 + ["en"] * 8] * 3
    assert len({tuple(each.id for each in sources.others(seed)) for seed in "abc"}) == 3


async def test_a_search_that_failed_is_no_search_that_found_nothing() -> None:
    asked, other = question("q"), question("o")
    search = Written({"prompt of o": []})
    sources = PlaceboSources((asked, other), {}, search).under(asked, NoGuard())
    assert [found async for found in sources.results("s")] == []
    search.status = "rate_limited"
    with pytest.raises(ToolError) as failed:
        [found async for found in sources.results("s")]
    assert failed.value.retryable


async def test_what_a_guard_keeps_back_gives_nothing() -> None:
    asked, other = question("q"), question("o")
    rows = [("https://blocked.example/", "x"), ("https://a.example/", "blocked"), ("https://b.example/", "fine")]
    sources = PlaceboSources((asked, other), {}, Written({"": rows})).under(asked, Noticing())
    (found,) = [found async for found in sources.results("s")]
    assert found.source == "o"
    assert [entry.url for entry in found.entries] == ["https://b.example/"]
    assert found.entries[0].text == "fine\n    https://b.example/\n    More of fine."


async def test_pages_are_taken_that_can_be_read_and_shown_the_first_of_each_question_before_the_next() -> None:
    asked, other, third = question("q"), question("o"), question("p")
    rows = [(f"https://{name}.example/", name) for name in ("taken", "gone", "hidden", "fine", "more")]
    shelf = Shelf()
    for (url, title), text in zip(rows, ("taken", None, "this is blocked", "fine", "more"), strict=True):
        if text:
            shelf.put(url, text, title=title)
    sources = PlaceboSources((asked, other, third), {}, Written({"": rows}), shelf).under(asked, Noticing())
    pages = [(source, page.url) async for source, page in sources.pages("s", {rows[0][0]})]
    assert {source for source, _ in pages[:2]} == {"o", "p"}
    assert [url for _, url in pages] == ["https://fine.example/"] * 2 + ["https://more.example/"] * 2
    assert rows[0][0] not in shelf.asked


@pytest.mark.parametrize(
    ("asked", "there_are", "alone"),
    [
        ([("q", "", "")], [("q", "", "")], "q"),
        ([("q", "", "c")], [("q", "", "c"), ("o", "", "c")], "q"),
        ([("q", "same", "")], [("q", "same", ""), ("o", "SAME", "")], "q"),
        ([("q", "same", "c")], [("q", "same", "c"), ("o", "same", "d"), ("p", "x", "c")], "q"),
        ([("q", "", "c"), ("r", "", "d")], [("q", "", "c"), ("r", "", "d")], None),
    ],
)
def test_who_has_no_other_question_is_found(
    asked: list[tuple[str, str, str]], there_are: list[tuple[str, str, str]], alone: str | None
) -> None:
    questions = tuple(question(*each) for each in there_are)
    sources = PlaceboSources(questions, {}, asked=tuple(question(*each) for each in asked))
    found = sources.without("web_search", from_questions=True)
    assert (found.id if found else None) == alone
    kept = {"look": [PlaceboSource("k", "x", prompt="of another"), PlaceboSource("q", "y")]}
    assert PlaceboSources(questions, kept, asked=sources.asked).without("look", from_questions=False) is None
    failed = {"look": [PlaceboSource("k", "x", "an error", prompt="of another")]}
    assert (
        PlaceboSources(questions, failed, asked=sources.asked).without("look", from_questions=False) == sources.asked[0]
    )


def test_results_of_a_trace_are_read_back() -> None:
    output = "Results for 'x':\n1. A page (2020-01-01)\n    https://a.example/\n    1. Some words\n2. B\n    https://b.example/"
    assert [(entry.text.split("\n")[0], entry.url) for entry in entries_of(output)] == [
        ("A page (2020-01-01)", "https://a.example/"),
        ("B", "https://b.example/"),
    ]
    assert entries_of("No results for 'x'.") == ()
    page = page_of(
        "[0123abcd] Bread (white) (https://b.example/)\nlines 0-1 of 2\nL0: A 【0†loaf†c.example】\nL1: is here"
    )
    assert page is not None
    assert (page.title, page.url, page.text) == ("Bread (white)", "https://b.example/", "A loaf\nis here\n")
    assert page_of("No match for 'x' in [0123abcd] Bread (https://b.example/).") is None
    assert page_of("[0123abcd] Bread (https://b.example/)\nlines 0-0 of 1") is None
