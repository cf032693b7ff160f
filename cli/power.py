from pathlib import Path

import click

from toolablate.traces import options


@click.command("power")
@click.argument("plan", type=options.FilePath())
@click.option("--effect", type=float, metavar="POINTS", help="Also say what it takes to see an effect of this size.")
@click.option("--power", type=float, default=0.8, show_default=True, help="The chance to find an effect that is there.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="The level of the two-sided test.")
@click.option("--from", "earlier", metavar="STORE", type=options.FilePath(), help="Estimate variances from this store.")
@click.option("--between", type=float, help="Variance of the true difference over questions; by default 0.02.")
@click.option("--within", type=float, help="Variance of a trial's score within a question; by default 0.075.")
@options.as_json("it")
def command(
    plan: Path,
    effect: float | None,
    power: float,
    alpha: float,
    earlier: Path | None,
    between: float | None,
    within: float | None,
    as_json: bool,
) -> None:
    """Say what effects PLAN could show, before it is run.

    The smallest difference between a condition and the baseline that its questions find at several numbers of repeats,
    also where the level is corrected for the number of comparisons. Runs nothing and needs no key.
    """
    from toolablate.analysis.power import Aim, power_json
    from toolablate.experiments.plans.plan import find_modules_beside, load_plan
    from toolablate.experiments.power import Assumed, plan_power

    find_modules_beside(plan)
    loaded, _ = load_plan(plan)
    table = plan_power(loaded, Aim(power, alpha, effect), assumed=Assumed(between, within), earlier=earlier)
    if as_json:
        click.echo(power_json(table))
        return
    from rich.console import Console

    from toolablate.reports.terminal.power import power_view

    Console().print(power_view(table))
