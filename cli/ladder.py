from pathlib import Path

import click

from toolablate.traces import options


@click.command("ladder")
@click.argument("store", type=options.FilePath())
@options.run("latest")
@options.models
@click.option(
    "--toolset",
    "toolsets",
    metavar="NAME",
    multiple=True,
    help="Only the ladder of this condition. May be given several times.",
)
@options.scorer
@options.seed("the bootstrap and permutations")
@options.as_json("the waterfalls")
@options.csv("the steps")
@options.plot("the waterfalls")
def command(
    store: Path,
    run: str,
    models: tuple[str, ...],
    toolsets: tuple[str, ...],
    scorer: str | None,
    seed: int,
    as_json: bool,
    csv: Path | None,
    plot: Path | None,
) -> None:
    """Say what each factor of the ladders in STORE is worth: a waterfall from no tools to real ones.

    A ladder is a condition with tools and the arms that lead to it: none, scaffold (its prompt), offered (tools that
    cannot be called), sham (calls that return nothing), placebo (results of another question) and the real tools. Each
    rung is the difference of two neighbours, over the questions that are scored in all arms, so that rungs sum to the
    total. Where the arms without prompt were run, Shapley values say how much that depends on the order of rungs.
    """
    from rich.console import Console

    from toolablate.analysis.from_store import read_ladders
    from toolablate.analysis.ladder import waterfalls_csv, waterfalls_json
    from toolablate.analysis.misses import refused_calls
    from toolablate.reports.terminal.problems import refused_view
    from toolablate.reports.terminal.waterfall import waterfalls_view
    from toolablate.traces.commands import tell_left_out, warn
    from toolablate.traces.output import export, make_folder, refuse_store

    if plot is not None:
        from toolablate.reports.plots.drawing import require_plots

        require_plots(plot)
        refuse_store(plot, "--plot")
    climbed = read_ladders(store, run=run, scorer=scorer, models=models, toolsets=toolsets)
    warn(climbed.warning)
    found = climbed.waterfalls(seed=seed)
    if csv is not None:
        export(waterfalls_csv(found), csv, "--csv")
    if plot is not None:
        from toolablate.reports.plots.drawing import boxes_note
        from toolablate.reports.plots.waterfall import draw_waterfalls

        make_folder(plot, "--plot")
        warn(boxes_note(draw_waterfalls(found, plot)))
    if as_json:
        click.echo(waterfalls_json(found))
        return
    console = Console()
    console.print(waterfalls_view(found))
    if (warning := refused_view(refused_calls(climbed.observations))) is not None:
        console.print(warning)
    tell_left_out(console, climbed.left_out)
