"""tests.reports.test_comparison_table"""

import re
from dataclasses import replace

import pytest
from rich.cells import cell_len
from tests.traces.pages import SAFE, shown, summaries

from toolablate.analysis.comparison import Comparison, alone, compare
from toolablate.reports.terminal.comparison import comparison_table, effects
from toolablate.traces.store.summaries import TrialSummary


@pytest.mark.parametrize("width", [80, 100, 200])
@pytest.mark.parametrize("by", [(), "domain"])
def test_a_comparison_fits_its_terminal_and_loses_nothing(width: int, by: str | tuple[str, ...]) -> None:
    rows = compare(summaries(), "none", by=by)  # type: ignore[arg-type]
    page = shown(comparison_table(rows), width)
    assert max(map(len, page.splitlines())) <= width
    assert "…" not in page
    for figure in (
        "gpt-x  compared with none",
        "50.0",
        "−15.0",
        "Δ points",
        "Δ rel.",
        "p Holm",
        "noise",
        "MDE",
        "34.6k",
        "$0.001",
    ):
        assert figure in page, figure
    assert ("−23.1 %" in page) == (width > 80)
    assert ("Not shown, for want of width: p BH, Δ rel., 95 % of Δ rel." in page) == (width == 80)
    assert ("In every row: noise -." in page) == (width < 200), "unknown at one repeat, so the first to make way"
    assert ("law" in page) == (by == "domain")
    assert "SIMULATED" not in page


def test_simulated_models_are_announced_next_to_their_figures() -> None:
    page = shown(comparison_table(compare(summaries(simulated=True), "none")))
    assert "SIMULATED" in page.splitlines()[1]


def test_what_failed_or_was_left_out_is_visible() -> None:
    rows = [
        replace(item, outcome="failed", value=None) if item.condition == "python" and item.question == "q1" else item
        for item in summaries(verdict="unparsed", tokens=None, cost_usd=None)
    ]
    page = shown(comparison_table(compare(rows, "none")))
    (line,) = [line for line in page.splitlines() if line.split()[:2] == ["python", "40"]]
    assert line.split() == ["python", "40", "39", "0", "0", "1", "1", "-", "-"]


def test_what_ran_out_is_told_under_the_table_and_so_is_unknown_cost() -> None:
    plain = summaries()
    assert not re.search("ran out|unknown cost", shown(comparison_table(compare(plain, "none"))))
    rows = [
        replace(item, outcome="budget", limit="turns" if item.question < "q2" else "tokens", cost_usd=None)
        if item.condition == "python" and item.question < "q3"
        else item
        for item in plain
    ]
    page = shown(comparison_table(compare(rows, "none")), 140)
    (line,) = [line for line in page.splitlines() if line.split()[:1] == ["python"] and "34.6k" in line]
    assert line.split()[2:5] == ["0", "0", "23"]
    assert "Limits reached: python: turns 12, tokens 11." in page
    assert "Trials of unknown cost: 23 (python); the mean excludes them." in page


def test_unknown_cost_of_a_baseline_is_told_whichever_condition_comes_first() -> None:
    """Only questions that both sides answered count: the first shares with the baseline none of unknown cost."""
    plain = [item for item in summaries() if item.condition in ("none", "python")]
    few = [replace(item, condition="few") for item in plain if item.condition == "python" and item.question < "q2"]
    rows = [
        replace(item, cost_usd=None) if item.condition == "none" and item.question >= "q2" else item
        for item in [*plain, *few]
    ]
    unpriced = len([item for item in rows if item.cost_usd is None])
    found = compare(rows, "none")
    assert [row.baseline_unpriced for row in found] == [0, unpriced]
    told = f"Trials of unknown cost: up to {unpriced} (none); the mean excludes them."
    for order in (found, found[::-1]):
        assert told in shown(comparison_table(order), 140)


def scores_part(page: str) -> str:
    return page[: re.search(r"\S+\s+compared\s+with", page).start()]  # type: ignore[union-attr]


