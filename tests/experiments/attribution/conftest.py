"""Stores that real runs of a simulated model filled: with replays, without, and without a baseline."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.experiments.attribution.commands import run, toolablate
from tests.made_once import made_once

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
    return made_once(tmp_path_factory, "ran", lambda folder: run(folder, PLAN)) / "s.sqlite"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with tools under its only condition."""
    plan = PLAN.replace('ladder = ["python"]\nrepeats = 3', 'conditions = ["python"]').replace("limit = 6", "limit = 1")
    return made_once(tmp_path_factory, "alone", lambda folder: run(folder, plan)) / "s.sqlite"


@pytest.fixture(scope="module")
def replayed(ran: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The same store with replays, and what was said when they were made."""

    def make(folder: Path) -> None:
        for name in ("plan.toml", "s.sqlite"):
            shutil.copy(ran.parent / name, folder)
        told = toolablate(folder, "attribute", "s.sqlite", *REPLAY)
        assert told.returncode == 0, told.stdout + told.stderr
        (folder / "told.json").write_text(json.dumps([told.stdout, told.stderr]), encoding="utf-8")

    folder = made_once(tmp_path_factory, "replayed", make)
    said = json.loads((folder / "told.json").read_text(encoding="utf-8"))
    return folder / "s.sqlite", subprocess.CompletedProcess(["toolablate", "attribute"], 0, *said)
