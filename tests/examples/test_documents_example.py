"""The example of documents: its commands, with a simulated model, a real index and real kernels."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

from toolablate.traces.records import Rerun, ToolCall
from toolablate.traces.store import Store

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/documents"


def commands() -> list[list[str]]:
    lines = (EXAMPLE / "README.md").read_text(encoding="utf-8").splitlines()
    return [shlex.split(line)[2:] for line in lines if line.startswith("$ .venv/bin/toolablate ")]


def run(arguments: list[str], store: Path) -> str:
    known = {"examples/documents/runs/documents.sqlite": str(store)}
    given = [known.get(argument, argument) for argument in arguments]
    command = [sys.executable, "-m", "toolablate", *given]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return " ".join(done.stdout.split())


def test_the_commands_of_the_example_run(tmp_path: Path) -> None:
    store = tmp_path / "documents.sqlite"
    first, compared, ladder, replayed = commands()
    assert "24 of 24 trials of simulated-reader (6 questions)" in run([*first, "--store", str(store)], store)
    assert "prompt-cut: the question was cut" in run(compared, store)
    rows = json.loads(run([*compared, "--json"], store))["comparisons"]
    scores = {row["condition"]: row["score"] for row in rows}
    # A regular expression finds what a search shows and a placebo hides; the adversary misleads.
    assert scores["files"] > scores["search"] > scores["search:adversarial"]
    with Store(store) as opened:
        shown = {
            (opened.condition(trace.trial.condition).name, event.changes[0].intervention if event.changes else "")
            for trace in opened.traces()
            for event in trace.events
            if isinstance(event, ToolCall)
        }
    substitutes = {(f"search:{name}", name) for name in ("sham", "placebo", "oracle", "adversarial")}
    assert shown == {("search", ""), ("both", ""), ("files", ""), *substitutes}
    parted = json.loads(run([*ladder, "--json"], store))["waterfalls"]
    assert [(each["ladder"], each["missing"]) for each in parted] == [("search", [])]
    plan = ["--plan", str(EXAMPLE / "plan.toml")]
    assert "were replayed, a random sample" in run([*replayed, *plan], store)
    with Store(store) as opened:
        replayed_as = {
            found.resumption.change.substitute
            for found_of_trial in opened.counterfactuals(scorers=opened.scorers()).values()
            for found in found_of_trial
            if isinstance(found.resumption.change, Rerun)
        }
    assert "placebo" in replayed_as
