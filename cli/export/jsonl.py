import sys
from pathlib import Path
from typing import Any

import click

from toolablate.cli.export.choosing import choosing
from toolablate.traces import options


@click.command("jsonl")
@click.argument("store", type=options.FilePath())
@click.option(
    "-o",
    "--output",
    type=options.FilePath(allow_dash=True),
    required=True,
    help='The file to write, or "-" for standard output.',
)
@choosing
def command(store: Path, output: Path, **given: Any) -> None:
    """Write the trials of STORE as JSON, one trace a line with everything that is known of it.

    That is its question, model, condition, events, scores, why it went as it did, and what judges and people said of
    it. The file is there whole or not at all; docs/exports.md has its keys.
    """
    from toolablate.cli.export.reading import exporting
    from toolablate.formats.exports.jsonl import write_jsonl
    from toolablate.formats.exports.places import new_file, require_file
    from toolablate.reports.numbers import counted
    from toolablate.traces.output import refuse_store

    if str(output) == "-":
        with exporting(store, given) as export:
            write_jsonl(export.trials, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    require_file(output)
    refuse_store(output, "-o")
    with exporting(store, given) as export, new_file(output) as file:
        write_jsonl(export.trials, file)
    click.echo(f"{counted(export.count, 'trial')} in {click.format_filename(output)}", err=True)
