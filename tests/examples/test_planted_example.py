"""The planted example is what the command writes, and its plan runs."""

from pathlib import Path

import pytest
from tests.experiments.replay.scenes import run

from toolablate.experiments.planted.making import CORPUS, LABELS, PLAN, QUESTIONS, SCENARIOS, make_planted
from toolablate.traces.store import Store

EXAMPLE = Path(__file__).parents[2] / "examples/planted"


@pytest.mark.parametrize("file", [PLAN, QUESTIONS, SCENARIOS, LABELS, f"{CORPUS}/pages.jsonl"])
def test_its_files_are_those_of_the_command(file: str, tmp_path: Path) -> None:
    make_planted(tmp_path, "dev", questions=12, seed=0, repeats=2)
    assert (EXAMPLE / file).read_text(encoding="utf-8") == (tmp_path / file).read_text(encoding="utf-8")


def test_its_plan_runs_with_real_tools(tmp_path: Path) -> None:
    make_planted(tmp_path, "dev", questions=3, seed=0, repeats=1)
    with Store(run(tmp_path / PLAN)) as store:
        seen = [each for each in store.summaries() if each.condition in ("python", "search")]
        called = {
            event.call.name for trial in seen for event in store.trace(trial.trial).events if event.kind == "tool_call"
        }
    assert len(seen) == 6
    assert "python" in called
    assert called & {"web_search", "browser_open"}
