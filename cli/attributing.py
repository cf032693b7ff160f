"""Commands that attribute effects and replay trials."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolablate.traces import options
from toolablate.traces.options import finite

if TYPE_CHECKING:
    from toolablate.analysis.attribution.report import AttributionReport
    from toolablate.traces.records import ReplayDesign


@click.command(
    "attribute",
    epilog=options.example(
        "toolablate attribute STORE --condition search --list",
        "toolablate attribute STORE --replay --failures 0.5 --max-cost 20",
        "toolablate attribute STORE --judge gpt-5 --plan plan.toml",
    ),
)
@click.argument("store", type=options.FilePath())
@options.run("latest")
@options.models
@options.conditions
@options.scorer
@click.option(
    "--replay", is_flag=True, help="First run the replays that the options below ask for and the store lacks."
)
@click.option(
    "--failures",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    callback=finite,
    default=1.0,
    show_default=True,
    help="Share of wrong trials to replay, sampled at random.",
)
@click.option(
    "--successes",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    callback=finite,
    default=0.5,
    show_default=True,
    help="Share of right trials to replay; without some, gains stay unresolved.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    metavar="N",
    default=2,
    show_default=True,
    help="Early answers sampled at once after a step.",
)
@click.option(
    "--rollouts",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="Runs of every other replay at once.",
)
@click.option(
    "--steps",
    type=click.Choice(["all", "search"]),
    default="search",
    show_default=True,
    help="Sample early answers after every step, or only where a search for the fall needs them.",
)
@click.option(
    "--precision",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="PROBABILITY",
    callback=finite,
    default=0.8,
    show_default=True,
    help="Replay a wrong trial further until its mechanism is as probable as this.",
)
@click.option("--each-result", is_flag=True, help="Also replay wrong trials without each of their results.")
@options.seed("the random sample")
@options.plan
@options.max_cost
@click.option("--live", is_flag=True, help="Let replays request what was not recorded from the web and other programs.")
@options.cluster("replays")
@click.option(
    "--judge", "judges", metavar="NAME", multiple=True, help="Have this judge of the plan read wrong trials first."
)
@click.option(
    "--judge-matrix",
    type=options.FilePath(dir_okay=False),
    help="Correct judges' shares by their confusion matrices on synthetic failures, from `planted score --judges`.",
)
@click.option("--list", "all_trials", is_flag=True, help="List all wrong trials, not only the first.")
@options.as_json("decompositions and trials")
@options.csv("the decompositions")
@options.plot("the decompositions")
@click.pass_context
def attribute_command(context: click.Context, /, store: Path, **given: Any) -> None:
    """Attribute the effects of tools in STORE to mechanisms, trial by trial and in sum.

    Per model and condition with tools: the effect against no tools, flips beside the noise floor, and the mechanisms
    that sum to the effect, in points with intervals. What is not known is `unresolved`. Then the wrong trials, each
    with its mechanism, the method, and the events that are evidence.

    Asks no model. With --replay, a random sample of trials is replayed with one thing changed at a time; the cost is
    estimated first. With --judge, a judge reads the wrong trials. Exits with 1 if replays or judgements are undone.

    Confidences are calibrated by what people decided (`toolablate labels`), of at least 50 trials by a method.
    """
    from rich.console import Console

    from toolablate.experiments.attributing import AttributionRequest, attributed
    from toolablate.traces.commands import stopped_cleanly

    _refuse_unused(context)
    if given["plot"] is not None:
        _require_plot(given["plot"])
    wanted = AttributionRequest(
        design=_design(given),
        **{name: given[name] for name in ("run", "models", "conditions", "replay", "judges", "plan", "max_cost")},
        **{name: given[name] for name in ("live", "cluster", "judge_matrix")},
    )
    report, undone = attributed(store, wanted, Console(stderr=True), asking=stopped_cleanly)
    _write(report, given["csv"], given["plot"])
    if given["as_json"]:
        from toolablate.analysis.attribution.report import attribution_json

        click.echo(attribution_json(report))
    else:
        from toolablate.reports.terminal.attribution import attribution_view

        told_before = given["replay"] or bool(given["judges"])
        Console().print(attribution_view(report, all_trials=given["all_trials"], reach=not told_before))
    raise SystemExit(1 if undone else 0)


def _refuse_unused(context: click.Context) -> None:
    """An option of replays says nothing without --replay, and would be taken for done."""
    from toolablate.traces.errors import InputError

    asked, judged = context.params["replay"], bool(context.params["judges"])
    design = ["failures", "successes", "samples", "rollouts", "steps", "precision", "each_result", "seed"]
    spending = ["plan", "max_cost"]
    unused = [*([] if asked else [*design, "live", "cluster"]), *([] if asked or judged else spending)]
    option = options.first_given(context, unused)
    if option is not None:
        raise InputError(
            f"{option} says how trials are replayed, and nothing is replayed",
            hint=f"add --replay, or leave {option} out",
            code="usage",
        )


def _require_plot(plot: Path) -> None:
    from toolablate.reports.plots.drawing import require_plots
    from toolablate.traces.output import refuse_store

    require_plots(plot)
    refuse_store(plot, "--plot")


def _design(given: dict[str, Any]) -> "ReplayDesign":
    from toolablate.traces.records import ReplayDesign

    names = ("failures", "successes", "samples", "rollouts", "steps", "precision", "each_result", "seed")
    return ReplayDesign(**{name: given[name] for name in names}, scorer=given["scorer"] or "")


def _write(report: "AttributionReport", csv: Path | None, plot: Path | None) -> None:
    from toolablate.analysis.attribution.report import decompositions_csv
    from toolablate.traces.output import export, make_folder

    if csv is not None:
        export(decompositions_csv(report.decompositions, report.simulated), csv, "--csv")
    if plot is not None:
        from toolablate.reports.plots.drawing import boxes_note
        from toolablate.reports.plots.waterfall import draw_decompositions
        from toolablate.traces.commands import warn

        make_folder(plot, "--plot")
        warn(boxes_note(draw_decompositions(report.decompositions, plot, simulated=report.simulated)))


if TYPE_CHECKING:
    from toolablate.experiments.replay.batch import Replayed


@click.command(
    "replay",
    epilog=options.example(
        "toolablate replay STORE 3f2a91 --from 6 --swap null --repeats 8",
        "toolablate replay STORE 3f2a91 --from 4 --answer-now",
        'toolablate replay STORE 3f2a91 --from 4 --say "Check the units."',
    ),
)
@click.argument("store", type=options.FilePath())
@click.argument("trial")
@click.option(
    "--from",
    "event",
    type=click.IntRange(min=0),
    metavar="N",
    required=True,
    help="The first event to replay, by its number in `show TRIAL`.",
)
@click.option(
    "--swap",
    metavar="null|placebo|gold|adversarial|FILE",
    help="Replace the result of the tool call at that event: none, another question's, the right answer, a wrong one, "
    "or the text of FILE.",
)
@click.option("--say", metavar="TEXT", help="Add a user's message before the model is asked.")
@click.option("--drop", is_flag=True, help="Leave out the tool call at that event.")
@click.option("--answer-now", is_flag=True, help="Ask at once for the answer, without tools.")
@click.option("--ignore-tools", is_flag=True, help="Ask at once for an answer that ignores all tool results.")
@click.option("--extend", metavar="LIMIT=N,...", help="Go on with a larger budget, as in turns=20,seconds=900.")
@click.option("--repair", is_flag=True, help="Repeat the failed tool call at that event.")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="How many replays to run.",
)
@options.plan
@options.max_cost
@click.option("--live", is_flag=True, help="Request what was not recorded from the web and other programs.")
@options.cluster("replays")
@options.as_json("the new trials")
def replay_command(
    store: Path,
    trial: str,
    event: int,
    swap: str | None,
    say: str | None,
    drop: bool,
    answer_now: bool,
    ignore_tools: bool,
    extend: str | None,
    repair: bool,
    repeats: int,
    plan: Path | None,
    max_cost: float | None,
    live: bool,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Fork TRIAL of STORE at one of its events, with one thing changed.

    Without a change, what follows is sampled again. Everything before the event is as recorded: the kernel is rebuilt
    by running the recorded cells, and their new outputs are compared with the recorded ones. After the event, a call
    identical to a recorded one gets the recorded result. The new trials are stored beside the old one and enter no
    table. The plan kept in the store is run: replay only what you would run yourself. Exits with 1 if trials are undone
    or failed, with 2 if nothing could be run.
    """
    from rich.console import Console

    from toolablate.experiments.replay.batch import replay
    from toolablate.experiments.replay.changes_asked import change_asked
    from toolablate.experiments.running.progress import RunProgress
    from toolablate.traces.commands import stopped_cleanly

    change = change_asked(
        store,
        trial,
        swap=swap,
        say=say,
        drop=drop,
        answer_now=answer_now,
        ignore_tools=ignore_tools,
        extend=extend,
        repair=repair,
    )
    with stopped_cleanly(), RunProgress(Console(stderr=True), "replay") as progress:
        replayed = replay(
            store,
            trial,
            event,
            change,
            repeats=repeats,
            plan=plan,
            max_cost=max_cost,
            live=live,
            cluster=cluster,
            progress=progress,
        )
    _print(replayed, store, as_json=as_json)
    raise SystemExit(1 if replayed.launched.missing or replayed.launched.ungraded else 0)


def _print(replayed: "Replayed", store: Path, *, as_json: bool) -> None:
    from rich.console import Console

    from toolablate.experiments.replay.outcomes import print_replayed, replayed_json

    if as_json:
        click.echo(replayed_json(replayed, store))
    else:
        print_replayed(replayed, store, Console())
