"""`toolablate export datasets`."""

from pathlib import Path

import pytest
from tests.formats.stores import LONG, TOOLS
from tests.formats.test_jsonl import called, refused

from toolablate.formats.trial_tables import TABLES

datasets = pytest.importorskip("datasets")


@pytest.fixture(scope="module")
def folder(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("datasets") / "made"
    result = called("datasets", store, "-o", folder)
    assert result.exit_code == 0, result.output
    assert "4 trials, " in result.stderr
    return folder


def test_the_folder_opens_with_load_dataset(folder: Path, tmp_path: Path) -> None:
    trials = datasets.load_dataset(str(folder), split="train", cache_dir=str(tmp_path))
    assert trials["trial"][1] == TOOLS.id
    assert trials[1]["started_at"].isoformat() == "2026-01-02T03:04:05.678901+00:00"
    events = datasets.load_dataset(str(folder), "events", split="train", cache_dir=str(tmp_path))
    (call,) = (each for each in events if each["tool"] == "web/../search")
    assert call["text"] == LONG
    assert [each["mime"] for each in call["artifacts"]] == ["image/png", "text/html"]


def test_it_opens_with_load_from_disk(folder: Path) -> None:
    saved = datasets.load_from_disk(str(folder / "saved"))
    assert set(saved) == {table.name for table in TABLES}
    assert saved["labels"]["person"] == ["Ada\u202e", "Bob"]
    assert saved["attributions"]["trial"] == [TOOLS.id]


def test_the_card_describes_every_column_and_no_licence(folder: Path) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\n")
    assert "license:" not in card
    assert "SIMULATED" not in card
    for table in TABLES:
        assert f"- config_name: {table.name}\n  data_files: data/{table.name}.parquet\n" in card
        for column in table.columns:
            assert f"| `{column.name}` | {column.kind} | {column.meaning} |" in card
    assert {path.name for path in folder.iterdir()} == {"README.md", "data", "saved"}


def test_tables_without_rows_are_no_configurations(store: Path, tmp_path: Path) -> None:
    made = tmp_path / "made"
    assert called("datasets", store, "-o", made, "--condition", "none", "--no-attributions").exit_code == 0
    assert "config_name: labels" not in (made / "README.md").read_text(encoding="utf-8")
    assert set(datasets.load_from_disk(str(made / "saved"))) == {
        *("trials", "events", "scores", "questions", "models", "conditions")
    }


def test_a_card_that_was_edited_is_not_replaced(store: Path, folder: Path) -> None:
    assert "has other files, such as 'README.md'" in refused("datasets", store, "-o", folder)


def test_simulated_models_are_told_at_the_top(tmp_path: Path) -> None:
    from toolablate.formats.datasets import _card

    rows = {table.name: 2 for table in TABLES}
    assert "> **SIMULATED.** 1 of 2 trials are of simulated models" in _card(rows, 1, "0")
