"""What `planted make` writes is a plan that runs, and says to no run what was planted."""

import json
from pathlib import Path

import pytest
from tests.conftest import Cli

from toolablate.benchmarks.questions import load_questions
from toolablate.experiments.plans.plan import load_plan
from toolablate.experiments.planted.making import CORPUS, LABELS, PLAN, QUESTIONS, SCENARIOS, make_planted
from toolablate.traces.errors import InputError


def test_the_plan_is_valid_and_has_the_ladders_of_sound_and_of_flaky_tools(tmp_path: Path) -> None:
    make_planted(tmp_path, "dev", questions=12, seed=3)
    plan, _ = load_plan(tmp_path / PLAN)
    names = {condition.name for condition in plan.resolved_conditions()}
    toolsets = ("python", "search", "python_flaky", "search_flaky")
    arms = {f"{name}{arm}" for name in toolsets for arm in ("", ":offered", ":sham", ":placebo")}
    assert names == arms | {"none", "scaffold"}
    assert len(load_questions(tmp_path / QUESTIONS)) == 12


def test_the_same_seed_writes_the_same_files_and_another_one_others(tmp_path: Path) -> None:
    for name, seed in (("one", 3), ("two", 3), ("other", 4)):
        make_planted(tmp_path / name, "test", questions=8, seed=seed)
    for file in (QUESTIONS, SCENARIOS, PLAN, LABELS, f"{CORPUS}/pages.jsonl"):
        one, two, other = ((tmp_path / name / file).read_bytes() for name in ("one", "two", "other"))
        assert one == two != other


def test_what_was_planted_stands_in_no_file_that_a_run_reads(tmp_path: Path) -> None:
    make_planted(tmp_path, "dev", questions=40, seed=0)
    labels = [json.loads(line) for line in (tmp_path / LABELS).read_text(encoding="utf-8").splitlines()]
    causes = {story for each in labels for story in each["stories"].values()} | {each["nature"] for each in labels}
    assert {"lock_in", "own_error", "sampling_noise"} <= causes
    for file in (QUESTIONS, SCENARIOS, f"{CORPUS}/pages.jsonl"):
        text = (tmp_path / file).read_text(encoding="utf-8")
        # "tools", "format" and "budget" are words of questions and pages as well.
        assert not any(f'"{cause}"' in text for cause in causes - {"tools", "fine"})
        assert not any(f'"{key}"' in text for key in ("nature", "stories", "distraction"))


def test_the_command_says_what_it_planted_and_refuses_what_it_cannot_write(cli: Cli, tmp_path: Path) -> None:
    made = cli("planted", "make", tmp_path / "made", "--questions", "20", "--half", "test", "--seed", "1")
    assert made.returncode == 0, made.stderr
    assert "20 questions of the half test, seed 1" in made.stdout
    assert "lock in" in made.stdout
    (tmp_path / "file").write_text("", encoding="utf-8")
    refused = cli("planted", "make", tmp_path / "file")
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr
    with pytest.raises(InputError, match="cannot make the folder"):
        make_planted(tmp_path / "file" / "below", "dev", questions=1, seed=0)
