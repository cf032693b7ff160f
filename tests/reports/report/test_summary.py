"""What a report says first."""

from dataclasses import replace

import pytest
from tests.reports.plots.samples import HOSTILE, findings, many
from tests.reports.report.samples import report

from toolablate.reports.report.html import as_html, in_short
from toolablate.reports.report.markdown import as_markdown

FOUND = findings(("m", "n"), ("none", "a", "b", "c", "d", "e"))


def test_sure_effects_are_named_the_largest_first_and_the_rest_counted() -> None:
    points = {"a": -10.0, "b": -30.0, "c": -20.0, "d": -40.0, "e": 5.0}
    rows = [
        replace(each, delta_points=points[each.condition], ci95=(-1.0, 1.0), p_holm=0.01, small=False)
        for each in FOUND.comparisons
        if each.model == "m"
    ]
    percent = next(arm.accuracy.percent for arm in FOUND.arms if (arm.model, arm.condition) == ("m", "none"))
    (said,) = in_short(replace(FOUND, comparisons=tuple(rows), why=None))
    assert said == (
        f"m: {percent:.1f} % right under none. 4 conditions change it for the worse (in points: d \u221240.0 (\u22121.0 to +1.0), b"
        " \u221230.0 (\u22121.0 to +1.0), c \u221220.0 (\u22121.0 to +1.0), and 1 more); 1 condition changes it for the better"
        " (in points: e +5.0 (\u22121.0 to +1.0))."
    )


def test_what_is_not_sure_is_told_as_such_with_its_points() -> None:
    rows = tuple(
        replace(each, delta_points=-30.0, ci95=(-61.0, 1.0), p_holm=0.2, small=each.condition == "b")
        for each in FOUND.comparisons
        if each.condition in ("a", "b")
    )
    said = list(in_short(replace(FOUND, comparisons=rows, why=None)))
    assert [each.partition(". ")[2] for each in said] == [
        "2 conditions do not differ from it by more than chance gives over 60 questions (in points: a \u221230.0 (\u221261.0"
        " to +1.0), b \u221230.0 (\u221261.0 to +1.0))."
    ] * 2
    assert said[1].startswith("n (simulated): ")
    assert list(in_short(replace(FOUND, comparisons=(), why=None))) == []


def test_what_differs_over_few_questions_is_told_with_what_it_rests_on() -> None:
    rows = tuple(
        replace(each, delta_points=-30.0, ci95=(-50.0, -9.0), p_holm=0.2 if each.condition == "a" else 0.01, small=True)
        for each in FOUND.comparisons
        if each.condition in ("a", "b") and each.model == "m"
    )
    (said,) = in_short(replace(FOUND, comparisons=rows, why=None))
    assert said.partition(". ")[2] == (
        "1 condition differs from it by more than chance gives, over 60 questions, which are too few to rely on the"
        " intervals (in points: b \u221230.0 (\u221250.0 to \u22129.0)); 1 condition has an interval without 0, but the"
        " paired test over 60 independent questions does not tell it from chance (in points: a \u221230.0 (\u221250.0 to"
        " \u22129.0))."
    )


def test_an_effect_over_so_few_questions_that_no_test_can_tell_is_not_told_as_no_difference() -> None:
    rows = tuple(
        replace(each, delta_points=-83.3, ci95=(-94.4, -72.2), p_holm=0.0625, small=True, clusters=6, comparisons=2)
        for each in FOUND.comparisons
        if each.condition in ("a", "b") and each.model == "m"
    )
    (said,) = in_short(replace(FOUND, comparisons=rows, why=None))
    assert said.partition(". ")[2] == (
        "2 conditions have intervals without 0, but 6 independent questions are too few for the paired test to tell"
        " them from chance (in points: a \u221283.3 (\u221294.4 to \u221272.2), b \u221283.3 (\u221294.4 to \u221272.2))."
    )


def test_mechanisms_that_are_sure_are_named() -> None:
    assert FOUND.why is not None
    decomposition = FOUND.why.decompositions[0]
    first, *others = (replace(each, p_holm=0.5) for each in decomposition.mechanisms)
    sure = replace(
        decomposition, mechanisms=(replace(first, points=-12.0, ci95=(-20.0, -4.0), p_holm=0.01, small=False), *others)
    )
    said = [
        each
        for each in in_short(replace(FOUND, why=replace(FOUND.why, decompositions=(sure,))))
        if "against no tools" in each
    ]
    assert len(said) == 1
    assert said[0].endswith(" \u221212.0 (\u221220.0 to \u22124.0).")
    none = replace(decomposition, mechanisms=(replace(first, p_holm=0.5), *others))
    found = in_short(replace(FOUND, why=replace(FOUND.why, decompositions=(none,))))
    assert not [each for each in found if "against no tools" in each]


@pytest.mark.deep
def test_of_many_models_some_are_counted() -> None:
    said = list(in_short(replace(many([f"m{number}" for number in range(20)], ["none", "a"]), why=None)))
    assert len(said) == 9
    assert said[-1] == "12 more models: see the effects below."


@pytest.mark.deep
def test_pages_and_markdown_begin_with_it() -> None:
    mine = report((HOSTILE, "n"))
    page, text = as_html(mine), as_markdown(mine)
    assert page.index('id="short"') < page.index('class="contents"')
    assert "<script>" not in page
    assert text.index("## In short") < text.index("## Scores")