def models_and_conditions() -> list[TrialSummary]:
    """Two models under ten conditions; one lacks a condition, and one question of another one failed."""
    rows = [replace(item, model=model) for item in summaries() for model in ("gpt-x", "qwen3-235b-a22b-thinking")]
    arms = ("offered", "sham", "placebo", "oracle")
    rows += [
        replace(item, condition=f"{item.condition}:{arm}") for item in rows if item.condition != "none" for arm in arms
    ]
    return [
        replace(item, value=None) if item.condition == "search" and item.question == "q1" else item
        for item in rows
        if (item.model, item.condition) != ("gpt-x", "python:sham")
    ]


def test_scores_come_first_with_the_baseline_among_them() -> None:
    rows = [replace(item, model=model) for item in summaries() for model in ("m", "other")]
    rows = [item for item in rows if (item.model, item.condition) != ("other", "search")]
    lines = [line.split() for line in shown(comparison_table(compare(rows, "none")), 80).splitlines() if line.strip()]
    assert lines[0] == ["Scores", "in", "percent;", "the", "baseline", "is", "none"]
    assert lines[1] == ["model", "n", "none", "python", "search"]
    assert lines[3:5] == [["m", "40", "65.0", "50.0", "65.0"], ["other", "40", "65.0", "50.0", "-"]]
    assert lines[5] == ["m", "compared", "with", "none"]


@pytest.mark.deep
@pytest.mark.parametrize("width", [20, 40, 60, 80, 140])
def test_scores_of_many_conditions_come_in_blocks_that_lose_none(width: int) -> None:
    rows = compare(models_and_conditions(), "none")
    page = scores_part(shown(comparison_table(rows), width))
    assert max(map(cell_len, page.splitlines())) <= width
    assert "…" not in page
    assert "Not shown" not in page
    for name in ("none", *(row.condition for row in rows)):
        assert name in page, name
    assert len(re.findall(r"(?:50|65)\.0|64\.1 \(39\)", page)) == 2 * 11 - 1
    assert page.count("64.1 (39)") == 2
    assert page.count("gpt-x") == page.count("model") or width == 20, "each block names the models"


@pytest.mark.deep
def test_a_score_over_fewer_questions_says_how_many_and_which_base_it_has() -> None:
    page = " ".join(shown(comparison_table(compare(models_and_conditions(), "none")), 140).split())
    assert "(n): score over fewer questions than the row's n; base: score of none on the same questions." in page
    assert "search *39 64.1 64.1" in page
    assert "(n)" not in shown(comparison_table(compare(summaries(), "none")), 140)


def test_the_score_of_the_baseline_is_over_the_most_questions_it_shares() -> None:
    rows = [
        replace(item, value=None) if item.condition == "python" and item.question == "q1" else item
        for item in summaries()
    ]
    lines = [line.split() for line in shown(comparison_table(compare(rows, "none")), 80).splitlines()]
    assert ["gpt-x", "40", "65.0", "48.7", "(39)", "65.0"] in lines


@pytest.mark.parametrize("width", range(60, 130, 5))
def test_of_the_effects_base_and_score_stay_longest(width: int) -> None:
    """From the table that has room for all to the one that becomes lines, what is worth less goes first."""
    rows = [replace(item, condition=f"{item.condition}-with-tools") for item in summaries() if item.condition != "none"]
    page = shown(effects(compare([*summaries(), *rows], "none")), width)
    _, _, gone = page.partition("Not shown, for want of width: ")
    left_out = {" ".join(name.split()).rstrip(".") for name in gone.split(",")} - {""}
    order = ["95 % of Δ rel", "p BH", "Δ rel", "p", "MDE", "p Holm"]
    assert left_out == set(order[: len(left_out)])
    assert re.search(r"base\s+(65\.0 · )?score", page)


def test_a_simulated_model_beside_a_real_one_is_marked_among_the_scores() -> None:
    real = [replace(item, model="real") for item in summaries()]
    page = shown(comparison_table(compare([*summaries(simulated=True), *real], "none")))
    assert "gpt-x (simulated)" in scores_part(page)
    assert "real (simulated)" not in page


