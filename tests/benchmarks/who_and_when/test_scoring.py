"""Steps are whole numbers, and baselines come beside every figure."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.cells import cell_len
from rich.console import Console
from tests.benchmarks.conftest import DATA
from tests.benchmarks.who_and_when.failing import RUN, of_length, written

from toolablate.benchmarks.who_and_when.accuracy import Row, graded_predictions, read_who_and_when, row_of
from toolablate.benchmarks.who_and_when.runs import FailedRun, Prediction, load_failed_runs
from toolablate.benchmarks.who_and_when.terminal_tables import who_and_when_view
from toolablate.cli import group

PUBLISHED = DATA / "who_and_when"
published = pytest.mark.skipif(not PUBLISHED.exists(), reason=f"who_and_when is not in {DATA} (set TOOLABLATE_DATA)")


def constant(runs: tuple[FailedRun, ...], step: int, of_set: str) -> Row:
    some = [run for run in runs if run.of_set == of_set]
    said = {run.id: Prediction(None, step) for run in some}
    return row_of("constant", of_set, graded_predictions(some, said))


def baseline(rows: tuple[Row, ...], name: str, of: str) -> Row:
    (row,) = [row for row in rows if row.method.startswith(name) and row.group == of]
    return row


def percents(row: Row) -> tuple[float | None, ...]:
    return tuple(each.percent for each in (row.agent, row.step, row.within_1, row.within_3, row.both))


def test_each_figure_is_the_share_of_runs_it_holds_for(tmp_path: Path) -> None:
    data = written(tmp_path / "s.jsonl", *(of_length(number, 20, 10) for number in range(5)))
    lines = [
        {"id": "s/0", "agent": "AGENT 0", "step": 10},
        {"id": "s/1", "agent": "agent 1", "step": "11"},
        {"id": "s/2", "agent": "agent", "step": 13},
        {"id": "s/3", "agent": "agent 0", "step": 101},
    ]
    found = read_who_and_when(data, written(tmp_path / "p.jsonl", *lines))
    row = found.predicted[0]
    assert (row.group, row.runs, row.missing) == ("s", 5, 1)
    assert percents(row) == (40, 20, 40, 60, 20)
    assert row.by_substring == 40
    assert [each.group for each in found.predicted] == ["s", "11 to 30 steps"]


def test_runs_are_grouped_by_set_by_length_and_all_together(tmp_path: Path) -> None:
    written(tmp_path / "a.jsonl", of_length(1, 5, 1), of_length(2, 9, 1))
    written(tmp_path / "b.jsonl", of_length(1, 80, 70))
    found = read_who_and_when(tmp_path, written(tmp_path / "p.json", {"id": "b/1", "agent": "agent 0", "step": 70}))
    assert [(row.group, row.runs, row.step.percent) for row in found.predicted] == [
        ("a", 2, 0),
        ("b", 1, 100),
        ("1 to 7 steps", 1, 0),
        ("8 to 10 steps", 1, 0),
        ("71 or more steps", 1, 100),
        ("all", 3, pytest.approx(100 / 3)),
    ]
    assert list(dict.fromkeys(row.group for row in found.baselines)) == ["a", "b", "all"]


def test_a_baseline_names_whose_step_it_says(tmp_path: Path) -> None:
    found = read_who_and_when(written(tmp_path / "s.jsonl", RUN, of_length(2, 3, 2)))
    assert {row.method: percents(row)[:2] for row in found.baselines} == {
        "best constant step (2)": (100, 100),
        "best constant agent (WebSurfer)": (50, 50),
        "random step": (pytest.approx(100 * (1 / 4 + 2 / 3) / 2), pytest.approx(100 * (1 / 4 + 1 / 3) / 2)),
        "last step": (50, 50),
        "first step of the busiest agent": (50, 0),
    }
    assert found.elsewhere == 0


def test_a_random_step_is_right_as_often_as_is_expected(tmp_path: Path) -> None:
    made = [of_length(number, 4 + number % 9, number % 4) for number in range(40)]
    data = written(tmp_path / "s.jsonl", *made)
    expected = baseline(read_who_and_when(data).baselines, "random step", "s")
    runs, draws = load_failed_runs(data), random.Random(3)
    drawn = []
    for _ in range(400):
        steps = {run.id: draws.randrange(len(run.steps)) for run in runs}
        said = {run.id: Prediction(run.steps[steps[run.id]].agent, steps[run.id]) for run in runs}
        graded = graded_predictions(runs, said)
        drawn.append([sum(each.agent for each in graded), sum(each.step for each in graded)])
        drawn[-1] += [sum(each.within_1 for each in graded), sum(each.within_3 for each in graded)]
    means = [100 * sum(column) / 400 / len(runs) for column in zip(*drawn, strict=True)]
    # The standard error of each mean is at most 50 / sqrt(16,000), .4 points.
    assert means == pytest.approx(percents(expected)[:4], abs=1.6)
    assert expected.step.ci95 is None
    assert not expected.step.small


def test_intervals_hold_the_truth_though_runs_share_questions(tmp_path: Path) -> None:
    """Of a method that is right on a question or not, for all of its runs, with a chance of .4."""
    made = [of_length(number, 9, 4, question=f"q{number // 2}") for number in range(120)]
    runs, held, draws = load_failed_runs(written(tmp_path / "s.jsonl", *made)), 0, random.Random(5)
    for _ in range(300):
        right = {f"q{number}": draws.random() < 0.4 for number in range(60)}
        graded = graded_predictions(runs, {run.id: Prediction(None, 4 if right[run.question] else 5) for run in runs})
        low, high = row_of("m", "s", graded).step.ci95 or (0, 0)
        held += low <= 40 <= high
    # 95 % of 300, within three standard errors.
    assert 274 <= held <= 296


@published
def test_constants_are_right_as_often_as_is_known() -> None:
    found = read_who_and_when(PUBLISHED).baselines
    first, second = "algorithm_generated", "hand_crafted"
    assert baseline(found, "best constant step (1)", first).step.percent == pytest.approx(27.0, abs=0.05)
    assert baseline(found, "best constant step (4)", second).step.percent == pytest.approx(15.5, abs=0.05)
    assert baseline(found, "random step", first).step.percent == pytest.approx(12.0, abs=0.05)
    assert baseline(found, "random step", second).step.percent == pytest.approx(4.2, abs=0.05)
    assert baseline(found, "last step", second).step.percent == pytest.approx(12.1, abs=0.05)


@published
def test_digits_within_digits_pass_for_steps_with_the_published_scorer() -> None:
    runs = load_failed_runs(PUBLISHED)
    for step, of_set, right, passing in [
        (1, "algorithm_generated", 27.0, 27.0),
        (10, "algorithm_generated", 0.0, 42.9),
        (105, "algorithm_generated", 0.0, 54.0),
        (4, "hand_crafted", 15.5, 15.5),
        (124, "hand_crafted", 0.0, 34.5),
    ]:
        row = constant(runs, step, of_set)
        assert (row.step.percent, row.by_substring) == pytest.approx((right, passing), abs=0.05)
    last = baseline(read_who_and_when(PUBLISHED).baselines, "last step", "hand_crafted")
    assert (last.step.percent, last.by_substring) == pytest.approx((12.1, 20.7), abs=0.05)


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[Path, Path]:
    name = "[red]\x1b[2J\u202eevil[/red]"
    made: list[dict[str, Any]] = [{**RUN, "mistake_agent": name, "file": "1.json"}, of_length(2, 30, 29)]
    folder = tmp_path / "data"
    folder.mkdir()
    written(folder / "hand_crafted.jsonl", *made)
    return folder, written(tmp_path / "p.jsonl", {"id": "hand_crafted/2", "agent": name, "step": 29})


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_view_is_inert_and_fits(hostile: tuple[Path, Path], width: int) -> None:
    console = Console(width=width, force_terminal=False, color_system=None)
    with console.capture() as shown:
        console.print(who_and_when_view(read_who_and_when(*hostile)))
    text = shown.get()
    assert max(map(cell_len, text.splitlines())) <= width
    assert "[red]" in text
    assert not {"\x1b", "\u202e"} & set(text)
    for expected in ("1 run the step to blame is another agent's", "29.3 % (hand_crafted)", "missing: runs without"):
        assert expected in " ".join(text.split())


def test_the_command_prints_tables_and_json(hostile: tuple[Path, Path]) -> None:
    data, predictions = map(str, hostile)

    def ran(*arguments: str) -> str:
        return CliRunner().invoke(group, ["who-and-when", *arguments], catch_exceptions=False).output

    assert "Predictions, right in percent of runs" in ran(data, predictions)
    assert "Predictions" not in ran(data)
    figures = json.loads(ran(data, predictions, "--json"))
    assert [row["group"] for row in figures["predicted"]] == ["hand_crafted", "1 to 7 steps", "11 to 30 steps"]
    assert figures["predicted"][2]["step"]["percent"] == 100
    assert json.loads(ran(data, "--json"))["predicted"] == []
