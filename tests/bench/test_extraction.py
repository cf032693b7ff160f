"""The benchmark runs, and judges only what the aim is for. No figure is judged here."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
OWN = "tests/tools/extraction/gold"


def said(*options: str) -> str:
    command = [sys.executable, "-m", "bench.extraction", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_aim_is_for_the_pages_of_others() -> None:
    assert "aim" not in said()
    assert "aim 0.924: " in said("--gold", OWN)
