"""What the README has a new user type works, in its order: own questions, an own endpoint, an own tool."""

import re
import shlex
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.experiments.answering import endpoint
from tests.experiments.plan_files import KERNELS
from tests.project.pages import blocks, commands, text_of

from toolablate.experiments.plans.conditions import ARMS
from toolablate.traces.store import Store

pytest.importorskip("datasets")
pytest.importorskip("inspect_ai")

SECTIONS = ("Your own questions", "Why the tool")
ELSEWHERE = {"view": "tests/browser"}
"""Commands of these sections that other tests run."""


def written(folder: Path, url: str) -> None:
    """The README's questions, tool and plan, with the own condition beside `python`."""
    (folder / "questions.jsonl").write_text("".join(blocks("README.md", "json")), encoding="utf-8")
    (tool,) = [text for text in blocks("README.md", "python") if "@tool" in text]
    (folder / "my_tools.py").write_text(tool, encoding="utf-8")
    plan, own = blocks("README.md", "toml")
    assert "http://localhost:8000/v1" in plan
    plan = plan.replace("http://localhost:8000/v1", url)
    (folder / "plan.toml").write_text(f"{KERNELS}\n{plan}", encoding="utf-8")
    more = re.sub(r"^ladder = .*$", lambda _: own, plan, count=1, flags=re.MULTILINE)
    (folder / "more.toml").write_text(f'store = "runs/plan.sqlite"\n{KERNELS}\n{more}', encoding="utf-8")


def typed() -> list[str]:
    told = [part for part in text_of("README.md").split("\n## ") if part.startswith(SECTIONS)]
    assert len(told) == len(SECTIONS)
    lines = [line.removeprefix("$ ") for part in told for line in part.splitlines() if line.startswith("$ toolablate ")]
    return [line for line in lines if line.split()[1] not in ELSEWHERE]


def whose_second_call_is_event_three(path: Path) -> str:
    """A trial that the README's `--from 3` fits: one where a busy machine had nothing retried."""
    with Store(path) as store:
        listed = [each.trial for each in store.summaries() if each.condition == "python"]
        return next(trial for trial in listed if store.trace(trial).events[3].kind == "tool_call")


@pytest.mark.deep
@pytest.mark.timeout(600)
def test_the_commands_of_the_readme_work_in_their_order(cli: Cli, tmp_path: Path) -> None:
    trial = ""
    with endpoint() as url:
        written(tmp_path, url)
        for line in typed():
            _, *arguments = shlex.split(line, comments=True)
            told = cli(*(trial if each == "TRIAL" else each for each in arguments))
            assert told.returncode == 0, f"{line}\n{told.stdout}{told.stderr}"
            if arguments[0] == "show" and not trial:
                trial = whose_second_call_is_event_three(tmp_path / arguments[1])
        assert cli("run", "more.toml").returncode == 0
        for line in commands("docs/conditions.md"):
            told = cli(*shlex.split(line, comments=True)[1:])
            assert told.returncode == 0, f"{line}\n{told.stdout}{told.stderr}"
        assert "cannot be made" not in told.stderr + told.stdout
    with Store(tmp_path / "runs/plan.sqlite") as store:
        seen = store.summaries()
    arms = {f"python:{arm}" for arm in ARMS}
    assert arms <= {each.condition for each in seen}
    assert {(each.condition, each.verdict) for each in seen if each.condition not in arms} == {
        ("none", "correct"),
        ("scaffold", "correct"),
        ("python", "wrong"),
        ("python-brief", "wrong"),
        ("thermometer", "wrong"),
    }
