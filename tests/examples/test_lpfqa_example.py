"""The example of LPFQA's protocol: imported, recorded, replayed and tabled as its README says, kernels included."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.servers.ports import free_port

from toolablate.sandbox import open_sandbox
from toolablate.traces.records import ToolCall
from toolablate.traces.store import Store

EXAMPLE = Path(__file__).parents[2] / "examples/lpfqa"
MODELS = ("made-up-a", "made-up-b")
CONDITIONS = ("none", "python", "search", "all")


def run(*command: str | Path, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, command)], cwd=folder, capture_output=True, text=True, check=False, timeout=110
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A copy of the example that listens on a free port, and runs its code without a sandbox where none works."""
    for file in EXAMPLE.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    (tmp_path / "data").mkdir()
    sandbox = open_sandbox("forkserver")
    backend = "forkserver" if (await sandbox.check()).works else "none"
    await sandbox.close()
    plan = (tmp_path / "plan.toml").read_text(encoding="utf-8").replace("18439", str(free_port()))
    (tmp_path / "plan.toml").write_text(f'sandbox = "{backend}"\n{plan}', encoding="utf-8")
    return tmp_path


def knows() -> dict[tuple[str, str, str], float]:
    """What was made up to come out, by question, model and condition."""
    lines = (EXAMPLE / "made_up.jsonl").read_text(encoding="utf-8").splitlines()
    return {
        (entry["question"], model, condition): float(known)
        for entry in map(json.loads, lines)
        for model in MODELS
        for condition, known in zip(CONDITIONS, entry["knows"][model], strict=True)
    }


def test_the_example_comes_out_as_it_was_made_up(folder: Path) -> None:
    told = run("-m", "toolablate", "lpfqa", "import", "rows.jsonl", "-o", "data/questions.jsonl", folder=folder)
    assert "12 questions" in told
    run("record.py", folder=folder)
    assert not (folder / "recording.toml").exists()
    ran = json.loads(run("-m", "toolablate", "run", "plan.toml", "--json", folder=folder))
    assert (ran["planned"], ran["missing"], ran["failures"], ran["ungraded"]) == (96, 0, [], 0)
    run("-m", "toolablate", "verify", "runs/lpfqa.sqlite", "--same-as", "data/recorded.sqlite", folder=folder)
    with Store(folder / "runs/lpfqa.sqlite") as store:
        observed = {(each.question, each.model, each.condition): each for each in store.summaries()}
        asked_again = {
            store.question(trace.trial.question).id
            for trace in store.traces()
            for score in store.scores(trace.trial.id)
            if score.judgement is not None and len(score.judgement.calls) > 1
        }
        failed = [
            event.output
            for trace in store.traces()
            for event in trace.events
            if isinstance(event, ToolCall) and (event.status != "ok" or "No results" in event.output)
        ]
    assert {key: each.value for key, each in observed.items()} == knows()
    assert {each.kind for each in observed.values()} == {"choice", "several", "reference"}
    assert asked_again == {"qpcr-slope"}
    assert failed == []
    tables = run("-m", "toolablate", "lpfqa", "tables", "runs/lpfqa.sqlite", folder=folder)
    for words in ("By domain", "Without the questions that tell no models apart", "search against none"):
        assert words in tables
