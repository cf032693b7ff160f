"""A store of a real run to look at."""

from pathlib import Path

import pytest
from tests.experiments.attribution.commands import run
from tests.made_once import made_once

PLAN = """
ladder = ["python"]
repeats = 2
[questions]
file = "builtin"
limit = 6
[[models]]
name = "trusting"
provider = "simulated"
playbook = "builtin"
"""


@pytest.fixture(scope="package")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated model on the ladder of python. Copy it before you write."""
    return made_once(tmp_path_factory, "kept", lambda folder: run(folder, PLAN)) / "s.sqlite"
