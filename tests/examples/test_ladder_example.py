"""The example of a ladder: a part of its questions, through the real command line, kernels included."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from toolablate.traces.records import ToolCall
from toolablate.traces.store import Store

PLAN = Path(__file__).parents[2] / "examples/ladder/plan.toml"

ARMS = [
    "none", "scaffold",
    *(f"{name}{arm}" for name in ("python", "search") for arm in (":offered", ":sham", ":placebo", "", ":oracle", ":adversarial")),
]  # fmt: skip


def run(*arguments: str | Path, folder: Path) -> Any:
    command = [sys.executable, "-m", "toolablate", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(done.stdout)


def test_the_example_of_a_ladder_runs_under_all_its_arms(tmp_path: Path) -> None:
    store = tmp_path / "ladder.sqlite"
    ran = run("run", PLAN, "--store", store, "--limit", "6", "--json", folder=tmp_path)
    assert (ran["planned"], ran["missing"], ran["failures"]) == (6 * len(ARMS) * 3, 0, [])
    with Store(store) as opened:
        assert {condition.name for condition in opened.conditions()} == set(ARMS)
        shown = {
            (opened.condition(trace.trial.condition).name, event.changes[0].intervention if event.changes else "")
            for trace in opened.traces()
            for event in trace.events
            if isinstance(event, ToolCall)
        }
    assert shown == {(name, name.partition(":")[2]) for name in ARMS[2:] if not name.endswith(":offered")}
    parted = run("compare", "--ladder", store, "--json", folder=tmp_path)["waterfalls"]
    assert [(each["ladder"], each["missing"], each["excluded_questions"]) for each in parted] == [
        ("python", [], 0),
        ("search", [], 0),
    ]
