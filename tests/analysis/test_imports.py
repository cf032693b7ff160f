"""What is imported to read a store: nothing of what runs trials or replays them."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

IMPORTED = "import sys, {modules}; print(*sys.modules)"
LIBRARIES = {"langgraph", "openai", "docker", "jupyter_client", "httpx", "ray"}
ROOMS = {
    f"toolablate.{room}"
    for room in ("agents", "api", "benchmarks", "cli", "experiments", "formats", "sandbox", "viewer")
}
RUN_AND_REPLAY = {
    f"toolablate.experiments.{room}" for room in ("cluster", "construction", "environment", "replay", "running")
}


@pytest.mark.parametrize(
    ("modules", "unneeded"),
    [
        ("toolablate.analysis.from_store, toolablate.reports.terminal.comparison", ROOMS),
        (
            "toolablate.experiments.attribution.store_report, toolablate.reports.terminal.attribution",
            {"toolablate.api", "toolablate.benchmarks", "toolablate.cli", "toolablate.formats", "toolablate.viewer"}
            | RUN_AND_REPLAY,
        ),
    ],
)
def test_reading_a_store_imports_nothing_that_runs_or_replays(modules: str, unneeded: set[str]) -> None:
    told = subprocess.run(
        [sys.executable, "-c", IMPORTED.format(modules=modules)], capture_output=True, text=True, check=True, timeout=60
    )
    assert all(find_spec(name) for name in LIBRARIES | unneeded), "a name that nothing has is never imported"
    assert not (LIBRARIES | unneeded) & set(told.stdout.split())
