"""The benchmark of attribution runs. No figure is judged here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(240)
def test_a_half_is_made_run_replayed_and_scored(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    few = [
        "--questions=4",
        "--repeats=1",
        "--half=test",
        "--samples=2",
        "--rollouts=1",
        "--successes=0",
        f"--json={figures}",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "bench.planted", *few, f"--folder={tmp_path / 'made'}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=230,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "macro-F1 over causes" in done.stdout
    by_replay, by_trace = json.loads(figures.read_text(encoding="utf-8"))
    assert (by_replay["method"], by_trace["method"]) == ("replay", "trace")
    assert by_replay["wrong"] + by_replay["right"] == 4 * 4
