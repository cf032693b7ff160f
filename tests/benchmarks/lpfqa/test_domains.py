"""Models by domain: means over repeats, ties, failures, order."""

import json
import random
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.benchmarks.lpfqa.boards import columns, once, percents, right, seen
from tests.traces.pages import shown

from toolablate.benchmarks.lpfqa.scoreboard import (
    OtherBenchmark,
    answered,
    domains_csv,
    scoreboard,
    scoreboard_json,
    standings,
)
from toolablate.benchmarks.lpfqa.terminal_tables import scoreboard_view
from toolablate.traces.errors import InputError

DOMAINS = ["law"] * 4 + ["maths"] * 2


def test_a_question_counts_once_whatever_its_repeats() -> None:
    values = [[1.0, 1.0, 0.0], [0.0], [1.0], [0.0, 0.0, 0.0], [1.0, 0.0], [1.0]]
    found = scoreboard(seen("a", values, domains=DOMAINS), "none")
    assert columns(found)["law"].scores[0].accuracy.percent == pytest.approx(100 * (2 / 3 + 1) / 4)
    assert columns(found)["maths"].scores[0].accuracy.percent == pytest.approx(75)
    assert found.overall.scores[0].accuracy.percent == pytest.approx(100 * (2 / 3 + 1 + 0.5 + 1) / 6)


def test_runs_are_shown_by_themselves_with_their_spread() -> None:
    values = [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, None]]
    (row,) = scoreboard(seen("a", values), "none").standings
    assert [(each.repeat, each.questions, each.percent) for each in row.repeats] == [(0, 4, 75), (1, 4, 25), (2, 3, 0)]
    assert row.repeat_mean == pytest.approx(100 / 3)
    assert row.repeat_sd == pytest.approx(statistics.stdev([75, 25, 0]))
    assert row.accuracy.percent == pytest.approx(100 * (2 / 3 + 1 / 3 + 1 / 3) / 4)


@pytest.mark.deep
def test_the_spread_of_runs_is_that_of_the_same_questions_asked_again() -> None:
    """Its square is on average the variance of a run's score with the questions as they are: sum p (1 - p) / n^2."""
    rng = np.random.default_rng(5)
    chance = rng.uniform(0, 1, 60)
    squares = []
    for _ in range(400):
        found = answered(seen("a", rng.binomial(1, chance[:, None], (60, 3)).astype(float).tolist()), "none")
        squares.append((standings(found)[0].repeat_sd or 0.0) ** 2)
    truth = 100**2 * float(np.sum(chance * (1 - chance))) / 60**2
    assert np.mean(squares) == pytest.approx(truth, rel=4 / np.sqrt(400))


def test_the_best_are_all_that_are_equal_and_so_are_the_lowest() -> None:
    models = {"a": 3, "b": 1, "c": 3, "d": 1}
    found = scoreboard([each for name, count in models.items() for each in seen(name, right(count, 4))], "none")
    assert (found.overall.highest, found.overall.lowest) == (("a", "c"), ("b", "d"))
    assert [each.model for each in found.overall.scores if each.best] == ["a", "c"]
    assert [(row.model, row.rank) for row in found.standings] == [("a", 1), ("c", 1), ("b", 3), ("d", 3)]
    assert found.overall.mean == pytest.approx(50)


def test_what_infrastructure_spoiled_is_not_wrong_and_is_told() -> None:
    trials = [
        *seen("a", once([1.0, None, 1.0, 0.0])),
        *seen("b", once([1.0, 0.0, 0.0, 0.0])),
        *seen("c", once([None] * 4)),
    ]
    found = scoreboard(trials, "none")
    assert percents(found.overall.scores) == {"a": "66.67", "b": "25.00"}
    assert [(row.model, row.rank, row.missing) for row in found.standings] == [("a", 1, 1), ("b", 2, 0), ("c", None, 4)]
    assert found.overall.mean == pytest.approx((200 / 3 + 25) / 2)


def test_a_score_over_fewer_questions_than_its_column_says_over_how_many() -> None:
    """A model that an outage left with one right answer is the best of its column, but not over the same questions."""
    trials = [
        *seen("whole", once([1.0, 0.0] * 3), domains=DOMAINS),
        *seen("broken", once([1.0, *[None] * 5]), domains=DOMAINS),
    ]
    page = shown(scoreboard_view(scoreboard(trials, "none")))
    rows = [line.split() for line in page.splitlines()]
    assert ["broken", "▲*100.00", "(1)", "-", "▲*100.00", "(1)"] in rows
    assert ["whole", "*50.00", "▲*50.00", "*50.00"] in rows
    assert ["law", "4", "75.00", "broken", "(1)", "100.00", "whole", "50.00"] in rows
    assert "(n): over n of the column's questions alone" in page
    assert "Left out: 5 questions that some model has no score of (broken 5)." in page
    assert "(n):" not in shown(scoreboard_view(scoreboard(trials[:6], "none")))


