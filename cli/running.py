"""Commands that run a plan, and those that look at it before: run, power, doctor."""

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from toolablate.traces import options

if TYPE_CHECKING:
    from toolablate.agents.capability_checks import Observation
    from toolablate.traces.records import OpenAIModel


@click.command(
    "run",
    epilog=options.example(
        "toolablate run plan.toml --limit 20",
        "toolablate run plan.toml --condition python --set repeats=2 --set models.0.sampling.temperature=0",
    ),
)
@click.argument("plan", type=options.FilePath())
@click.option("--store", type=options.FilePath(), help="Write to this store instead of the plan's.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N questions.")
@click.option(
    "--question", "questions", metavar="ID", multiple=True, help="Only this question. May be given several times."
)
@options.conditions
@click.option(
    "-o",
    "--set",
    "given",
    metavar="KEY=VALUE",
    multiple=True,
    help="Replace a key of the plan: repeats=2, models.0.sampling.temperature=0. May be given several times.",
)
@click.option(
    "--tag",
    "tags",
    metavar="NAME",
    multiple=True,
    help="Name the run, for --run NAME. May be given several times.",
)
@options.cluster("trials")
@options.as_json("how it went")
def run_command(
    plan: Path,
    store: Path | None,
    limit: int | None,
    questions: tuple[str, ...],
    conditions: tuple[str, ...],
    given: tuple[str, ...],
    tags: tuple[str, ...],
    cluster: str | None,
    as_json: bool,
) -> None:
    """Run PLAN, a file in TOML, YAML or JSON. Trials that the store already holds are not run again.

    Judges grade after the trials have ended. Ctrl-C stops cleanly; the same command resumes. Exits with 1 if trials are
    undone or failed, or answers unscored or ungraded; with 2 if the run could not start.
    """
    from rich.console import Console

    from toolablate.experiments.cluster import opens_of
    from toolablate.experiments.plans.plan import Only, plan_at
    from toolablate.experiments.plans.written import values_given
    from toolablate.experiments.running.launch import launch
    from toolablate.experiments.running.progress import RunProgress
    from toolablate.experiments.running.summary import print_summary, summary_json
    from toolablate.traces.commands import stopped_cleanly

    loaded, text = plan_at(plan, store=store, limit=limit, values=values_given(given))
    loaded = loaded.on_cluster(cluster)
    # While trials run, Ctrl-C is the run's own matter; this is before them or after.
    with stopped_cleanly(), RunProgress(Console(stderr=True)) as progress:
        launched = launch(loaded, text, progress, Only(conditions, questions), opens_of(loaded), tags)
    if as_json:
        click.echo(summary_json(launched))
    else:
        print_summary(launched, Console())
    raise SystemExit(1 if launched.missing or launched.unscored or launched.ungraded or launched.left_unscored else 0)


