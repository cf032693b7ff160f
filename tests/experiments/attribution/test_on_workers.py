"""`toolablate attribute --replay` on workers gives what it gives on one machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.experiments.attribution.commands import called, called_through, read
from tests.experiments.attribution.conftest import REPLAY
from tests.experiments.cluster.test_on_ray import ray_folder
from tests.experiments.cluster.test_replays import InThisProcess, engines, replays_told

from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.store import DriverLock

__all__ = ["engines", "ray_folder"]

Replayed = tuple[Path, "subprocess.CompletedProcess[str]"]


def test_another_driver_and_an_address_that_is_none_are_refused(
    ran: Path, tmp_path: Path, engines: list[InThisProcess]
) -> None:
    store = Path(shutil.copy(ran, tmp_path))
    shutil.copy(ran.parent / "plan.toml", tmp_path)
    with pytest.raises(InputError, match="--cluster says how trials are replayed, and nothing is"):
        called_through("attribute", store, "--cluster", "local")
    with pytest.raises(InputError, match=r"cluster\.address: found 'somewhere'"):
        called_through("attribute", store, *REPLAY, "--cluster", "somewhere")
    with DriverLock(store), pytest.raises(StoreError, match="already drives the store"):
        called_through("attribute", store, *REPLAY, "--cluster", "local")
    assert engines == []


@pytest.mark.deep
def test_a_whole_attribution_on_workers_is_the_one_of_this_machine(
    ran: Path, replayed: Replayed, tmp_path: Path, engines: list[InThisProcess]
) -> None:
    """With arms of placebos, whose sources are the driver's."""
    here, _ = replayed
    there = Path(shutil.copy(ran, tmp_path))
    shutil.copy(ran.parent / "plan.toml", tmp_path)
    done = called("attribute", there, *REPLAY, "--cluster", "local")
    assert done.exit_code == 0, done.output
    assert replays_told(there) == replays_told(here)
    assert read(there) == read(here)
    (engine,) = engines
    assert len(engine.started) == 2, "they serve all rounds"


@pytest.mark.deep
@pytest.mark.timeout(400)
def test_a_whole_attribution_on_ray_is_the_one_of_this_machine(
    ran: Path, replayed: Replayed, tmp_path: Path, ray_folder: Path
) -> None:
    pytest.importorskip("ray")
    here, _ = replayed
    there = Path(shutil.copy(ran, tmp_path))
    shutil.copy(ran.parent / "plan.toml", tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "toolablate", "attribute", str(there), *REPLAY, "--cluster", "local"],
        env={**os.environ, "RAY_TMPDIR": str(ray_folder), "RAY_raylet_start_wait_time_s": "180"},
        capture_output=True,
        text=True,
        timeout=350,
    )
    assert done.returncode == 0, done.stderr
    assert "Starting 2 workers" in done.stderr
    assert replays_told(there) == replays_told(here)
    assert read(there) == read(here)
