"""The tables of LPFQA's papers out of answers that give their figures, and what no answers could give."""

from collections.abc import Iterator

import pytest
from examples.published_tables.audit import audit
from examples.published_tables.files import PUBLISHED, load_published
from examples.published_tables.tables import Paper
from tests.benchmarks.lpfqa.boards import percents, seen

from toolablate.benchmarks.lpfqa.scoreboard import OtherBenchmark, answered, filtered, scoreboard
from toolablate.benchmarks.lpfqa.scoreboard_results import Filtered
from toolablate.traces.store.summaries import TrialSummary

V1, V2 = (load_published(PUBLISHED[name]) for name in ("lpfqa_v1", "lpfqa_v2"))
REPEATS = 3
MODELS = 12


def column(paper: Paper, table: str, name: str) -> dict[str, str]:
    found = paper.table(table)
    cells = {row.name: found.cell(row, name) for row in found.body}
    return {row: cell.text for row, cell in cells.items() if cell is not None}


def count_of(printed: str, trials: int) -> int | None:
    """How many of so many are printed so."""
    near = round(float(printed) * trials / 100)
    return next((count for count in (near, near - 1, near + 1) if f"{100 * count / trials:.2f}" == printed), None)


def _v1(printed: str, kept: int, unsolved: int, always: int) -> Filtered:
    """Models that score as `printed` says over `kept` questions; besides there are some that none gets right, and some
    that all do. No kept question is either: one of its trials is right, and one wrong, by whomever."""
    scores = column(V1, "2", printed)
    trials: list[TrialSummary] = []
    for number, (model, score) in enumerate(scores.items()):
        count = count_of(score, kept * REPEATS)
        assert count is not None, (model, score)
        trials += seen(
            model, [*_spread(count, kept, number), *[[0.0] * REPEATS] * unsolved, *[[1.0] * REPEATS] * always]
        )
    found = filtered(answered(trials, "none"), list(scores))
    assert found is not None
    return found


def _spread(count: int, questions: int, model: int) -> list[list[float | None]]:
    """So many right trials over questions, each model's beginning at another."""
    values: list[list[float | None]] = [[0.0] * REPEATS for _ in range(questions)]
    for number in range(count):
        repeat, question = divmod(number, questions)
        values[(question + model * questions // MODELS) % questions][repeat] = 1.0
    return values


def test_lpfqa_minus_of_the_first_version() -> None:
    """Of 502 questions, as the abstract says and not 505, 66 that nobody answers make table 1 and table 2 follow from
    each other in all twelve rows."""
    found = _v1("LPFQA-", 436, 66, 0)
    assert [each.questions for each in found.sets] == [502, 436, 436]
    assert percents(found.sets[1].scores) == column(V1, "2", "LPFQA-")
    assert percents(found.sets[0].scores) == column(V1, "1", "Score")


def test_lpfqa_equal_of_the_first_version_are_scores_over_413_questions_not_421() -> None:
    printed = column(V1, "2", "LPFQA=")
    assert sum(count_of(score, 421 * REPEATS) is not None for score in printed.values()) == 3
    found = _v1("LPFQA=", 413, 66, 23)
    assert [each.questions for each in found.sets] == [502, 436, 413]
    assert percents(found.sets[2].scores) == printed
    fitting = [
        questions
        for questions in range(380, 437)
        if all(count_of(score, questions * REPEATS) is not None for score in printed.values())
    ]
    assert fitting == [413]


def test_questions_gone_from_lpfqa_equal_were_not_always_right() -> None:
    """From 436 to 413 questions each model loses 50 to 63 right trials of the 69 that 23 questions have, so a model
    that was right in some repeats passed there for one that answers a question; here it takes all of them."""
    lost = [
        (count_of(before, 436 * REPEATS) or 0) - (count_of(after, 413 * REPEATS) or 0)
        for before, after in zip(column(V1, "2", "LPFQA-").values(), column(V1, "2", "LPFQA=").values(), strict=True)
    ]
    assert (min(lost), max(lost)) == (50, 63)
    assert max(lost) < 23 * REPEATS


def test_relative_changes_of_the_second_version_are_those_that_the_audit_recomputes() -> None:
    """Each printed score is given by all questions alike; the deltas printed beside them mostly do not follow."""
    table = V2.table("4")
    conditions = {"No tools": "none", "Jupyter CI": "python", "Search": "search"}
    trials = [
        each
        for name, condition in conditions.items()
        for model, score in column(V2, "4", name).items()
        for each in seen(model, [[float(score) / 100]] * 10, condition=condition)
    ]
    found = scoreboard(trials, "none").ablation
    assert found is not None
    recomputed = next(one for one in audit(V2).tables if one.table.name == "4")
    for name, condition in list(conditions.items())[1:]:
        for row in (row for row in found.rows if row.condition == condition):
            theirs = recomputed.cell(row.model, f"{name} Δ")
            assert theirs is not None
            assert row.delta_relative is not None
            assert abs(row.delta_relative) == pytest.approx(abs(float(theirs.value)), abs=1e-9)
    assert table.summary_row is not None
    averages = {row.condition: row for row in found.averages}
    assert {name: f"{row.score:.2f}" for name, row in averages.items()} == {"python": "35.62", "search": "34.88"}
    assert f"{averages['python'].relative_of_means:.2f}" == "-28.77"
    assert f"{averages['python'].mean_of_relatives:.2f}" == "-28.98"


@pytest.mark.deep
def test_tiers_of_the_second_version() -> None:
    """137 easy, 133 medium, 160 hard questions, of pass rates over eight models that all lie within these tiers."""
    counts = {name: int(text) for name, text in column(V2, "8", "Questions").items()}
    passed = list(_passed(counts))
    trials = [each for model in range(8) for each in seen(f"m{model}", [[float(model < count)] for count in passed])]
    found = scoreboard(trials, "none").tiers
    assert found is not None
    assert [each.questions for each in found.tiers] == list(counts.values()) == [137, 133, 160]
    assert sum(each.questions for each in found.tiers) == 430


def _passed(counts: dict[str, int]) -> Iterator[int]:
    """How many of eight models get each question right; four of eight are 50 %, and medium."""
    for name, rates in zip(counts, ((5, 6, 7, 8), (3, 4), (0, 1, 2)), strict=True):
        for number in range(counts[name]):
            yield rates[number % len(rates)]


def test_ranks_of_the_second_version() -> None:
    """Table 10: two models share rank 4, and none has rank 5."""
    ours = column(V2, "2", "Overall")
    for benchmark in ("MMLU-Pro", "HLE"):
        theirs = {model: float(score) for model, score in column(V2, "10", benchmark).items()}
        trials = [each for model in ours for each in seen(model, [[float(ours[model]) / 100]] * 5)]
        (found,) = scoreboard(trials, "none", others=[OtherBenchmark(benchmark, theirs)]).beside
        assert {row.model: str(row.rank) for row in found.rows} == column(V2, "10", "LPFQA rank")
        assert {row.model: str(row.other_rank) for row in found.rows} == column(V2, "10", f"{benchmark} rank")
        assert len(found.only_here) == 4
        assert found.only_there == ()