def test_stand_ins_beside_models_are_told_apart_in_every_table() -> None:
    real, fake = (
        [each for c in ("none", "python") for each in seen(name, right(3, 6), condition=c, domains=DOMAINS)]
        for name in ("real", "fake")
    )
    fake = [replace(each, simulated=True) for each in fake]
    other = OtherBenchmark("other", {"real": 1, "fake": 2})
    page = shown(scoreboard_view(scoreboard([*real, *fake], "none", others=[other])))
    lines = [line.strip() for line in page.splitlines()]
    tables = sum(line.startswith("real ") for line in lines)
    assert tables == sum(line.startswith("fake (simulated) ") for line in lines) == 6
    assert "(simulated): a stand-in that imitates a model, no measurement" in page
    assert " SIMULATED " not in page
    alone = shown(scoreboard_view(scoreboard(fake, "none")))
    assert " SIMULATED " in alone
    assert "(simulated)" not in alone


def test_what_became_of_trials_is_counted_on_both_sides() -> None:
    trials = list(seen("a", once([1.0, 0.0, None, 1.0])))
    trials[1] = replace(trials[1], verdict="unparsed")
    trials[3] = replace(trials[3], value=None, verdict="unscored")
    found = scoreboard([*trials, *(replace(each, condition="python") for each in trials)], "none")
    assert found.ablation is not None
    for row in (found.standings[0], found.ablation.rows[0]):
        assert (row.trials, row.failed, row.unscored, row.unparsed) == (4, 1, 1, 1)
    page = " ".join(shown(scoreboard_view(found)).split())
    for name in ("a", "a python"):
        assert f"wrong unless the plan excludes them: {name} 1." in page
        assert f"infrastructure spoiled, out of all figures: {name} 1." in page
        assert f"could not be scored, out of all figures: {name} 1." in page


def test_domains_are_not_made_up_and_questions_without_one_come_last() -> None:
    assert scoreboard(seen("a", right(1, 2)), "none").domains == ()
    found = scoreboard(seen("a", right(1, 3), domains=["maths", "", "law"]), "none")
    assert [(column.domain, column.questions) for column in found.domains] == [("law", 1), ("maths", 1), ("", 1)]
    assert found.overall.domain is None


def test_other_conditions_are_no_part_of_the_baseline() -> None:
    trials = [*seen("a", right(1, 4)), *seen("a", right(4, 4), condition="python")]
    assert scoreboard(trials, "none").overall.scores[0].accuracy.percent == 25
    assert scoreboard(trials, "python").overall.scores[0].accuracy.percent == 100


def test_a_baseline_without_scores_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"No trial under 'nine' has a score\n  .*: none, python\."):
        scoreboard([*seen("a", right(1, 2)), *seen("a", right(1, 2), condition="python")], "nine")
    with pytest.raises(InputError, match="No trial under 'none'"):
        scoreboard(seen("a", once([None])), "none")


@pytest.mark.parametrize(("right_ones", "clusters", "small"), [(50, 100, False), (50, 5, True), (6, 100, True)])
def test_small_cells_are_marked_by_independent_questions(right_ones: int, clusters: int, small: bool) -> None:
    trials = seen("a", right(right_ones, 100), clusters=[str(number % clusters) for number in range(100)])
    assert scoreboard(trials, "none").overall.scores[0].accuracy.small is small


def test_the_order_of_trials_does_not_matter() -> None:
    trials = [
        each
        for number, name in enumerate("abc")
        for condition in ("none", "python")
        for each in seen(name, [[1.0, 0.0]] * (number + 3) + [[0.0, 0.0]] * 5, condition=condition)
    ]
    shuffled = random.Random(1).sample(trials, len(trials))
    assert scoreboard(shuffled, "none") == scoreboard(trials, "none")


def test_the_domain_table_as_csv() -> None:
    lines = domains_csv(scoreboard(seen("=a", right(1, 2), domains=["law", ""]), "none")).splitlines()
    assert lines[0] == "model,of,domain,questions,percent,ci95_low,ci95_high,small,best"
    assert [line.split(",")[:5] for line in lines[1:]] == [
        ["'=a", "all", "", "2", "50.0"],
        ["'=a", "domain", "law", "1", "100.0"],
        ["'=a", "domain", "", "1", "0.0"],
    ]


def test_what_json_has_is_in_the_guide() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "lpfqa.md").read_text(encoding="utf-8")
    found = json.loads(scoreboard_json(scoreboard([*seen("a", right(1, 2)), *seen("b", right(2, 2))], "none")))
    names = {*found, *(each["name"] for each in found["filtered"]["sets"][1:])}
    assert {name for name in names if f"`{name}`" not in guide} == set()
