from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options

if TYPE_CHECKING:
    from toolablate.agents.probing import Observation
    from toolablate.traces.records import OpenAIModel


@click.command("probe")
@click.argument("plan", type=options.FilePath())
@click.option("--model", "name", help="Ask only the model or judge of this name.")
@options.as_json("what was found out")
def command(plan: Path, name: str | None, as_json: bool) -> None:
    """Ask the endpoints of PLAN what they can do, with a handful of small requests to each model and judge.

    Prints what was found out, with its evidence, and the line to put into the model's entry. What a rate limit or an
    outage hides is not found out. Each thing is told on stderr when it is known; Ctrl-C ends the asking, and what was
    found out by then is printed. Exits with 1 if the plan wants what an endpoint lacks, with 130 if it was stopped.
    """
    from toolablate.experiments import probing
    from toolablate.experiments.plans.plan import find_modules_beside, load_plan
    from toolablate.traces.plain import plain_text

    find_modules_beside(plan)
    loaded = load_plan(plan)[0]
    models = probing.models_to_probe(loaded, name)
    click.echo(probing.announce(models), err=True)

    def tell(model: "OpenAIModel", seen: "Observation") -> None:
        click.echo(
            f"  {plain_text(model.name)}: {probing.LABELS[seen.subject]}: {probing.STATES[seen.state]}", err=True
        )

    results = probing.probe_models(models, tell)
    lacking = [probing.problems(loaded, model, probed) for model, probed in zip(models, results, strict=True)]
    if as_json:
        click.echo(probing.as_json(loaded, models, results))
    else:
        from rich.console import Console

        from toolablate.experiments.probing import show

        console = Console()
        for model, probed, missing in zip(models, results, lacking, strict=True):
            show(model, probed, missing, console)
    if any(probed.stopped for probed in results):
        click.echo("Stopped: not all was asked, and what is shown is what was found out until then", err=True)
        raise SystemExit(130)
    raise SystemExit(1 if any(lacking) else 0)
