"""The simulated workers say to the real driver what was recorded. Ray's are in `tests/experiments/cluster`."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_simulated_workers_give_figures(tmp_path: Path) -> None:
    options = [str(tmp_path), "5", "20", "10", "0"]
    command = [sys.executable, "-m", "bench.cluster.simulated", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["trials"] == 20
    assert seen["cpu"] > 0
