"""The benchmark runs, and says what it measured. No figure is judged here."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_part_of_it_runs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.corpus", "--documents=300", "--subset=100", "--queries=10"],
        cwd=ROOT,
        env=os.environ | {"TOOLABLATE_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for said in ("300 documents of 300 words", "100 of them", "plain python / ours", "no Chinese"):
        assert said in done.stdout
