"""Stores that real runs of a simulated model filled: with replays, without, and without a baseline."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.experiments.attribution.commands import run, toolablate

PLAN = """
ladder = ["python"]
repeats = 3
[questions]
file = "builtin"
limit = 6
[[models]]
name = "trusting"
provider = "simulated"
playbook = "builtin"
"""
REPLAY = ("--replay", "--samples", "2", "--rollouts", "2", "--successes", "0.3")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a simulated model with the ladder of python, of which nothing was replayed."""
    return run(tmp_path_factory.mktemp("ran"), PLAN)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with tools under its only condition."""
    plan = PLAN.replace('ladder = ["python"]\nrepeats = 3', 'conditions = ["python"]').replace("limit = 6", "limit = 1")
    return run(tmp_path_factory.mktemp("alone"), plan)


@pytest.fixture(scope="module")
def replayed(ran: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The same store with replays, and what was said when they were made."""
    folder = tmp_path_factory.mktemp("replayed")
    for name in ("plan.toml", "s.sqlite"):
        shutil.copy(ran.parent / name, folder)
    told = toolablate(folder, "attribute", "s.sqlite", *REPLAY)
    assert told.returncode == 0, told.stdout + told.stderr
    return folder / "s.sqlite", told
