"""The commands on the planted benchmark."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options
from toolablate.traces.commands import SuggestingGroup

if TYPE_CHECKING:
    from toolablate.benchmarks.planted.cases import Half
    from toolablate.experiments.planted.scoring import PlantedScore
    from toolablate.traces.records import Method


@click.group(name="planted", cls=SuggestingGroup)
def planted_group() -> None:
    """The planted benchmark: simulated models of which it is known why they go wrong."""


@planted_group.command("make", epilog=options.example("toolablate planted make planted --questions 50"))
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
def make_command(folder: Path, questions: int, half: "Half", seed: int, repeats: int) -> None:
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


@planted_group.command("score", epilog=options.example("toolablate planted score planted/runs/planted.sqlite"))
@click.argument("store", type=options.FilePath())
@click.option(
    "--method",
    type=click.Choice(["replay", "trace"]),
    default="replay",
    show_default=True,
    help="Whose attributions: by replays, or by the rules over traces alone.",
)
@click.option(
    "--folder",
    type=options.FilePath(file_okay=False),
    help="What `planted make` wrote, where it is not where it was.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=0),
    metavar="N",
    default=60,
    show_default=True,
    help="Samples of questions, for the coverage.",
)
@options.seed("these samples and of guesses")
@click.option(
    "--judges",
    type=options.FilePath(dir_okay=False),
    help="Also write what judges of failures are worth, for `attribute --judge-matrix`.",
)
@options.as_json("all figures")
def score_command(
    store: Path, method: "Method", folder: Path | None, samples: int, seed: int, judges: Path | None, as_json: bool
) -> None:
    """Hold the attributions of STORE against what was planted.

    STORE is that of a plan of `planted make`, run, and replayed by `toolablate attribute STORE --replay`. The truth of
    each trial is computed from the scenes, and of no replay: its cause by the same draw put to the belief without one
    thing after another, the step at which the belief falls, and the exact shares of all mechanisms.

    Where judges have read the store's wrong trials (`toolablate attribute STORE --judge NAME --plan PLAN`), what they
    say of these is shown beside what was planted.
    """
    from toolablate.experiments.planted.scoring import score_planted

    score = score_planted(store, folder=folder, method=method, samples=samples, seed=seed)
    if judges is not None:
        _write(score, judges)
    if as_json:
        from toolablate.experiments.planted.view import planted_json

        click.echo(planted_json(score))
        return
    from rich.console import Console

    from toolablate.experiments.planted.view import planted_view

    Console().print(planted_view(score))


def _write(score: "PlantedScore", judges: Path) -> None:
    from toolablate.experiments.attribution.store_report import write_matrices
    from toolablate.traces.errors import InputError

    if not score.judges:
        raise InputError(
            "--judges: no judge has read a wrong trial with results of a search",
            hint="have one read them first: toolablate attribute STORE --judge NAME --plan PLAN",
            code="no_labels",
        )
    write_matrices(score.judges, judges)
