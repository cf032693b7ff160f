"""Logs of Inspect: exported for its viewer, and imported."""

from pathlib import Path
from typing import Any

import click

from toolablate.formats.commands import choosing_planned, output_folder
from toolablate.traces import options


@click.command(
    "inspect",
    epilog=options.example("toolablate export inspect STORE -o logs"),
    short_help="One log of Inspect for each model and condition, for its viewer.",
)
@click.argument("store", type=options.FilePath())
@output_folder
@choosing_planned
def export_command(store: Path, output: Path, **given: Any) -> None:
    """Write the trials of STORE as logs of Inspect, one for each model and condition, for `inspect view` to open.

    Messages, calls and scores are Inspect's own; why a trial went as it did and what people said of it are among its
    sample's metadata. `toolablate import inspect` reads them again. The folder is there whole or not at all; an earlier
    export is replaced. Replays stay out: each is a condition of its own, and would be a log of one sample.
    """
    from toolablate.formats.exporting import exporting
    from toolablate.formats.inspect.export_logs import is_export, require_inspect, write_logs
    from toolablate.reports.numbers import counted
    from toolablate.traces.new_files import new_folder
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


@click.command(
    "inspect",
    epilog=options.example("toolablate import inspect logs/a.eval --store imports.sqlite"),
    short_help="Bring in logs of Inspect.",
)
@options.imported
@click.option("--scorer", metavar="NAME", help="Show this scorer's scores in tables; by default the log's first.")
@options.as_json("what was imported")
def import_command(
    files: tuple[Path, ...], store: Path, condition: str | None, scorer: str | None, as_json: bool
) -> None:
    """Bring the Inspect logs FILES (.eval, .json) into a store.

    A log is one model under one condition: its solver, its parameters and the tools that it offers. The same question
    in two logs is one question, so that they are compared in pairs. What is there already is not imported twice.
    """
    from toolablate.formats.importing import import_and_tell
    from toolablate.formats.inspect.import_logs import read_log
    from toolablate.traces.commands import stopped_cleanly

    with stopped_cleanly():
        click.echo(import_and_tell(read_log, files, store, condition=condition, scorer=scorer, as_json=as_json))
