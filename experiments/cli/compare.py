from pathlib import Path
from typing import Literal

import click


@click.command("compare")
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--baseline", metavar="NAME", help="The condition to compare with; by default that of the latest run.")
@click.option("--by", type=click.Choice(["domain"]), help="Also compare within each domain.")
@click.option(
    "--run",
    metavar="ID",
    default="latest",
    show_default=True,
    help='The trials that one run called for: its id, "latest", or "all" that the store holds.',
)
@click.option("--scorer", metavar="NAME", help="Compare by the scores of this scorer; by default the latest run's.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the bootstrap and permutations.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparisons as JSON.")
@click.option("--csv", type=click.Path(path_type=Path, dir_okay=False), help="Also write them to a CSV file.")
def command(
    store: Path,
    baseline: str | None,
    by: Literal["domain"] | None,
    run: str,
    scorer: str | None,
    seed: int,
    as_json: bool,
    csv: Path | None,
) -> None:
    """Compare the conditions in STORE with a baseline, paired over questions.

    Per model and condition: the score, the difference in points and relative, a 95 % interval from a paired bootstrap
    over questions, a p-value from a sign-flip permutation test, right->wrong and wrong->right counts, tokens and cost.
    """
    from toolablate.experiments.comparing import compare_store
    from toolablate.traces.analysis import comparisons_csv, comparisons_json
    from toolablate.traces.errors import InputError

    compared = compare_store(store, baseline=baseline, by=by, run=run, scorer=scorer, seed=seed)
    if csv is not None:
        try:
            csv.write_text(comparisons_csv(compared.comparisons), encoding="utf-8")
        except OSError as error:
            raise InputError(f"--csv: cannot write {csv}: {error.strerror}", code="unwritable") from None
    if as_json:
        click.echo(comparisons_json(compared.comparisons))
        return
    from rich.console import Console

    from toolablate.traces.terminal import comparison_table

    console = Console()
    console.print(comparison_table(compared.comparisons))
    if compared.left_out:
        console.print(
            f"The store holds {compared.left_out} more trials, which the latest plan does not call for: see --run",
            soft_wrap=True,
        )
