"""Every list and table at every width: nothing sticks out, nothing is lost without a word."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.traces.pages import SAFE, shown, summaries

from toolablate.analysis.comparison import compare
from toolablate.analysis.flips import flips
from toolablate.reports.numbers import dollars, ordinal, p_value
from toolablate.reports.terminal.comparison import comparison_table, flips_table
from toolablate.reports.terminal.problems import failures_view
from toolablate.reports.terminal.status import counts_table
from toolablate.reports.terminal.trace import trials_table
from toolablate.traces.store import FailureCount, TrialCounts
from toolablate.traces.store.summaries import TrialSummary
from toolablate.traces.terminal_text import shortened

WIDTHS = [40, 60, 80, 100, 140]
LONG = "retrieval-augmented-python"
EVIL = "\x1b]52;c;AAAA\x07\x1b[2J[red]x[/nonsense]\u202e\r\x00"


def listed(**changes: object) -> list[TrialSummary]:
    """Two models would share nothing; one does, and its questions are called as files call them."""
    return [
        replace(
            item,
            question=f"8f14e45f-ceea-467a-9575-{int(item.question[1:]):012d}",
            condition=LONG if item.condition == "python" else item.condition,
            trial=f"{number:010x}" + "0" * 22,
            **changes,
        )
        for number, item in enumerate(summaries())
    ]


def flat(page: str) -> str:
    """Without what folding puts between the parts of a word."""
    return re.sub(r"\s", "", page)


@pytest.mark.parametrize("width", [20, *WIDTHS])
@pytest.mark.parametrize("condition", ["python", LONG])
def test_a_comparison_names_every_condition_and_its_cost(width: int, condition: str) -> None:
    rows = [replace(item, condition=condition) if item.condition == "python" else item for item in summaries()]
    page = shown(comparison_table(compare(rows, "none", by="domain")), width)
    assert max(map(cell_len, page.splitlines())) <= width
    for part in ("gpt-x", "none", "search", "law", "physics", "$0.0012", "34.6k", "−15.0", "R→W13", "unparsed0"):
        if part == "R→W13":
            assert re.search(r"R→W\s13|\s13\s+7\s", page), page
        elif part == "unparsed0":
            assert "unparsed" in page
        else:
            assert part in page, part
    whole = [line.split()[0] for line in page.splitlines() if line.split()]
    # A name may fold, but the line that carries the figures begins with it.
    assert sum(condition.startswith(first) for first in whole) >= 2
    gone = [name for name in ("base", "Δ rel.") if name not in page.split("n: questions")[0]]
    assert not gone, "what is not shown is said to be so"


def test_a_table_that_narrows_says_what_it_left_out() -> None:
    page = shown(comparison_table(compare(summaries(), "none"), footnotes=False), 50)
    assert "MDE ±31.0" in page, "too narrow for a table: each row becomes lines, and nothing is lost"
    assert "left out 0" in page
    page = shown(comparison_table(compare(summaries(), "none"), footnotes=False), 80)
    assert "Not shown, for want of width: p BH, Δ rel., 95 % of Δ rel." in page
    assert "Not shown" not in shown(comparison_table(compare(summaries(), "none"), footnotes=False), 140)


@pytest.mark.parametrize("width", [20, *WIDTHS])
def test_lists_lose_no_trial(width: int) -> None:
    rows = listed()
    page = shown(trials_table(rows), width)
    assert max(map(cell_len, page.splitlines())) <= width
    for row in rows:
        assert row.trial[:10] in page
    for part in ("gpt-x", LONG, "search", "correct", "wrong", "answered", "repeat"):
        # Folding inside a column puts other cells between the parts of a name.
        assert part[:8] in page or part in flat(page), part
    assert "8f14" in page
    counts = shown(counts_table([TrialCounts(EVIL, name, 4, 3, 0, 1, 0, 0) for name in ("none", LONG)]), width)
    assert SAFE.fullmatch(counts)
    assert max(map(cell_len, counts.splitlines())) <= width
    for part in ("planned", "answered", "failed", "pending"):
        assert part in counts, part


def test_a_long_question_id_is_cut_in_its_middle_and_stays_on_its_line() -> None:
    rows = listed()
    lines = shown(trials_table(rows), 80).splitlines()
    starts = [line for line in lines if line.strip().startswith(rows[-1].trial[:10])]
    assert len(starts) == 1
    assert re.search(r"8f14e45f\S*…\S*00039 ", starts[0])
    assert sum("…" in line for line in lines) == len(rows)
    assert "…" not in shown(trials_table(rows), 140)


def test_empty_lists_say_so() -> None:
    assert "No trial" in shown(trials_table([]))
    assert "No trial" in shown(counts_table([]))
    assert "No question" in shown(flips_table([]))
    assert shown(failures_view([])).strip() == ""


@pytest.mark.parametrize("width", [20, *WIDTHS])
def test_flips_are_listed_with_the_trials_to_read(width: int) -> None:
    found = flips(listed(), "none")
    page = shown(flips_table(found), width)
    assert max(map(cell_len, page.splitlines())) <= width
    assert len(found) == 20
    for flip in found:
        assert flip.trials[0][:10] in page
        assert flip.baseline_trials[0][:10] in page
    assert (page.count("R→W"), page.count("W→R")) == (13, 7)
    assert LONG in flat(page)  # the same in all rows, so said once and whole


def test_flips_of_a_simulated_model_are_announced_and_hostile_names_inert() -> None:
    page = shown(flips_table(flips(listed(simulated=True, domain=EVIL), "none")))
    assert "SIMULATED" in page.splitlines()[0]
    assert SAFE.fullmatch(page)
    assert "SIMULATED" not in shown(flips_table(flips(listed(), "none")))


def test_flips_of_repeats_tell_how_many_trials_they_rest_on() -> None:
    rows = listed()
    rows += [replace(item, repeat=1, trial="f" + item.trial[1:]) for item in rows]
    assert re.search(r"[0-9a-f]{10} \+1", shown(flips_table(flips(rows, "none")), 140))


def test_clusters_are_told_where_they_are_fewer_than_questions() -> None:
    rows = [replace(item, cluster=f"text {int(item.question[1:]) // 4}") for item in summaries()]
    note = "clusters of questions that share a source: 10 for n = 40"
    assert note in shown(comparison_table(compare(rows, "none")), 140)
    assert "clusters" not in shown(comparison_table(compare(summaries(), "none")), 140)


@pytest.mark.parametrize("by", ["domain", "difficulty", "language", "kind"])
def test_a_group_without_a_name_says_what_it_lacks(by: str) -> None:
    rows = [replace(item, **{by: ""}) for item in summaries()]
    page = shown(comparison_table(compare(rows, "none", by=by)), 140)  # type: ignore[arg-type]
    assert f"(no {by})" in page


def test_failures_are_told_in_a_few_lines() -> None:
    known = FailureCount("m", "model", "unreachable", "cannot reach http://x\n  Is it up?", 1054, "1234567890abcdef")
    page = shown(failures_view([known, replace(known, count=1, code="rate_limited", message="slow")]), 140)
    first, hint, second = page.splitlines()
    assert first == ("1,054 trials failed: model unreachable: cannot reach http://x (for instance trial 1234567890)")
    assert hint.strip() == "Is it up?"
    assert second.startswith("1 trial failed: model rate limited: slow")
    both = shown(failures_view([known, replace(known, model="other")]), 140)
    assert "(m)" in both
    assert "(other)" in both
    many = shown(failures_view([replace(known, code=f"c{number}") for number in range(9)]), 140)
    assert "4,216 more for 4 other reasons" in many
    unknown = shown(failures_view([FailureCount("m", None, "", "", 2, "1234567890abcdef")]))
    assert "2 trials failed: no reason was recorded" in unknown


def test_hostile_failures_are_inert() -> None:
    evil = FailureCount(EVIL, "tool", EVIL, f"{EVIL}\n{EVIL}" * 1000, 3, "1234567890abcdef")
    page = shown(failures_view([evil, replace(evil, model="m")]))
    assert SAFE.fullmatch(page)
    assert "[red]x[/nonsense]" in page
    assert len(page.splitlines()) < 30


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "$0"),
        (8e-05, "$0.00008"),
        (8.4e-05, "$0.000084"),
        (0.000001, "$0.000001"),
        (9.9e-07, "<$0.000001"),
        (0.0012, "$0.0012"),
        (0.009999, "$0.01"),
        (0.01, "$0.010"),
        (12.3456, "$12.346"),
    ],
)
def test_dollars_are_never_written_with_an_exponent(value: float | None, text: str) -> None:
    assert dollars(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.00009, "<.0001"), (0.0123, ".0123"), (0.99994, ".9999"), (0.99996, "1.0"), (1.0, "1.0")],
)
def test_p_values_are_never_shown_as_zero(value: float | None, text: str) -> None:
    assert p_value(value) == text


def test_ordinals() -> None:
    numbers = [1, 2, 3, 4, 11, 12, 13, 21, 101, 111]
    assert list(map(ordinal, numbers)) == ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "101st", "111th"]


@given(st.text(max_size=40), st.integers(1, 30))
def test_what_is_shortened_fits_and_keeps_its_ends(text: str, cells: int) -> None:
    short = shortened(text, cells)
    assert cell_len(short) <= cells
    assert short == text if cell_len(text) <= cells else short.count("…") == text.count("…") + 1 or "…" in text


def test_a_name_that_is_folded_is_broken_between_its_parts() -> None:
    names = ("anthropic/claude-sonnet-4.5", "openai/gpt-5.4-mini-2026-03-05")
    rows = [replace(row, model=name, domain="mathematics") for row in listed() for name in names]
    page = shown(flips_table(flips(rows, "none")), 80)
    assert {"anthropic/claude-sonnet-", "4.5", "openai/gpt-5.4-mini-2026-", "03-05"} <= set(page.split())
    assert {"openai/gpt-5.4-mini-2026-03-05"} <= set(shown(flips_table(flips(rows, "none")), 100).split())


def test_a_baseline_whose_mean_varies_is_explained() -> None:
    rows = [
        replace(row, value=None, verdict=None, tokens=row.tokens and 7 * row.tokens)
        if row.condition == "python" and row.question == "q1"
        else replace(row, tokens=int(row.question[1:]) ** 2)
        for row in summaries()
    ]
    page = shown(comparison_table(compare(rows, "none")), 140)
    assert "varies: the baseline's mean" in page
    assert "varies" not in shown(comparison_table(compare(summaries(), "none")), 140)