@click.command("power", epilog=options.example("toolablate power plan.toml --effect 5"))
@click.argument("plan", type=options.FilePath())
@click.option("--effect", type=float, metavar="POINTS", help="Also the sample size to detect an effect of this size.")
@click.option("--power", type=float, default=0.8, show_default=True, help="Power.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="The level of the two-sided test.")
@click.option("--from", "earlier", metavar="STORE", type=options.FilePath(), help="Estimate variances from this store.")
@click.option("--between", type=float, help="Variance of the true difference over questions; by default 0.02.")
@click.option("--within", type=float, help="Variance of a trial's score within a question; by default 0.075.")
@options.as_json("it")
def power_command(
    plan: Path,
    effect: float | None,
    power: float,
    alpha: float,
    earlier: Path | None,
    between: float | None,
    within: float | None,
    as_json: bool,
) -> None:
    """Minimum detectable effects of PLAN, before it is run.

    Shows the smallest difference from the baseline that its questions can detect at several numbers of repeats, with
    and without correction for multiple comparisons. Runs nothing and needs no key.
    """
    from toolablate.analysis.power import Aim, power_json
    from toolablate.experiments.plan_power import Assumed, plan_power
    from toolablate.experiments.plans.plan import plan_at

    loaded, _ = plan_at(plan)
    table = plan_power(loaded, Aim(power, alpha, effect), assumed=Assumed(between, within), earlier=earlier)
    if as_json:
        click.echo(power_json(table))
        return
    from rich.console import Console

    from toolablate.reports.terminal.power import power_view

    Console().print(power_view(table))


@click.command(
    "doctor",
    epilog=options.example(
        "toolablate doctor plan.toml",
        "toolablate doctor plan.toml --capabilities --model gpt-5",
        "toolablate doctor plan.toml --cluster auto",
    ),
)
@click.argument("plan", required=False, type=options.FilePath())
@click.option("--capabilities", is_flag=True, help="Check what the endpoints of PLAN can do, instead.")
@click.option("--model", "name", help="With --capabilities: check this model or judge only.")
@click.option(
    "--cluster",
    metavar="[ADDRESS]",
    is_flag=False,
    flag_value="",
    help='Check each node of a Ray cluster for PLAN, instead; by default of the plan\'s, or else "auto".',
)
@options.as_json("the findings")
def doctor_command(plan: Path | None, capabilities: bool, name: str | None, cluster: str | None, as_json: bool) -> None:
    """Check this machine, and how to get what is missing; with PLAN, what that plan needs.

    Each sandbox backend is tried by starting a kernel in it. Exits with 1 if something needed is missing.

    With --capabilities, a capability check sends a handful of small requests to each model and judge of PLAN. Prints
    the capabilities found, the evidence for each, and the line for the model's entry in the plan. What a rate limit or
    an outage hides stays unknown. Progress goes to stderr; Ctrl-C stops the check and prints what was found so far.
    Exits with 1 if the plan needs what an endpoint lacks, with 130 if stopped.

    With --cluster, every node on which trials of PLAN could run is checked, in a process as its workers have: sandbox,
    environment, packages, keys (whether they are set), token, disks. Exits with 1 if a node lacks something.
    """
    if cluster is not None:
        if plan is None or capabilities:
            raise click.UsageError("--cluster needs a PLAN, and is no --capabilities")
        options.refuse_given(("name",), "is for --capabilities")
        _check_nodes(plan, cluster, as_json=as_json)
    if capabilities:
        if plan is None:
            raise click.UsageError("--capabilities needs a PLAN")
        _check_capabilities(plan, name, as_json=as_json)
    options.refuse_given(("name",), "is for --capabilities")
    import json
    from dataclasses import asdict

    from toolablate.experiments.doctor import examine, fit_to_run
    from toolablate.experiments.plans.plan import plan_at

    loaded = plan_at(plan)[0] if plan else None
    findings = examine(loaded)
    if as_json:
        click.echo(json.dumps({"findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        from rich.console import Console

        from toolablate.experiments.doctor import findings_view

        Console().print(findings_view(findings))
    raise SystemExit(0 if fit_to_run(findings, loaded) else 1)


def _check_nodes(plan: Path, address: str, *, as_json: bool) -> NoReturn:
    from toolablate.experiments import node_checks
    from toolablate.experiments.plans.plan import plan_at
    from toolablate.traces.commands import stopped_cleanly

    loaded = plan_at(plan)[0]
    with stopped_cleanly():
        nodes = node_checks.examine_nodes(loaded, address, tell=lambda text: click.echo(text, err=True))
    if as_json:
        click.echo(node_checks.as_json(nodes))
    else:
        from rich.console import Console

        from toolablate.experiments.doctor import findings_view

        Console().print(findings_view([node.in_a_line for node in nodes]))
    raise SystemExit(0 if node_checks.fit_to_run(nodes) else 1)


def _check_capabilities(plan: Path, name: str | None, *, as_json: bool) -> NoReturn:
    from toolablate.experiments import capability_checks
    from toolablate.experiments.plans.plan import plan_at
    from toolablate.traces.terminal_text import plain_text

    loaded = plan_at(plan)[0]
    models = capability_checks.models_to_check(loaded, name)
    click.echo(capability_checks.announce(models), err=True)

    def tell(model: "OpenAIModel", seen: "Observation") -> None:
        found = f"{capability_checks.LABELS[seen.subject]}: {capability_checks.STATES[seen.state]}"
        click.echo(f"  {plain_text(model.name)}: {found}", err=True)

    results = capability_checks.check_models(models, tell)
    lacking = [
        capability_checks.problems(loaded, model, checked) for model, checked in zip(models, results, strict=True)
    ]
    if as_json:
        click.echo(capability_checks.as_json(loaded, models, results))
    else:
        from rich.console import Console

        from toolablate.experiments.capability_checks import show

        console = Console()
        for model, checked, missing in zip(models, results, lacking, strict=True):
            show(model, checked, missing, console)
    if any(checked.stopped for checked in results):
        click.echo("Stopped: not all was asked, and what is shown is what was found out until then", err=True)
        raise SystemExit(130)
    raise SystemExit(1 if any(lacking) else 0)