def footnotes(rows: list[Comparison], width: int = 100) -> list[str]:
    page = shown(comparison_table(rows), width)
    return [
        line for line in page[len(shown(comparison_table(rows, footnotes=False), width)) :].splitlines() if line.strip()
    ]


def spoiled() -> list[TrialSummary]:
    """Two models, groups, clusters, a graded and an uneven one, repeats, limits and unknown costs."""
    return [
        replace(
            item,
            model=model,
            repeat=repeat,
            value=None if item.question == "q1" and repeat == 1 else abs((item.value or 0) - 0.3 * (repeat == 2)),
            cluster="text" if item.question in ("q2", "q3") else "",
            cost_usd=None if item.question == "q5" else item.cost_usd,
            outcome="budget" if item.question == "q6" else item.outcome,
            limit="turns" if item.question == "q6" else None,
        )
        for item in summaries()
        for model in ("m", "other")
        for repeat in range(3 if item.condition == "none" else 2)
    ]


@pytest.mark.deep
def test_a_comparison_has_few_footnotes_and_names_where_the_others_are() -> None:
    lines = footnotes(compare(summaries(), "none", by="domain"))
    assert len(lines) <= 4
    assert lines[-1].strip() == "What each figure means: docs/statistics.md."
    assert len(footnotes(compare(spoiled(), "none"))) <= 13, "also where there is something to say of everything"


@pytest.mark.deep
def test_rows_that_a_footnote_names_are_named_with_their_model_where_there_are_several() -> None:
    page = " ".join(shown(comparison_table(compare(spoiled(), "none")), 200).split())
    assert "surplus repeats of a question on one side: m python 40 of 40, m search 40 of 40, other python" in page
    assert "Right: a score of 0.5 or more" in page
    row = replace(compare(summaries(), "none")[0], ci95=(-30.0, -0.1), p_value=0.06)
    page = shown(comparison_table([row, replace(row, model="other")]), 140)
    assert "disagree on 0: gpt-x python, other python." in page
    many = [replace(row, condition=f"c{number}") for number in range(6)]
    assert "disagree on 0: c0, c1, c2, c3 and 2 more." in shown(comparison_table(many), 140)


def test_an_empty_comparison_says_so() -> None:
    assert "Nothing to compare" in shown(comparison_table([]))


def test_the_scores_of_a_condition_that_ran_alone_are_shown_before_it_is_said_so() -> None:
    rows = [item for item in summaries() if item.condition == "none"]
    rows += [replace(item, model="other", value=None, verdict=None) for item in rows]
    (known,) = {f"{row.baseline_score:.1f}" for row in compare(summaries(), "none")}
    page = shown(comparison_table(compare(rows, "none"), alone=alone(rows, "none")))
    lines = [line.split() for line in page.splitlines() if line.strip()]
    assert ["gpt-x", str(len({item.question for item in rows})), known] in lines
    assert ["other", "0", "-"] in lines
    assert lines[-1][:3] == ["Nothing", "to", "compare:"]
    assert "simulated" not in page
    pretended = [replace(item, simulated=True) for item in rows]
    assert "simulated" in shown(comparison_table([], alone=alone(pretended, "none"))).lower()


def test_where_no_trial_has_finished_a_comparison_says_that_and_not_that_the_baseline_has() -> None:
    rows = [item for item in summaries() if item.condition == "none"]
    failed = [replace(item, outcome="failed", value=None, verdict=None) for item in rows]
    page = shown(comparison_table(compare(failed, "none"), alone=alone(failed, "none")))
    assert page.splitlines()[-1].strip() == "Nothing to compare: no trial has finished."
    # One that has is enough.
    some = [*failed[1:], rows[0]]
    page = shown(comparison_table(compare(some, "none"), alone=alone(some, "none")))
    assert page.splitlines()[-1].strip() == "Nothing to compare: only the baseline has finished trials."


def test_names_in_a_comparison_are_inert() -> None:
    evil = "m\x1b]0;x\x07[bold]\u202e"
    rows = compare([replace(item, model=evil, domain=evil) for item in summaries()], "none", by="domain")
    page = shown(comparison_table(rows))
    assert SAFE.fullmatch(page)
    assert "m[bold]\ufffd" in page
