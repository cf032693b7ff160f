from pathlib import Path
from typing import Any

import click

from toolablate.cli.export.choosing import choosing, output_folder
from toolablate.traces import options


@click.command("datasets")
@click.argument("store", type=options.FilePath())
@output_folder
@choosing
def command(store: Path, output: Path, **given: Any) -> None:
    """Write the trials of STORE as a Hugging Face dataset: the tables of `export parquet`, each a configuration, with a
    card that describes them, and the same saved as a DatasetDict in the folder's `saved`.

    Nothing is sent anywhere, and nothing that is there is replaced. Before you publish it, say in the card under which
    licence.
    """
    from importlib.metadata import version

    from toolablate.cli.export.reading import exporting, waiting
    from toolablate.formats.exports.datasets import require_datasets, save_dataset, write_dataset
    from toolablate.formats.exports.places import new_folder

    require_datasets()
    with new_folder(output, lambda _: False) as folder, exporting(store, given) as export:
        rows = write_dataset(export.trials, folder, export.scorers, version=version("toolablate"))
        with waiting("saving the tables as a DatasetDict"):
            save_dataset(rows, folder)
    told = ", ".join(f"{count} {name}" for name, count in rows.items() if count)
    click.echo(f"{told} in {click.format_filename(output)}", err=True)
