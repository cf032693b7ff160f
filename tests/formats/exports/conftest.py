from pathlib import Path

import pytest
from tests.formats.exports.stores import everything

from toolablate.formats.exporting import ExportChoice, Exported, Reasons, chosen, read_exported
from toolablate.traces.store import Store


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return everything(tmp_path_factory.mktemp("everything") / "s.sqlite")


def all_of(path: Path, reasons: dict[str, Reasons] | None = None) -> list[Exported]:
    """Of a store, replays among it."""
    with Store(path) as opened:
        return list(read_exported(opened, chosen(opened, ExportChoice(replays=True)), reasons))
