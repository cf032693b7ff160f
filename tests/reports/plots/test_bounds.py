"""Of very many rows those are drawn that stand out, and figures say so."""

from dataclasses import replace

import pytest
from tests.reports.plots.samples import Arm, endings, findings, many

from toolablate.analysis.findings import Findings
from toolablate.reports.plots.figures import (
    MOST_COLUMNS,
    MOST_DOMAINS,
    MOST_ROWS,
    bounded,
    bounded_decompositions,
    bounded_domains,
    bounded_ladders,
    plates,
    printed,
)


def spread(conditions: int) -> Findings:
    """The effect of condition k is minus k points, but of 7 nothing is known."""
    found = many(["m", "n"], [f"c{number}" for number in range(conditions)])
    comparisons = [
        replace(each, delta_points=None if each.condition == "c7" else -float(each.condition[1:]))
        for each in found.comparisons
    ]
    return replace(found, comparisons=tuple(comparisons))


@pytest.mark.deep
def test_the_rows_farthest_from_the_baseline_are_drawn_and_the_baseline() -> None:
    found = spread(200)
    few = bounded(found, endings(found))
    assert len(few.findings.arms) == len(few.endings) == MOST_ROWS
    assert few.said == "100 of 400 rows: those farthest from the baseline"
    for model in ("m", "n"):
        kept = [arm.condition for arm in few.findings.arms if arm.model == model]
        assert kept == ["c0", *(f"c{number}" for number in range(151, 200))]
    assert {each.condition for each in few.findings.flips} == {f"c{number}" for number in range(151, 200)}
    assert {(arm.model, arm.condition) for arm in few.endings} == {
        (arm.model, arm.condition) for arm in few.findings.arms
    }


@pytest.mark.deep
def test_where_there_is_nothing_to_compare_the_first_rows_are_drawn() -> None:
    found = replace(spread(200), comparisons=())
    few = bounded(found, ())
    assert few.findings.arms == found.arms[:MOST_ROWS]
    assert few.said == "100 of 400 rows: the first of them"


def test_nothing_is_left_out_of_few_rows() -> None:
    found = spread(20)
    assert bounded(found, endings(found)).findings is found
    assert bounded(found, endings(found)).said == ""
    assert not [plate for plate in plates(found) if plate.left_out]


@pytest.mark.deep
def test_a_figure_says_what_it_leaves_out() -> None:
    found = spread(60)
    drawn = {each.name: each for each in printed(found, endings=endings(found))}
    for name in ("scores", "effects", "matrices", "outcomes"):
        assert drawn[name].left_out
        assert "Drawn are 100 of 120 rows: those farthest from the baseline; the table has all." in drawn[name].about
        for svg in (drawn[name].broad, drawn[name].slim):
            assert "100 of 120 rows: those farthest" in svg
            assert "baseline</text>" in svg
    assert drawn["domains-2"].left_out
    assert not drawn["mechanisms"].left_out


@pytest.mark.deep
def test_domains_are_those_with_most_questions_and_conditions_those_that_differ_most() -> None:
    row = spread(2).by_domain[0]
    table = [
        replace(row, condition=f"c{column}", group=f"d{line}", questions=line, delta_points=float(column))
        for line in range(60)
        for column in range(30)
    ]
    few, said = bounded_domains(table)
    assert len(few) == MOST_COLUMNS * MOST_DOMAINS
    assert {each.condition for each in few} == {f"c{column}" for column in range(10, 30)}
    assert {each.group for each in few} == {f"d{line}" for line in range(20, 60)}
    assert said == (
        "20 of 30 conditions: those with the largest differences; 40 of 60 domains: those with most questions"
    )
    assert bounded_domains(table[:5]) == (table[:5], "")


def test_decompositions_and_ladders_are_those_of_the_largest_effects() -> None:
    found = findings()
    assert found.why is not None
    (decomposition, *_), (ladder, *_) = found.why.decompositions, found.waterfalls
    decompositions = [
        replace(decomposition, condition=f"c{place}", effect=replace(decomposition.effect, points=-float(place % 50)))
        for place in range(50)
    ]
    few, said = bounded_decompositions(decompositions)
    assert [each.condition for each in few] == [f"c{place}" for place in range(50 - len(few), 50)]
    assert sum(len(each.mechanisms) + 2 for each in few) <= MOST_ROWS
    assert said == f"{len(few)} of 50 conditions: those with the largest effects"
    assert bounded_ladders([ladder] * 3) == ([ladder] * 3, "")
    long = replace(ladder, contrasts=ladder.contrasts * MOST_ROWS)
    assert bounded_ladders([long, ladder])[0] in ([long], [ladder]), "one at least"


def test_trials_that_ended_may_be_of_arms_without_scores() -> None:
    found = spread(200)
    arms = [*endings(found), Arm("m", "unknown", {"failed": 1})]
    assert "unknown" not in {arm.condition for arm in bounded(found, arms).endings}
