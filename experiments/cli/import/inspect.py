from pathlib import Path

import click


@click.command("inspect")
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--store",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="A store of imports; made where there is none.",
)
@click.option("--condition", metavar="NAME", help="What to call the condition of these logs.")
@click.option("--scorer", metavar="NAME", help="Show this scorer's scores in tables; by default the log's first.")
@click.option("--json", "as_json", is_flag=True, help="Print what was imported as JSON.")
def command(files: tuple[Path, ...], store: Path, condition: str | None, scorer: str | None, as_json: bool) -> None:
    """Bring the Inspect logs FILES (.eval, .json) into a store.

    A log is one model under one condition: its solver, its parameters and the tools that it offers. The same question
    in two logs is one question, so that they are compared in pairs. What is there already is not imported twice.
    """
    from toolablate.experiments.imported_logs import import_and_tell
    from toolablate.traces.imports.inspect import read_log

    click.echo(import_and_tell(read_log, files, store, condition=condition, scorer=scorer, as_json=as_json))
