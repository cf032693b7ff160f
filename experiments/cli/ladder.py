from pathlib import Path

import click


@click.command("ladder")
@click.argument("store", type=click.Path(path_type=Path))
@click.option(
    "--run",
    metavar="ID",
    default="latest",
    show_default=True,
    help='The trials that one run called for: its id, "latest", or "all" that the store holds.',
)
@click.option("--model", "models", metavar="NAME", multiple=True, help="Only this model. May be given several times.")
@click.option(
    "--toolset", "toolsets", metavar="NAME", multiple=True, help="Only the ladder of this condition; likewise."
)
@click.option("--scorer", metavar="NAME", help="Use the scores of this scorer; by default the latest run's.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the bootstrap and permutations."
)
@click.option("--json", "as_json", is_flag=True, help="Print the waterfalls as JSON.")
@click.option("--csv", type=click.Path(path_type=Path, dir_okay=False), help="Also write the steps to a CSV file.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also draw the waterfalls into a file: .svg, .png or .pdf.",
)
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

    from toolablate.experiments.comparing.ladders import read_ladders
    from toolablate.experiments.exporting import export, make_folder, refuse_store
    from toolablate.traces.analysis.ladder import waterfalls_csv, waterfalls_json
    from toolablate.traces.terminal import counted, waterfalls_view

    if plot is not None:
        from toolablate.traces.plots import require_plots

        require_plots(plot)
        refuse_store(plot, "--plot")
    climbed = read_ladders(store, run=run, scorer=scorer, models=models, toolsets=toolsets)
    if climbed.warning:
        Console(stderr=True).print(f"Warning: {climbed.warning}", style="yellow", markup=False, soft_wrap=True)
    found = climbed.waterfalls(seed=seed)
    if csv is not None:
        export(waterfalls_csv(found), csv, "--csv")
    if plot is not None:
        from toolablate.traces.plots import boxes_note, draw_waterfalls

        make_folder(plot, "--plot")
        warn(boxes_note(draw_waterfalls(found, plot)))
    if as_json:
        click.echo(waterfalls_json(found))
        return
    console = Console()
    console.print(waterfalls_view(found))
    if climbed.left_out:
        more = counted(climbed.left_out, "more trial")
        console.print(f"The store holds {more}, which this run did not call for: see --run", soft_wrap=True)
