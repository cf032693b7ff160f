from pathlib import Path
from typing import Any

import click

from toolablate.cli.export.choosing import choosing, output_folder
from toolablate.traces import options


@click.command("parquet")
@click.argument("store", type=options.FilePath())
@output_folder
@choosing
def command(store: Path, output: Path, **given: Any) -> None:
    """Write the trials of STORE as tables: trials, events, scores, attributions, diagnoses, labels, questions, models
    and conditions, each a Parquet file.

    The folder is there whole or not at all; an earlier export is replaced. docs/exports.md has the columns.
    """
    from toolablate.cli.export.reading import exporting
    from toolablate.formats.exports.parquet import is_export, require_parquet, write_parquet
    from toolablate.formats.exports.places import new_folder

    require_parquet()
    with new_folder(output, is_export) as folder, exporting(store, given) as export:
        rows = write_parquet(export.trials, folder, export.scorers)
    told = ", ".join(f"{count} {name}" for name, count in rows.items() if count)
    click.echo(f"{told} in {click.format_filename(output)}", err=True)
