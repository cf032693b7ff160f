"""CI ends in time on any machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.deep
def test_what_has_not_begun_by_the_deadline_is_skipped_and_counted() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/test_network_ban.py"]
    env = {**os.environ, "TOOLABLATE_TESTS_UNTIL": "1"}
    done = subprocess.run(command, cwd=Path(__file__).parents[2], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 skipped" in done.stdout
    assert "no time was left for it" in done.stdout
