from pathlib import Path

import click


@click.command("tables")
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--baseline", metavar="NAME", help="The condition without tools; by default that of the run.")
@click.option(
    "--run",
    metavar="ID",
    default="all",
    show_default=True,
    help='The trials that one run called for: its id, "latest", or "all" that the store holds.',
)
@click.option("--scorer", metavar="NAME", help="Use the scores of this scorer; by default the latest run's.")
@click.option(
    "--beside",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Also compare ranks with scores of other benchmarks, from a TOML or CSV file.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the bootstrap and permutations."
)
@click.option("--json", "as_json", is_flag=True, help="Print all figures as JSON, each question's tier among them.")
@click.option(
    "--csv", type=click.Path(path_type=Path, dir_okay=False), help="Also write the domain table to a CSV file."
)
def command(
    store: Path,
    baseline: str | None,
    run: str,
    scorer: str | None,
    beside: Path | None,
    seed: int,
    as_json: bool,
    csv: Path | None,
) -> None:
    """Make the tables of LPFQA's papers from the trials in STORE, of any benchmark.

    Under the baseline: scores and ranks of models; by domain, with the best, and the highest and lowest; without the
    questions that no model gets right, or all do; by difficulty, as pass rates tell it. Then each condition against
    the baseline, in points and relative, with the averages that papers print, and whether luck explains it.

    FILE has a score of each model on each other benchmark, more being better:

    \b
      TOML:  ["MMLU-Pro"]             CSV:  model,MMLU-Pro,HLE
             "GLM-4.6" = 83.2               GLM-4.6,83.2,17.2
             "GPT-5-High" = 87.1            GPT-5-High,87.1,26.3
    """
    from rich.console import Console

    from toolablate.experiments.benchmarking.lpfqa import read_others, read_tables
    from toolablate.experiments.exporting import export
    from toolablate.traces.analysis.scoreboard import domains_csv, scoreboard_json
    from toolablate.traces.terminal import counted, scoreboard_view

    others = [] if beside is None else read_others(beside)
    found = read_tables(store, baseline=baseline, run=run, scorer=scorer, others=others, seed=seed)
    if found.warning:
        Console(stderr=True).print(f"Warning: {found.warning}", style="yellow", markup=False, soft_wrap=True)
    if csv is not None:
        export(domains_csv(found.scoreboard), csv, "--csv")
    if as_json:
        click.echo(scoreboard_json(found.scoreboard))
        return
    console = Console()
    console.print(scoreboard_view(found.scoreboard))
    if found.left_out:
        more = counted(found.left_out, "more trial")
        console.print(f"The store holds {more}, which this run did not call for: see --run", soft_wrap=True)
