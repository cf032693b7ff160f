from pathlib import Path

import click

from toolablate.traces import options


@click.command("baselines")
@click.argument("data", type=options.FilePath())
@options.seed("the bootstrap")
@options.as_json("all figures")
def command(data: Path, seed: int, as_json: bool) -> None:
    """Say what constants, random guesses and the like are right for in the runs of DATA, a file of Who&When or the
    folder of its files. Each constant is the best of its kind on the very runs that it is scored on.
    """
    from toolablate.benchmarks.who_and_when.scoring import read_who_and_when
    from toolablate.cli.who_and_when.shown import show

    show(read_who_and_when(data, seed=seed), as_json=as_json)
