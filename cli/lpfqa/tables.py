from pathlib import Path

import click

from toolablate.traces import options


@click.command("tables")
@click.argument("store", type=options.FilePath())
@click.option("--baseline", metavar="NAME", help="The condition without tools; by default the run's.")
@options.run("all")
@options.scorer
@click.option(
    "--beside",
    metavar="FILE",
    type=options.FilePath(),
    help="Also compare ranks with scores of other benchmarks, from a TOML or CSV file.",
)
@options.seed("the bootstrap and permutations")
@options.as_json("all figures, each question's tier among them,")
@options.csv("the domain table")
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

    from toolablate.benchmarks.lpfqa.scoreboard import domains_csv, scoreboard_json
    from toolablate.benchmarks.lpfqa.shown import scoreboard_view
    from toolablate.benchmarks.lpfqa.stored import read_others, read_tables
    from toolablate.traces.commands import tell_left_out, warn
    from toolablate.traces.output import export

    others = [] if beside is None else read_others(beside)
    found = read_tables(store, baseline=baseline, run=run, scorer=scorer, others=others, seed=seed)
    warn(found.warning)
    if csv is not None:
        export(domains_csv(found.scoreboard), csv, "--csv")
    if as_json:
        click.echo(scoreboard_json(found.scoreboard))
        return
    console = Console()
    console.print(scoreboard_view(found.scoreboard))
    tell_left_out(console, found.left_out)
