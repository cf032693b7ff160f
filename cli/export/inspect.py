from pathlib import Path
from typing import Any

import click

from toolablate.cli.export.choosing import choosing_planned, output_folder
from toolablate.traces import options


@click.command("inspect")
@click.argument("store", type=options.FilePath())
@output_folder
@choosing_planned
def command(store: Path, output: Path, **given: Any) -> None:
    """Write the trials of STORE as logs of Inspect, one for each model and condition, for `inspect view` to open.

    Messages, calls and scores are Inspect's own; why a trial went as it did and what people said of it are among its
    sample's metadata. `toolablate import inspect` reads them again. The folder is there whole or not at all; an earlier
    export is replaced. Replays stay out: each is a condition of its own, and would be a log of one sample.
    """
    from toolablate.cli.export.reading import exporting
    from toolablate.formats.exports.inspect import is_export, require_inspect, write_logs
    from toolablate.formats.exports.places import new_folder
    from toolablate.reports.numbers import counted
    from toolablate.traces.store import Store

    require_inspect()
    with Store(store) as opened:
        baseline = next((run.baseline for run in reversed(opened.runs())), "")
        models, conditions = ([each.identity() for each in all_of] for all_of in (opened.models(), opened.conditions()))
    with new_folder(output, is_export) as folder, exporting(store, given) as export:
        written = write_logs(
            export.trials,
            folder,
            name=store.stem,
            baseline=baseline,
            scorers=export.scorers,
            models=models,
            conditions=conditions,
        )
    told = f"{counted(export.count, 'trial')} in {counted(len(written), 'log')} in {click.format_filename(output)}"
    click.echo(f"{told}; open them with: inspect view --log-dir {click.format_filename(output)}", err=True)
