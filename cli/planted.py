"""The commands on the planted benchmark."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options
from toolablate.traces.commands import SuggestingGroup

if TYPE_CHECKING:
    from toolablate.benchmarks.planted.cases import Half
    from toolablate.experiments.planted.scored_against_truth import PlantedScore
    from toolablate.traces.records import Method


@click.group(name="planted", cls=SuggestingGroup)
def planted_group() -> None:
    """Synthetic failures: simulated models whose errors have a known cause, to validate attribution."""


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
    help="Templates to use: rules are tuned on dev and validated on test.",
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
    """Write questions, scenarios, pages and a plan into FOLDER, for `toolablate run FOLDER/plan.toml`.

    The plan has a ladder for python, for search, and for both with calls that fail at times. planted.jsonl holds the
    ground truth of each question; no run reads it.
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
    help="Attributions to score: by replay, or by trace rules alone.",
)
@click.option(
    "--folder",
    type=options.FilePath(file_okay=False),
    help="The folder that `planted make` wrote, if it moved.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=0),
    metavar="N",
    default=60,
    show_default=True,
    help="Resamples of questions, for interval coverage.",
)
@options.seed("these samples and of guesses")
@click.option(
    "--judges",
    type=options.FilePath(dir_okay=False),
    help="Also write the judges' confusion matrices, for `attribute --judge-matrix`.",
)
@options.as_json("all figures")
def score_command(
    store: Path, method: "Method", folder: Path | None, samples: int, seed: int, judges: Path | None, as_json: bool
) -> None:
    """Score the attributions of STORE against the ground truth of its synthetic failures.

    STORE holds a plan of `planted make` that was run, then replayed by `toolablate attribute STORE --replay`. Ground
    truth comes from the scenarios, not from replays. It has three parts: the cause of each error (the same random draw,
    evaluated with each influence removed in turn), the step where the early-answer distribution turns, and the exact
    share of each mechanism.

    If judges have read the wrong trials (`toolablate attribute STORE --judge NAME --plan PLAN`), their labels are
    scored too.
    """
    from toolablate.experiments.planted.scored_against_truth import score_planted

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
