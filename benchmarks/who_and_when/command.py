from pathlib import Path

import click

from toolablate.traces import options


@click.command("who-and-when", epilog=options.example("toolablate who-and-when DATA predictions.jsonl"))
@click.argument("data", type=options.FilePath())
@click.argument("predictions", type=options.FilePath(), required=False)
@options.seed("the bootstrap")
@options.as_json("all figures")
def command(data: Path, predictions: Path | None, seed: int, as_json: bool) -> None:
    """Score PREDICTIONS of who failed when in the runs of DATA, a file of Who&When or the folder of its files; without
    PREDICTIONS, baselines alone.

    A line of PREDICTIONS is {"id": "hand_crafted/17", "agent": "WebSurfer", "step": 4}: the run's set and number, and
    its step, counted from 0. A run without a line is wrong. Steps are compared as whole numbers, by set and by length
    of the run, with 95 % intervals from a bootstrap over questions. The baselines are random guesses and constants;
    each constant is the best of its kind on the very runs that it is scored on.
    """
    from toolablate.benchmarks.who_and_when.accuracy import read_who_and_when, who_and_when_json

    found = read_who_and_when(data, predictions, seed=seed)
    if as_json:
        click.echo(who_and_when_json(found))
        return
    from rich.console import Console

    from toolablate.benchmarks.who_and_when.terminal_tables import who_and_when_view

    Console().print(who_and_when_view(found))
