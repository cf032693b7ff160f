"""A run that is taken up again by several tests."""

from pathlib import Path

import pytest
from tests.conftest import WritePlan
from tests.experiments.plan_files import answered, call
from tests.experiments.replay.scenes import run


@pytest.fixture
def scripted(write_plan: WritePlan) -> Path:
    """A store with a trial of two cells, whose second needs the first."""
    plan = write_plan(
        {
            ("q1", "none"): answered("Answer: 3"),
            ("q2", "none"): answered("Answer: 4"),
            ("q1", "python"): [
                call("x = 1\nprint('set')"),
                call("print(x + 1)"),
                {"content": "Answer: {{last_tool_output}}"},
            ],
            ("q2", "python"): answered("Answer: 4"),
        }
    )
    return run(plan)
