"""How much is imported to read a store: reading needs nothing of what runs trials or replays."""

import subprocess
import sys

import pytest

COUNT = "import sys, {module}; print(sum(name.startswith('toolablate') for name in sys.modules), *sys.modules)"


@pytest.mark.parametrize(
    ("module", "most"),
    [
        ("toolablate.analysis.from_store, toolablate.reports.terminal.comparison", 55),
        ("toolablate.experiments.attribution.store_report, toolablate.reports.terminal.attribution", 153),
    ],
)
def test_reading_a_store_imports_few_modules(module: str, most: int) -> None:
    told = subprocess.run(
        [sys.executable, "-c", COUNT.format(module=module)], capture_output=True, text=True, check=True, timeout=60
    )
    count, *names = told.stdout.split()
    assert int(count) <= most, sorted(name for name in names if name.startswith("toolablate"))
    assert not {"langgraph", "openai", "docker", "jupyter_client", "httpx"} & set(names)
