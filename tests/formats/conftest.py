"""tests.formats.conftest"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.formats.stores import everything

from toolablate.formats.exporting import ExportChoice, Exported, Reasons, chosen, read_exported
from toolablate.formats.imported import Imported
from toolablate.formats.importing import import_logs
from toolablate.formats.inspect.import_logs import read_log
from toolablate.traces.store import Store


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return everything(tmp_path_factory.mktemp("everything") / "s.sqlite")


def all_of(path: Path, reasons: dict[str, Reasons] | None = None) -> list[Exported]:
    """Of a store, replays among it."""
    with Store(path) as opened:
        return list(read_exported(opened, chosen(opened, ExportChoice(replays=True)), reasons))


HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def inspect_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of logs that Inspect itself has written; see `inspect_task`."""
    pytest.importorskip("inspect_ai")
    folder = tmp_path_factory.mktemp("inspect")
    subprocess.run([sys.executable, HERE / "inspect_task.py", folder], check=True, timeout=100)
    return folder


def imported(store: Path, *paths: Path, scorer: str | None = None) -> Sequence[Imported]:
    return import_logs([read_log(path) for path in paths], store, scorer=scorer)
