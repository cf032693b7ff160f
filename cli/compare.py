from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options

if TYPE_CHECKING:
    from toolablate.analysis.comparison import GroupBy


@click.command("compare")
@click.argument("store", type=options.FilePath())
@options.baseline
@click.option(
    "--by",
    type=click.Choice(["domain", "difficulty", "language", "kind"]),
    multiple=True,
    help="Also compare within each of these; kind is how a question is answered. May be given several times.",
)
@click.option(
    "--flips",
    "as_flips",
    is_flag=True,
    help="List the questions that flipped, with their trials, instead; without --by, --harm and --csv.",
)
@options.run("latest")
@options.scorer
@click.option("--harm", is_flag=True, help="Also show whom conditions harm and help, as far as repeats tell.")
@options.seed("the bootstrap and permutations")
@options.as_json("the comparisons, or the flips,")
@options.csv("the comparisons")
def command(
    store: Path,
    baseline: str | None,
    by: "tuple[GroupBy, ...]",
    as_flips: bool,
    run: str,
    scorer: str | None,
    harm: bool,
    seed: int,
    as_json: bool,
    csv: Path | None,
) -> None:
    """Compare the conditions in STORE with a baseline, paired over questions.

    First the scores of all models under all conditions. Then per model and condition: the score, the difference in
    points and relative, 95 % intervals from a paired bootstrap over questions, a p-value from a sign-flip permutation
    test, also corrected for all comparisons shown, right->wrong and wrong->right counts beside what chance alone
    gives, the smallest effect that could have been seen, tokens and cost. With repeats and --harm (JSON and CSV
    always), also bounds to the share of trials that a condition harms and helps.
    Where a replayed web had gaps, or gave answers away, also how often, and whether the conditions differ in that.
    Where a model called tools that it was not offered, a warning says in how many trials.

    \b
      toolablate compare STORE --by domain --csv effects.csv
      toolablate compare STORE --flips
    """
    from rich.console import Console

    from toolablate.analysis.comparison import comparisons_csv, comparisons_json
    from toolablate.analysis.flips import flips_json
    from toolablate.analysis.from_store import read_paired
    from toolablate.reports.terminal.comparison import comparison_table, flips_table
    from toolablate.reports.terminal.problems import misses_view, refused_view
    from toolablate.traces.commands import tell_left_out, warn
    from toolablate.traces.errors import InputError
    from toolablate.traces.output import export

    if as_flips and (by or csv or harm):
        raise InputError("--flips goes without --by, --harm and --csv", code="usage")
    paired = read_paired(store, baseline=baseline, run=run, scorer=scorer)
    warn(paired.warning)
    if as_flips:
        flips = paired.flips()
        if as_json:
            click.echo(flips_json(flips, paired.floors()))
        else:
            Console().print(flips_table(flips, paired.floors()))
        return
    comparisons = paired.compare(by=by, seed=seed, harm=harm or as_json or csv is not None)
    if csv is not None:
        export(comparisons_csv(comparisons), csv, "--csv")
    rates, differences = paired.miss_rates(), paired.miss_differences(seed=seed)
    refused = paired.refused_calls()
    if as_json:
        click.echo(comparisons_json(comparisons, rates, differences, refused))
        return
    console = Console()
    console.print(comparison_table(comparisons, show_harm=harm))
    if (misses := misses_view(rates, differences)) is not None:
        console.print(misses)
    if (warning := refused_view(refused)) is not None:
        console.print(warning)
    tell_left_out(console, paired.left_out)
