"""docs/sandbox.md holds: its examples run, and its table is that of the provisioners."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.sandbox.provisioning.clients import installed

from toolablate.sandbox.provisioning import SandboxProvisioner

pytestmark = pytest.mark.deep

PAGE = (Path(__file__).parents[3] / "docs" / "sandbox.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("example", "printed"), list(zip(EXAMPLES, ["ok 42\n", "42\n"], strict=True)))
def test_examples_run(example: str, printed: str) -> None:
    installed("bubblewrap")
    result = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == (printed, "")


def test_table_of_limits() -> None:
    told = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", PAGE, re.MULTILINE))
    traits = SandboxProvisioner.class_traits(config=True)
    assert told == {name: str(trait.default_value) for name, trait in traits.items()}
