from pathlib import Path

import click

from toolablate.traces import options


@click.command("inspect")
@options.imported
@click.option("--scorer", metavar="NAME", help="Show this scorer's scores in tables; by default the log's first.")
@options.as_json("what was imported")
def command(files: tuple[Path, ...], store: Path, condition: str | None, scorer: str | None, as_json: bool) -> None:
    """Bring the Inspect logs FILES (.eval, .json) into a store.

    A log is one model under one condition: its solver, its parameters and the tools that it offers. The same question
    in two logs is one question, so that they are compared in pairs. What is there already is not imported twice.
    """
    from toolablate.formats.imported_logs import import_and_tell
    from toolablate.formats.imports.inspect import read_log
    from toolablate.traces.commands import stopped_cleanly

    with stopped_cleanly():
        click.echo(import_and_tell(read_log, files, store, condition=condition, scorer=scorer, as_json=as_json))
