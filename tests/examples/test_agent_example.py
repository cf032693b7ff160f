"""The example of an agent of the user's own, as it is run."""

import shutil
from pathlib import Path

from tests.conftest import Cli
from tests.experiments.plan_files import outcomes

EXAMPLE = Path(__file__).parents[2] / "examples/agent"


def test_the_agent_answers_by_its_own_tools_alone(tmp_path: Path, cli: Cli) -> None:
    for path in EXAMPLE.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    ran = cli("run", "plan.toml")
    assert ran.returncode == 0, ran.stderr + ran.stdout
    found = outcomes(tmp_path / "runs/agent.sqlite")
    right = {condition for (question, condition), (_, verdict) in found.items() if verdict == "correct"}
    assert {"agent", "agent:oracle"} <= right
    assert {"none", "agent:offered", "agent:sham"}.isdisjoint(right)
