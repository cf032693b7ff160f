from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options

if TYPE_CHECKING:
    from toolablate.benchmarks.planted import Half


@click.command("make")
@click.argument("folder", type=options.FilePath(file_okay=False))
@click.option(
    "--questions", type=click.IntRange(min=1), metavar="N", default=50, show_default=True, help="How many questions."
)
@click.option(
    "--half",
    type=click.Choice(["dev", "test"]),
    default="dev",
    show_default=True,
    help="Whose templates: rules are tuned on dev and judged on test.",
)
@options.seed("all choices")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    metavar="N",
    default=3,
    show_default=True,
    help="Trials of each question and condition.",
)
def command(folder: Path, questions: int, half: "Half", seed: int, repeats: int) -> None:
    """Write questions, scenes, pages and a plan into FOLDER, for `toolablate run FOLDER/plan.toml`.

    The plan has a ladder for python, for search, and for both with calls that fail at times. planted.jsonl says what
    was planted in each question; no run reads it.
    """
    from collections import Counter

    from toolablate.experiments.planted.making import PLAN, make_planted
    from toolablate.reports.numbers import counted

    planted = make_planted(folder, half, questions=questions, seed=seed, repeats=repeats)
    click.echo(f"{folder / PLAN}: {counted(len(planted), 'question')} of the half {half}, seed {seed}")
    causes = Counter(
        story if each.nature == "tools" else each.nature for each in planted for story in each.stories.values()
    )
    width = len(str(max(causes.values())))
    for cause, number in sorted(causes.items()):
        click.echo(f"{number:>{width}} {cause.replace('_', ' ')}")
