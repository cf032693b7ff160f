"""The two cases of LPFQA's appendix: run, compared, attributed and shown as the README beside them says, kernels
included."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.project.pages import ROOT, blocks, commands, text_of

from toolablate.sandbox import open_sandbox

EXAMPLE = "examples/lpfqa_cases"
PAGE = f"{EXAMPLE}/README.md"
STORE = f"{EXAMPLE}/runs/lpfqa_cases.sqlite"
CASES = {("cantor-products", "python"): "lock_in", ("perovskite-supercell", "search"): "retrieval_distraction"}
TURN = 3
"""The event of the cell that prints the gaps, and of the page on compound scripts."""


def run(*arguments: str, folder: Path) -> str:
    command = [sys.executable, "-m", "toolablate", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=580)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """Holds a copy of the example that runs its code without a sandbox where none works."""
    shutil.copytree(ROOT / EXAMPLE, tmp_path / EXAMPLE, ignore=shutil.ignore_patterns("runs"))
    sandbox = open_sandbox("forkserver")
    backend = "forkserver" if (await sandbox.check()).works else "none"
    await sandbox.close()
    plan = tmp_path / EXAMPLE / "plan.toml"
    plan.write_text(f'sandbox = "{backend}"\n{plan.read_text(encoding="utf-8")}', encoding="utf-8")
    return tmp_path


def alike(line: str) -> str:
    """Without figures and bars: replays are draws, whose number and seeds may change."""
    return re.sub(r"[\d.]*\d", "#", " ".join(re.sub(r"[█·]+", "█", line).split()))


def right(scores: list[float]) -> str:
    """As the README's table has it."""
    return f"{sum(map(round, scores))} of {len(scores)}" if scores else "not asked"


@pytest.mark.deep
@pytest.mark.timeout(600)
def test_both_cases_are_attributed_to_what_the_paper_says_where_it_happened(folder: Path) -> None:
    typed = [shlex.split(line)[1:] for line in commands(PAGE)]
    told = "".join(run(*arguments, folder=folder) for arguments in typed)
    lines = {alike(line) for line in told.splitlines()}
    assert [line for body in blocks(PAGE, "text") for line in body.splitlines() if alike(line) not in lines] == []

    found = json.loads(run("attribute", STORE, "--json", folder=folder))["trials"]
    for (question, condition), mechanism in CASES.items():
        trials = [each for each in found if (each["question"], each["condition"]) == (question, condition)]
        wrong = [each["attribution"] for each in trials if each["value"] < 1]
        assert len(wrong) >= 4
        assert {(each["mechanism"], each["method"]) for each in wrong} == {(mechanism, "replay")}
        assert {each["turned_at"] for each in wrong} == {TURN}
        assert all(each["evidence"] == [TURN] for each in wrong)
    blamed = {
        (each["question"], each["condition"], each["attribution"]["mechanism"]) for each in found if each["value"] < 1
    }
    assert {(*case, mechanism) for case, mechanism in CASES.items()} == {
        each for each in blamed if each[2] in CASES.values()
    }

    # The main README has a row of each case's trial: right answers without tools, with them, and in replays.
    rows = [line for line in text_of("README.md").splitlines() if line.startswith("| ") and " of 5" in line]
    shown = [arguments[2] for arguments in typed if "--why" in arguments]
    for row, trial in zip(rows, shown, strict=True):
        why = json.loads(run("show", STORE, trial, "--why", "--json", folder=folder))["evidence"]
        rollouts = [each["scores"] for each in why["inputs"]["replay"]["rollouts"]]
        with_tool = [why["score"]["value"], *why["repeats"]]
        counts = [why["inputs"]["arms"]["none"], with_tool, *rollouts, why["ignore_tools"]]
        assert re.findall(r"\d of \d|not asked", row) == [right(scores) for scores in counts]

    # Each result by itself, on request: the page and the thread that follows share the harm.
    run("attribute", STORE, "--replay", "--rollouts", "2", "--each-result", folder=folder)
    why = json.loads(run("show", STORE, shown[1], "--why", "--json", folder=folder))
    shapley = {int(event): each["value"] for event, each in why["evidence"]["shapley"].items()}
    assert sum(shapley.values()) == pytest.approx(-1)
    assert sorted(shapley, key=lambda event: shapley[event])[:2] == [TURN + 2, TURN]
    assert (why["attribution"]["mechanism"], why["attribution"]["turned_at"]) == ("retrieval_distraction", TURN)
