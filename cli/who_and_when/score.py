from pathlib import Path

import click

from toolablate.traces import options


@click.command("score")
@click.argument("data", type=options.FilePath())
@click.argument("predictions", type=options.FilePath())
@options.seed("the bootstrap")
@options.as_json("all figures")
def command(data: Path, predictions: Path, seed: int, as_json: bool) -> None:
    """Score PREDICTIONS of who failed when in the runs of DATA, a file of Who&When or the folder of its files.

    A line of PREDICTIONS is {"id": "hand_crafted/17", "agent": "WebSurfer", "step": 4}: the run's set and number, and
    its step, counted from 0. A run without a line is wrong. Steps are compared as whole numbers, by set and by length
    of the run, with 95 % intervals from a bootstrap over questions, beside what constants and random guesses get.
    """
    from toolablate.benchmarks.who_and_when.scoring import read_who_and_when
    from toolablate.cli.who_and_when.shown import show

    show(read_who_and_when(data, predictions, seed=seed), as_json=as_json)
