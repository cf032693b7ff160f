"""Ranks beside other benchmarks: who is matched with whom, and who is left."""

import pytest
from tests.benchmarks.lpfqa.boards import right, seen
from tests.traces.pages import shown

from toolablate.benchmarks.lpfqa.scoreboard import OtherBenchmark, scoreboard
from toolablate.benchmarks.lpfqa.scoreboard_results import BenchmarkComparison
from toolablate.benchmarks.lpfqa.terminal_tables import scoreboard_view


def beside(counts: dict[str, int], scores: dict[str, float]) -> BenchmarkComparison:
    trials = [each for model, count in counts.items() for each in seen(model, right(count, 60))]
    (found,) = scoreboard(trials, "none", others=[OtherBenchmark("other", scores)]).beside
    return found


def test_ranks_are_among_the_models_on_both() -> None:
    found = beside({"a": 50, "b": 40, "c": 40, "d": 10, "alone": 60}, {"a": 3, "b": 9, "c": 4, "d": 4, "new": 99})
    assert [(row.model, row.rank, row.other_rank) for row in found.rows] == [
        ("a", 1, 4),
        ("b", 2, 1),
        ("c", 2, 2),
        ("d", 4, 2),
    ]
    assert (found.only_here, found.only_there) == (("alone",), ("new",))
    assert [row.ranks95 for row in found.rows] == [(1, 1), (2, 3), (2, 3), (4, 4)]
    assert found.correlation is not None
    assert found.correlation.models == 4


def test_names_match_whatever_their_case_where_that_leaves_no_doubt() -> None:
    found = beside({"DeepSeek-V3": 3, "gpt": 2, "GPT": 1}, {"Deepseek-v3": 1, "Gpt": 2})
    assert [row.model for row in found.rows] == ["DeepSeek-V3"]
    assert (found.only_here, found.only_there) == (("gpt", "GPT"), ("Gpt",))
    exact = beside({"gpt": 2, "GPT": 1}, {"gpt": 1, "GPT": 2})
    assert [(row.model, row.other_score) for row in exact.rows] == [("gpt", 1), ("GPT", 2)]
    assert [row.other_score for row in beside({"gpt": 2}, {"gpt": 1, "GPT": 2}).rows] == [1]


def test_blanks_in_names_do_not_part_a_model_from_itself_and_both_names_are_told() -> None:
    trials = [*seen("Qwen 3", right(3, 60)), *seen("glm", right(2, 60))]
    board = scoreboard(trials, "none", others=[OtherBenchmark("other", {" qwen  3 ": 1, "glm": 2})])
    assert [(row.model, row.other_model) for row in board.beside[0].rows] == [("Qwen 3", " qwen  3 "), ("glm", "glm")]
    assert "Taken for the same model: Qwen 3 = qwen 3." in shown(scoreboard_view(board))


def test_too_few_matches_have_no_correlation() -> None:
    assert beside({"a": 1}, {"b": 1}).rows == ()
    one = beside({"a": 1, "c": 2}, {"a": 1})
    assert (len(one.rows), one.rows[0].rank, one.correlation) == (1, 1, None)


def test_correlation_is_of_the_scores_shown() -> None:
    found = beside({"a": 50, "b": 40, "c": 30, "d": 10}, {"a": 4, "b": 3, "c": 2, "d": 1})
    assert found.correlation is not None
    assert (found.correlation.spearman.value, found.correlation.kendall.value) == pytest.approx((1, 1))
    assert found.correlation.spearman.p_value == pytest.approx(2 / 24)
