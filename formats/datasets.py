"""Trials as a Hugging Face dataset."""

import logging
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolablate.formats.commands import choosing, output_folder
from toolablate.formats.parquet import write_parquet
from toolablate.traces import options
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install

if TYPE_CHECKING:
    from toolablate.formats.exporting import Exported


@click.command(
    "datasets",
    epilog=options.example("toolablate export datasets STORE -o dataset"),
    short_help="The same tables as a Hugging Face dataset.",
)
@click.argument("store", type=options.FilePath())
@output_folder
@choosing
def export_command(store: Path, output: Path, **given: Any) -> None:
    """Write the trials of STORE as a Hugging Face dataset: the tables of `export parquet`, each a configuration, with a
    card that describes them, and the same saved as a DatasetDict in the folder's `saved`.

    Nothing is sent anywhere, and nothing that is there is replaced. Before you publish it, say in the card under which
    licence.
    """
    from importlib.metadata import version

    from toolablate.formats.exporting import exporting, waiting
    from toolablate.traces.new_files import new_folder

    require_datasets()
    with new_folder(output, lambda _: False) as folder, exporting(store, given) as export:
        rows = write_dataset(export.trials, folder, export.scorers, version=version("toolablate"))
        with waiting("saving the tables as a DatasetDict"):
            save_dataset(rows, folder)
    told = ", ".join(f"{count} {name}" for name, count in rows.items() if count)
    click.echo(f"{told} in {click.format_filename(output)}", err=True)


# Tables as a Hugging Face dataset: a folder that `load_dataset` opens, and the same saved for `load_from_disk`.


DATA, SAVED, CARD = "data", "saved", "README.md"
_WARNING = """> **SIMULATED.** {simulated} of {trials} trials are of simulated models: stand-ins that show what the
> analysis does. They are no measurement of any model. The column `simulated` tells them apart.

"""
_BODY = """Questions that were put to the same models under different tool conditions by toolablate {version}: every
trial, what happened in it, how it was scored, and what is held for the cause of failures.

{warning}## Tables

Each that has rows is a configuration of its own (`load_dataset("PATH", "events")`) and a split of `saved`
(`load_from_disk`). They are joined by `trial`.

{tables}

## Licence

Questions, pages and models' replies are of others. Say here under which terms you pass them on, and leave out what you
may not: nothing was left out.
"""


def require_datasets() -> None:
    """Raises InputError where datasets is not installed."""
    try:
        import datasets  # noqa: F401
    except ImportError:
        raise InputError("datasets is not installed", hint=to_install("datasets"), code="no_datasets") from None


def write_dataset(
    exported: "Iterable[Exported]", folder: Path, scorers: Sequence[str], *, version: str
) -> dict[str, int]:
    """Into a folder that is there: the tables, and a card that describes them. Returns the number of rows by table.
    `scorers` are those whose scores count. Raises OSError."""
    (folder / DATA).mkdir()
    rows = write_parquet(exported, folder / DATA, scorers, categories=False)
    (folder / CARD).write_text(_card(rows, _simulated(folder), version), encoding="utf-8")
    return rows


def save_dataset(rows: Mapping[str, int], folder: Path) -> None:
    """The tables of `write_dataset`, of so many rows, as a DatasetDict beside them. Holds a group of rows at a time;
    for a while the tables stand twice on the disk besides. Nothing is asked of the hub. Raises OSError."""
    from datasets import Dataset, DatasetDict

    cache = folder / ".cache"

    with _quietly():
        # What has no row, the library can save and not load.
        tables = {
            name: Dataset.from_parquet(str(folder / DATA / f"{name}.parquet"), cache_dir=str(cache))
            for name, count in rows.items()
            if count
        }
        DatasetDict(tables).save_to_disk(str(folder / SAVED))
    shutil.rmtree(cache)


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the library's own bars and warnings."""
    from datasets.utils.logging import get_verbosity, set_verbosity
    from datasets.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    before, hidden = get_verbosity(), are_progress_bars_disabled()
    set_verbosity(logging.ERROR)
    disable_progress_bars()
    try:
        yield
    finally:
        set_verbosity(before)
        if not hidden:
            enable_progress_bars()


def _simulated(folder: Path) -> int:
    import pyarrow.parquet as pq

    found = pq.read_table(folder / DATA / "trials.parquet", columns=["simulated"])
    return sum(found.column("simulated").to_pylist())


def _card(rows: Mapping[str, int], simulated: int, version: str) -> str:
    from toolablate.formats.trial_tables import TABLES

    warning = _WARNING.format(simulated=simulated, trials=rows["trials"]) if simulated else ""
    configurations = "".join(
        f"- config_name: {table.name}\n  data_files: {DATA}/{table.name}.parquet\n"
        + ("  default: true\n" if place == 0 else "")
        for place, table in enumerate(TABLES)
        if rows[table.name]
    )
    head = f"---\ntags:\n- toolablate\nconfigs:\n{configurations}---\n\n# Trials of toolablate\n\n"
    return head + _BODY.format(version=version, warning=warning, tables="\n\n".join(_described(rows)))


def _described(rows: Mapping[str, int]) -> Iterator[str]:
    from toolablate.formats.trial_tables import TABLES, columns_table

    for table in TABLES:
        yield f"### `{table.name}`: {rows[table.name]:,} rows\n\nOne row is {table.rows}.\n\n{columns_table(table)}"
