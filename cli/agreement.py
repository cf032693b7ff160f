from pathlib import Path

import click

from toolablate.traces import options


@click.command("agreement")
@click.argument("store", type=options.FilePath())
@options.run("latest")
@click.option(
    "--scorer", "scorers", metavar="NAME", multiple=True, help="Only this scorer; given twice or more. By default all."
)
@click.option("--disagreements", "as_list", is_flag=True, help="List the trials that two scorers differ on, instead.")
@options.as_json("the figures, or the trials,")
def command(store: Path, run: str, scorers: tuple[str, ...], as_list: bool, as_json: bool) -> None:
    """Say how far the scorers of STORE agree on the same trials, and how sure a judge is of its grades.

    Per pair of scorers, and for each model and condition: how often they say the same, Cohen's kappa, what each says of
    accuracy, and whether a condition's effect depends on whom one asks, with 95 % intervals from a bootstrap over
    questions. Per judge: how often it gives the same answer another grade, where it grades again (`again` under
    [judging]) or where trials of one question end with the same text, and what that alone does to a comparison.
    """
    from rich.console import Console
    from rich.text import Text

    from toolablate.analysis.agreement.report import agreement_json, disagreements_json, read_graded
    from toolablate.reports.terminal.agreement import agreement_view, disagreements_table
    from toolablate.traces.commands import tell_left_out

    graded = read_graded(store, run=run, scorers=scorers, with_answers=not as_list)
    console = Console()
    if as_list:
        found = graded.disagreements()
        if as_json:
            click.echo(disagreements_json(found))
            return
        console.print(disagreements_table(found))
        if found:
            console.print(Text(f"Read one: toolablate show {store} TRIAL"), soft_wrap=True)
    elif as_json:
        click.echo(agreement_json(graded.report()))
        return
    else:
        console.print(agreement_view(graded.report()))
    tell_left_out(console, graded.left_out)
