"""Several comparisons in one table: groups of questions, and p-values corrected for all that is shown."""

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from tests.traces.pages import observations, shown

from toolablate.analysis.comparison import Comparison, compare
from toolablate.analysis.statistics.p_values import benjamini_hochberg, holm
from toolablate.reports.terminal.comparison import comparison_table
from toolablate.traces.errors import InputError
from toolablate.traces.store.observations import Observation


def labelled(count: int = 40) -> list[Observation]:
    return [
        replace(item, kind="choice" if int(item.question[1:]) % 5 else "number", difficulty="easy")
        for item in observations()
        if int(item.question[1:]) < count
    ]


def test_groupings_follow_each_other_and_are_not_crossed() -> None:
    rows = compare(labelled(), "none", by=("kind", "domain", "kind"))
    python = [(row.by, row.group, row.questions) for row in rows if row.condition == "python"]
    assert python == [
        (None, None, 40),
        ("kind", "choice", 32),
        ("kind", "number", 8),
        ("domain", "law", 20),
        ("domain", "physics", 20),
    ]
    page = shown(comparison_table(rows), 140)
    assert "kind choice" in page
    assert "domain law" in page
    assert "kind choice" not in shown(comparison_table(compare(labelled(), "none", by="kind")), 140)


def test_no_other_field_groups_also_among_several() -> None:
    with pytest.raises(InputError, match=r"'trial'(.|\n)*domain, difficulty, language, kind"):
        compare(labelled(), "none", by=("domain", "trial"))  # type: ignore[arg-type]


def test_p_values_are_corrected_over_all_rows_that_have_one() -> None:
    other = [replace(item, model="other") for item in labelled(20)]
    alone = [Observation("q99", "gpt-x", "alone", value=1.0)]
    rows = compare([*labelled(), *other, *alone], "none", by="domain")
    tested = [row for row in rows if row.p_value is not None]
    assert {row.model for row in tested} == {"gpt-x", "other"}
    assert len(tested) == 12
    p_values = [row.p_value for row in tested if row.p_value is not None]
    assert [row.p_holm for row in tested] == holm(p_values)
    assert [row.p_bh for row in tested] == benjamini_hochberg(p_values)
    assert {(row.p_holm, row.p_bh) for row in rows if row.p_value is None} == {(None, None)}
    assert {row.comparisons for row in rows} == {12}
    assert "corrected for the 12 comparisons in this table" in shown(comparison_table(rows), 140)
    (only,) = compare([seen for seen in labelled() if seen.condition != "search"], "none")
    assert "corrected for the one comparison in this table" in shown(comparison_table([only]), 140)


def test_a_group_that_is_all_questions_is_no_comparison_of_its_own() -> None:
    rows = compare(labelled(), "none", by=("difficulty", "kind"))
    assert [row.comparisons for row in rows] == [6] * 8, "of two conditions each the total and two kinds"
    for total, easy in (rows[:2], rows[4:6]):
        assert (easy.group, easy.p_holm, easy.p_bh) == ("easy", total.p_holm, total.p_bh)


def coloured(row: Comparison) -> bool:
    out = io.StringIO()
    console = Console(file=out, width=140, force_terminal=True, color_system="standard", legacy_windows=False)
    console.print(comparison_table([row]))
    return "\x1b[1;31m" in out.getvalue() or "\x1b[1;32m" in out.getvalue()


def test_only_what_holds_after_correction_in_enough_questions_is_coloured() -> None:
    row = replace(compare(observations(), "none")[0], p_value=0.01, p_holm=0.04, small=False)
    assert coloured(row)
    assert not coloured(replace(row, p_holm=0.06))
    assert not coloured(replace(row, small=True))


def test_a_disagreement_of_interval_and_test_is_named_where_it_happens() -> None:
    row = replace(compare(observations(), "none")[0], ci95=(-30.0, -0.1), p_value=0.06)
    page = shown(comparison_table([row, replace(row, by="domain", group="law", ci95=(-30.0, 0.1))]), 140)
    (told,) = [line.strip() for line in page.splitlines() if "At the edge" in line]
    assert told == "At the edge, interval and p disagree on whether there is an effect: python."
    assert "At the edge" not in shown(comparison_table([replace(row, p_value=0.04)]), 140)
    assert "At the edge" in shown(comparison_table([replace(row, ci95=(-30.0, 0.1), p_value=0.04)]), 140)


def test_the_relative_change_has_an_interval_of_its_own_where_the_base_is_surely_not_zero() -> None:
    def rows(*values: tuple[float, float]) -> Any:
        trials = [
            Observation(f"q{number}", "m", name, value=value)
            for number, both in enumerate(values)
            for name, value in zip(("none", "tool"), both, strict=True)
        ]
        return compare(trials, "none")[0]

    sure = rows(*[(1, 0)] * 10, *[(1, 1)] * 30, *[(0, 1)] * 4)
    assert sure.ci95 is not None
    assert sure.delta_relative_ci95 is not None
    assert sure.delta_relative_ci95[0] < sure.delta_relative < sure.delta_relative_ci95[1]
    assert sure.delta_relative_ci95[0] < sure.ci95[0], "of a base below 100, percent are more than points"
    assert f"{sure.delta_relative_ci95[1]:+.1f} %".replace("-", "−") in shown(comparison_table([sure]), 160)
    perhaps = rows((1, 1), (0, 1), (0, 0), (0, 1))
    assert (perhaps.delta_relative, perhaps.delta_relative_ci95) == (200, None)
    never = rows((0, 1), (0, 0), (0, 1))
    assert (never.delta_relative, never.delta_relative_ci95) == (None, None)
