from pathlib import Path

import click

from toolablate.traces import options


@click.command("explain")
@click.argument("store", type=options.FilePath())
@click.argument("trial")
@options.run("latest")
@options.scorer
@options.as_json("all evidence")
def command(store: Path, trial: str, run: str, scorer: str | None, as_json: bool) -> None:
    """Say on one page why TRIAL of STORE went as it did, with tools.

    What the model said without tools, what it did step by step and what it believed after each step, where that
    turned and what turned it, what happens otherwise, the mechanism with the method by which it is known, and what is
    not known. Beliefs and what happens otherwise are there for trials that were replayed: `attribute --replay`. Nothing
    is asked of anyone. With the same --run and --scorer, `attribute` and `view` say the same; a trial that the run did
    not call for is set against all that the store holds.
    """
    from rich.console import Console

    from toolablate.analysis.attribution.report import explained_json
    from toolablate.experiments.attribution.store_report import (
        Unexplained,
        read_explanation,
        unexplained_json,
        why_not,
    )
    from toolablate.reports.terminal.explanation import explanation_view

    found = read_explanation(store, trial, run=run, scorer=scorer)
    if isinstance(found, Unexplained):
        if as_json:
            click.echo(unexplained_json(found))
        else:
            for line in why_not(found, store):
                Console().print(line, markup=False, highlight=False, soft_wrap=True)
        return
    if as_json:
        click.echo(explained_json(found.explained))
        return
    Console().print(explanation_view(found))
