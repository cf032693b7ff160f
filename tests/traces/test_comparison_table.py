import re
from dataclasses import replace

import pytest
from tests.traces.pages import SAFE, observations, shown

from toolablate.traces.analysis import compare
from toolablate.traces.terminal import (
    comparison_table,
)


@pytest.mark.parametrize("width", [80, 100, 200])
@pytest.mark.parametrize("by", [(), "domain"])
def test_a_comparison_fits_its_terminal_and_loses_nothing(width: int, by: str | tuple[str, ...]) -> None:
    rows = compare(observations(), "none", by=by)  # type: ignore[arg-type]
    page = shown(comparison_table(rows), width)
    assert max(map(len, page.splitlines())) <= width
    assert "…" not in page
    for figure in (
        "gpt-x  compared with none",
        "65.0",
        "50.0",
        "−15.0",
        "Δ points",
        "Δ rel.",
        "p Holm",
        "noise",
        "34.6k",
        "$0.001",
    ):
        assert figure in page, figure
    assert ("−23.1 %" in page) == (width > 80)
    assert ("Not shown, for want of width: p BH, could see, Δ rel., 95 % of Δ rel." in page) == (width == 80)
    assert ("law" in page) == (by == "domain")
    assert "SIMULATED" not in page


def test_simulated_models_are_announced_next_to_their_figures() -> None:
    page = shown(comparison_table(compare(observations(simulated=True), "none")))
    assert "SIMULATED" in page.splitlines()[1]


def test_what_failed_or_was_left_out_is_visible_and_explained() -> None:
    rows = [
        replace(item, outcome="failed", value=None) if item.condition == "python" and item.question == "q1" else item
        for item in observations(verdict="unparsed", tokens=None, cost_usd=None)
    ]
    page = shown(comparison_table(compare(rows, "none")))
    (line,) = [line for line in page.splitlines() if line.split()[:2] == ["python", "40"]]
    assert line.split() == ["python", "40", "39", "0", "0", "1", "1", "-", "-"]
    for note in ("Unparsed:", "Failed:", "Left out:", "- is unknown"):
        assert note in page


def test_what_ran_out_is_told_under_the_table_and_so_is_unknown_cost() -> None:
    plain = observations()
    assert not re.search("Budget:|unknown cost", shown(comparison_table(compare(plain, "none"))))
    rows = [
        replace(item, outcome="budget", limit="turns" if item.question < "q2" else "tokens", cost_usd=None)
        if item.condition == "python" and item.question < "q3"
        else item
        for item in plain
    ]
    page = shown(comparison_table(compare(rows, "none")), 140)
    (line,) = [line for line in page.splitlines() if line.split()[:1] == ["python"] and "34.6k" in line]
    assert line.split()[2:5] == ["0", "0", "23"]
    assert "What ran out: python: turns 12, tokens 11." in page
    assert "Trials of unknown cost: 23 (python); the mean is of the others." in page


def test_unknown_cost_of_a_baseline_is_told_whichever_condition_comes_first() -> None:
    """Only questions that both sides answered count: the first shares with the baseline none of unknown cost."""
    plain = [item for item in observations() if item.condition in ("none", "python")]
    few = [replace(item, condition="few") for item in plain if item.condition == "python" and item.question < "q2"]
    rows = [
        replace(item, cost_usd=None) if item.condition == "none" and item.question >= "q2" else item
        for item in [*plain, *few]
    ]
    unpriced = len([item for item in rows if item.cost_usd is None])
    found = compare(rows, "none")
    assert [row.baseline_unpriced for row in found] == [0, unpriced]
    told = f"Trials of unknown cost: up to {unpriced} (none); the mean is of the others."
    for order in (found, found[::-1]):
        assert told in shown(comparison_table(order), 140)


def test_an_empty_comparison_says_so() -> None:
    assert "Nothing to compare" in shown(comparison_table([]))


def test_names_in_a_comparison_are_inert() -> None:
    evil = "m\x1b]0;x\x07[bold]\u202e"
    rows = compare([replace(item, model=evil, domain=evil) for item in observations()], "none", by="domain")
    page = shown(comparison_table(rows))
    assert SAFE.fullmatch(page)
    assert "m[bold]\ufffd" in page
