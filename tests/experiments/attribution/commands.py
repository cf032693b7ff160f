"""Calls of the command line, in a process of their own and in this one, that read what it says."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from toolablate.cli import group


def toolablate(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "toolablate", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)


def run(folder: Path, plan: str, name: str = "s.sqlite") -> Path:
    """The store of a plan that was written into a folder and run there."""
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    told = toolablate(folder, "run", "plan.toml", "--store", name)
    assert told.returncode == 0, told.stdout + told.stderr
    return folder / name


def called(*arguments: str | Path) -> Result:
    """The command in this process, which takes a tenth of the time."""
    return CliRunner().invoke(group, [str(each) for each in arguments])


def said(*arguments: str | Path) -> str:
    result = called(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def called_through(*arguments: str | Path) -> None:
    """Raises what the command raises."""
    result = called(*arguments)
    assert result.exception is not None, result.output
    raise result.exception


def read(store: Path, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said("attribute", store, "--json", *options))
    return found
