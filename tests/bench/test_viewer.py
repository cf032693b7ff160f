"""The benchmark runs, and says what it measured. No figure is judged here."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_page_is_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    command = [sys.executable, "-m", "bench.viewer", "--questions", "3", "--store", tmp_path / "kept", "--json", out]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    found = json.loads(out.read_text(encoding="utf-8"))
    pages = {each["what"] for each in found["pages"]}
    assert {"overview", "first page", "filtered by text, the first time", "sorted", "last page"} <= pages
    assert "a trace of 1,000 events" in pages
    figures = [*found["index"], *found["pages"]]
    assert all(0 < each["p50"] <= each["p95"] <= each["largest"] for each in figures)
    assert (found["started"] > 0, found["index_mb"] > 0) == (True, True)
