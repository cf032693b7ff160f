import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from toolablate.formats.imported import Imported
from toolablate.formats.importing import import_logs
from toolablate.formats.inspect.import_logs import read_log

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def inspect_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of logs that Inspect itself has written; see `inspect_task`."""
    pytest.importorskip("inspect_ai")
    folder = tmp_path_factory.mktemp("inspect")
    subprocess.run([sys.executable, HERE / "inspect_task.py", folder], check=True, timeout=100)
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "imported.sqlite"


def imported(store: Path, *paths: Path, scorer: str | None = None) -> Sequence[Imported]:
    return import_logs([read_log(path) for path in paths], store, scorer=scorer)
