from pathlib import Path

import click

from toolablate.traces import options


@click.command("run")
@click.argument("plan", type=options.FilePath())
@click.option("--store", type=options.FilePath(), help="Write to this store instead of the plan's.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N questions.")
@options.as_json("how it went")
def command(plan: Path, store: Path | None, limit: int | None, as_json: bool) -> None:
    """Run PLAN, a TOML file; what the store already holds is not run again.

    Judges grade when the trials have ended. Ctrl-C stops cleanly, and the same command goes on from there. Exits with 1
    if trials are left undone or failed, or answers unscored or ungraded, with 2 if the run could not be made.
    """
    from rich.console import Console

    from toolablate.experiments.plans.plan import find_modules_beside, load_plan
    from toolablate.experiments.running.launch import launch
    from toolablate.experiments.running.progress import RunProgress
    from toolablate.experiments.running.summary import print_summary, summary_json
    from toolablate.traces.commands import stopped_cleanly

    find_modules_beside(plan)
    loaded, text = load_plan(plan)
    loaded = loaded.with_changes(store=store, limit=limit)
    console = Console(stderr=True)
    if loaded.sandbox.backend == "none":
        console.print('Warning: sandbox = "none": code that models write runs unprotected.', style="bold red")
    # While trials run, Ctrl-C is the run's own matter; this is before them or after.
    with stopped_cleanly(), RunProgress(console) as progress:
        launched = launch(loaded, text, progress)
    if as_json:
        click.echo(summary_json(launched))
    else:
        print_summary(launched, Console())
    raise SystemExit(1 if launched.missing or launched.unscored or launched.ungraded else 0)
