"""Plans with scripted models, run by the real command line in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.commands import Commands
from tests.experiments.library import Library
from tests.experiments.plan_files import KERNELS, answered, call

Cli = Callable[..., subprocess.CompletedProcess[str]]
WritePlan = Callable[..., Path]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes of documents are kept among the tests' files, one for all tests of a process."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def library() -> Iterator[Library]:
    """A site with a search server in front of it, on this machine."""
    with Library().running() as running:
        yield running


@pytest.fixture(scope="session")
def commands() -> Iterator[Commands]:
    opened = Commands()
    yield opened
    opened.close()


@pytest.fixture
def cli(commands: Commands, tmp_path: Path) -> Cli:
    """The command line, in a process of its own that need not import everything first."""

    def run(*arguments: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return commands.run([*map(str, arguments)], tmp_path, dict(os.environ) if env is None else env)

    return run


@pytest.fixture
def cold_cli(tmp_path: Path) -> Cli:
    """The command line as a user starts it, from nothing."""

    def run(*arguments: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "toolablate", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=100,
            env=env,
        )

    return run


@pytest.fixture
def write_plan(tmp_path: Path) -> Callable[..., Path]:
    """Writes a plan with questions 2 + 2, 3 + 3 ... and a script of replies by question and condition."""

    def write(
        replies: dict[tuple[str, str], Sequence[dict[str, Any]]],
        *,
        conditions: str = '["none", "python"]',
        questions: Sequence[dict[str, Any]] | None = None,
        extra: str = "",
        sandbox: str = KERNELS,
    ) -> Path:
        asked = questions or [
            {"id": f"q{n}", "prompt": f"What is {n} + {n}?", "target": {"kind": "number", "value": 2 * n}}
            for n in (1, 2)
        ]
        _write_lines(tmp_path / "questions.jsonl", asked)
        _write_lines(
            tmp_path / "script.jsonl",
            [
                {"question": question, "condition": condition, "replies": list(given)}
                for (question, condition), given in replies.items()
            ],
        )
        plan = tmp_path / "plan.toml"
        plan.write_text(
            f"conditions = {conditions}\n{sandbox}\n{extra}\n[questions]\nfile = 'questions.jsonl'\n"
            "[[models]]\nprovider = 'scripted'\nname = 'recorded'\nscript = 'script.jsonl'\n",
            encoding="utf-8",
        )
        return plan

    return write


def _write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "runs/plan.sqlite"


GOOD = {
    ("q1", "none"): answered("Answer: 3"),
    ("q2", "none"): answered("Answer: 4"),
    ("q1", "python"): [call("x = 1"), call("print(x + 1)"), {"content": "Answer: {{last_tool_output}}"}],
    ("q2", "python"): [call("print(5)"), {"content": "Answer: {{last_tool_output}}"}],
}


@pytest.fixture
def good_plan(write_plan: WritePlan) -> Path:
    return write_plan(GOOD)


@pytest.fixture
def usual_plan(write_plan: WritePlan) -> Path:
    """As most write it, who say nothing of the sandbox."""
    return write_plan(GOOD, sandbox="")
