"""What is published is read strictly."""

from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.conftest import DATA
from tests.benchmarks.who_and_when.failing import RUN, written

from toolablate.benchmarks.who_and_when.runs import Prediction, load_failed_runs, load_predictions
from toolablate.traces.errors import InputError

PUBLISHED = DATA / "who_and_when"


def test_a_run_is_read_with_its_agents_by_their_names(tmp_path: Path) -> None:
    (run,) = load_failed_runs(written(tmp_path / "hand_crafted.jsonl", RUN))
    assert (run.id, run.of_set, run.question, run.level) == ("hand_crafted/1", "hand_crafted", "q1", "")
    assert (run.agent, run.step, run.answer) == ("WebSurfer", 2, "5")
    assert [step.agent for step in run.steps] == ["human", "Orchestrator", "WebSurfer", "Orchestrator"]
    assert run.steps[2].text == "Gate 4"


def test_a_folder_is_several_sets(tmp_path: Path) -> None:
    written(tmp_path / "b.jsonl", {**RUN, "level": 2})
    written(tmp_path / "a.jsonl", {**RUN, "level": "Hard"}, {**RUN, "file": "2.json", "level": None})
    assert [(run.id, run.level) for run in load_failed_runs(tmp_path)] == [("a/1", "Hard"), ("a/2", ""), ("b/1", "2")]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mistake_step": 2}, "'mistake_step' must be a whole number in quotes, from 0: \"4\"; found 2"),
        (
            {"mistake_step": "4"},
            "'mistake_step' names no step of the history; found \"4\"\n  Allowed is a whole number",
        ),
        ({"mistake_step": "-1"}, "'mistake_step' names no step of the history; found \"-1\""),
        ({"mistake_step": "²"}, "'mistake_step' names no step of the history"),
        ({"mistake_agent": ""}, "'mistake_agent' must be a text in quotes that is not empty; found \"\""),
        ({"history": []}, "'history' must be a list of one step or more"),
        ({"history": [{"content": 3, "role": "x"}]}, "'history' must be a list of one step or more"),
        ({"level": [1]}, "'level' must be a text in quotes or a whole number; found [1]"),
        ({"file": "1.json"}, 'the file "runs/1" is already taken by line 1'),
    ],
)
def test_what_is_wrong_with_a_run_is_said(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    path = written(tmp_path / "runs.jsonl", RUN, {**RUN, "file": "2.json", **changes})
    with pytest.raises(InputError) as caught:
        load_failed_runs(path)
    assert f"{path}:2: {said}" in str(caught.value)


def test_a_key_that_is_missing_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "runs.jsonl", {key: value for key, value in RUN.items() if key != "mistake_reason"})
    with pytest.raises(InputError, match="the key 'mistake_reason' is missing"):
        load_failed_runs(path)


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder without JSONL or Parquet files"):
        load_failed_runs(tmp_path)


def test_predictions_are_read(tmp_path: Path) -> None:
    runs = load_failed_runs(written(tmp_path / "s.jsonl", *({**RUN, "file": f"{number}.json"} for number in range(4))))
    lines = [
        {"id": "s/0", "agent": " Orchestrator (thought)", "step": 3},
        {"id": "s/1", "agent": None, "step": "12"},
        {"id": "s/2", "agent": ""},
    ]
    assert load_predictions(written(tmp_path / "p.jsonl", *lines), runs) == {
        "s/0": Prediction("Orchestrator", 3),
        "s/1": Prediction(None, 12),
        "s/2": Prediction(None, None),
    }


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"id": "s/9"}, 'no run has the id "s/9"\n  One is "s/1": its set and file.'),
        ({"id": "s/1", "step": -1}, "'step' must be a whole number from 0, in quotes or not, or null"),
        ({"id": "s/1", "step": "Step 4"}, "'step' must be a whole number from 0"),
        ({"id": "s/1", "step": 1.0}, "'step' must be a whole number from 0"),
        ({"id": "s/1", "step": True}, "'step' must be a whole number from 0"),
        ({"id": "s/1", "agnet": "x"}, "unknown key \"agnet\"\n  Did you mean 'agent'?"),
        ({"id": "s/2"}, 'the id "s/2" is already taken by line 1'),
    ],
)
def test_what_is_wrong_with_a_prediction_is_said(tmp_path: Path, line: dict[str, Any], said: str) -> None:
    runs = load_failed_runs(written(tmp_path / "s.jsonl", RUN, {**RUN, "file": "2.json"}))
    path = written(tmp_path / "p.jsonl", {"id": "s/2"}, line)
    with pytest.raises(InputError) as caught:
        load_predictions(path, runs)
    assert f"{path}:2: {said}" in str(caught.value)


@pytest.mark.skipif(not PUBLISHED.exists(), reason=f"who_and_when is not in {DATA} (set TOOLABLATE_DATA)")
def test_all_that_is_published_is_read() -> None:
    runs = load_failed_runs(PUBLISHED)
    sets = [run.of_set for run in runs]
    assert (sets.count("algorithm_generated"), sets.count("hand_crafted")) == (126, 58)
    assert all(0 <= run.step < len(run.steps) for run in runs)
    assert all(run.agent in {step.agent for step in run.steps} for run in runs)
