import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_way_gives_figures(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    counts = ["--pages", "9", "--queries", "3", "--calls", "30", "--slow-calls", "4", "--json", str(figures)]
    command = [sys.executable, "-m", "bench.web", *counts]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    rows = json.loads(figures.read_text(encoding="utf-8"))
    assert [row["calls"] for row in rows] == [30, 30, 30, 4, 4]
    assert all(0 < row["p50"] <= row["p99"] for row in rows)
