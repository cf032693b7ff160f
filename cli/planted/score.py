from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options

if TYPE_CHECKING:
    from toolablate.experiments.planted.scoring import PlantedScore
    from toolablate.traces.records import Method


@click.command("score")
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
def command(
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
