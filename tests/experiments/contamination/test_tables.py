"""The page of a contamination test, at every width."""

from datetime import UTC, datetime

import pytest
from rich.cells import cell_len
from tests.traces.pages import SAFE, shown

from toolablate.experiments.contamination.overlap import (
    ContaminationResults,
    Continued,
    contamination_results,
    most_contaminated,
)
from toolablate.experiments.contamination.terminal_tables import contamination_view
from toolablate.traces.records import Continuation

EVIL = "\x1b]52;c;AAAA\x07\x1b[2J[red]x[/nonsense]\u202e\r\x00"
TEXT = "the length of one side is found from its area and that of the other two sides taken together as one"


def came(benchmark: str, number: int, tokens: int) -> Continuation:
    """Of which so many of the first tokens come back; others repeat a word that is in no rest."""
    rest = [*TEXT.split()[number % 5 :], str(number), benchmark]
    return Continuation(
        model="0" * 32,
        benchmark=benchmark,
        question=f"{benchmark}-{number}",
        given="Show that",
        rest=" ".join(rest),
        max_tokens=60,
        text=" ".join([*rest[:tokens], *["zzz"] * 99]),
        finish_reason="length",
        at=datetime(2026, 1, 2, tzinfo=UTC),
    )


def part(model: str, benchmark: str, count: int, contaminated: int) -> Continued:
    found = tuple(came(benchmark, number, 14 if number < contaminated else number % 4) for number in range(count))
    return Continued(model, benchmark, prompts=count + 3, too_short=2, continuations=found)


def sample(model: str = "org/base", *benchmarks: str) -> ContaminationResults:
    names = benchmarks or ("LPFQA", "MMLU-devset")
    return contamination_results([part(model, name, 45 - 10 * n, 5 + n) for n, name in enumerate(names)], 0.4)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_a_page_fits_and_loses_no_figure(width: int) -> None:
    found = sample()
    page = shown(contamination_view(found, questions=2), width)
    assert max(map(cell_len, page.splitlines())) <= width
    assert "…" not in page
    assert "Not shown" not in page
    for each in found.results:
        assert each.rouge_l is not None
        assert each.above_chance is not None
        assert f"{each.rouge_l.value:.1f}" in page
        assert f"{each.above_chance.value:.1f}".replace("-", "−") in page
    assert "5 of 45 (11.1 %)" in page
    assert "6 of 35 (17.1 %)" in page
    assert "*35" in page, "too few to rely on"
    assert "14 of 1" in page


def test_questions_are_listed_by_how_much_came_back() -> None:
    found = sample()
    listed = most_contaminated(found, 4)
    assert all(question.own.run == 14 for _, question in listed)
    assert [question.own.rouge_l for _, question in listed] == sorted(
        (question.own.rouge_l for each in found.results for question in each.of_questions), reverse=True
    )[:4]
    page = shown(contamination_view(found, questions=4), 100)
    assert all(question.question in page for _, question in listed)
    assert "Questions of which most came back" not in shown(contamination_view(found), 100)


@pytest.mark.deep
def test_models_stand_side_by_side_and_benchmarks_are_compared_under_each() -> None:
    parts = [part(model, name, 45, 5) for model in ("one", "two") for name in ("A", "B", "C")]
    found = contamination_results(parts, 0.4)
    compared = [(each.model, each.benchmark, each.other) for each in found.differences]
    assert compared == [(model, *pair) for model in ("one", "two") for pair in (("A", "B"), ("A", "C"), ("B", "C"))]
    assert all(each.rouge_l.value == 0 for each in found.differences), "they are contaminated alike"


def test_nothing_that_came_is_shown_as_nothing() -> None:
    page = shown(contamination_view(contamination_results([Continued("m", "B", 3, 1, ())], 0.4), questions=5), 100)
    assert "B" in page
    assert " 2 " in page
    assert "0.0" not in page


@pytest.mark.parametrize("width", [60, 140])
def test_hostile_names_are_inert(width: int) -> None:
    page = shown(contamination_view(sample(EVIL, f"a{EVIL}", f"b{EVIL}"), questions=3), width)
    assert SAFE.fullmatch(page)
    assert max(map(cell_len, page.splitlines())) <= width
