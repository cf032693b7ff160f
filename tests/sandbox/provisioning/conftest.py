"""A Jupyter of each test's own."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolablate.sandbox.provisioning import host


@pytest.fixture
def home() -> Iterator[Path]:
    """All that Jupyter and the sandbox write. With a short name: unix sockets allow 107 characters."""
    with tempfile.TemporaryDirectory(prefix="t-") as name:
        yield Path(name)


@pytest.fixture(autouse=True)
def _own_jupyter(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(home / name.lower()))
    (home / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(home / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(home / "tmp"))
    yield
    # Kernels that a failed test leaves have their files in its folder, and all of this process share that.
    if (left := host._host) is not None and left._addresses:
        left._close_at_exit()
        host._host = None
