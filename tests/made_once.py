"""What takes a minute to make, and several modules look at, is made once for all processes of the tests."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A copy, for who asks alone, of the folder that `make` has filled for the first who asked, in whichever process of
    pytest-xdist; the others wait for it. What `make` raises, it raises for each who asks."""
    ours = factory.getbasetemp()
    shared = ours.parent if "PYTEST_XDIST_WORKER" in os.environ else ours
    return shutil.copytree(filled(shared / f"once-{name}", make), factory.mktemp(name), dirs_exist_ok=True)


def filled(folder: Path, make: Callable[[Path], object]) -> Path:
    """It stays where it was made, since what is in it may name its own place."""
    made = folder.with_suffix(".made")
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            made.touch()
    return folder
