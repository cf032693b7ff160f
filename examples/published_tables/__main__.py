"""`python -m examples.published_tables FILE`."""

from pathlib import Path

import click

from toolablate.traces import options


@click.command("published_tables")
@click.argument("file", type=options.FilePath())
@options.as_json("it")
def command(file: Path, as_json: bool) -> None:
    """Recompute the changes and averages of the published tables in FILE.

    Says of each printed change whether it is in points or relative, of one in the average row whether it is the
    change of the averages or the mean of the rows' changes, of each average, sum, rank and share whether it follows,
    and which rows or cells are equal. What rounding explains is never called wrong. Exits with 1 where something does
    not follow, with 2 where FILE cannot be read.

    FILE is TOML, or one that comes along: encyclo_k, lpfqa_v1, lpfqa_v2. The rows are as a paper prints them:

    \b
      source = "A paper"
      [[table]]
      name = "3"
      columns = ["No tools", "Python", "Δ", "Search", "Δ"]
      baseline = "No tools"
      average = "Average"
      rows = '''
      GPT-5    54.42  44.50 18.20%↓  44.30 18.57%↓
      GLM-4.6  50.47  34.80 30.95%↓  37.30 25.99%↓
      Average  52.45  39.65 24.40%↓  40.80 22.21%↓
      '''

    Each row is a name and one cell for each column; an empty cell is a dash. "Δ", "rank" and "share" belong to the
    column before them. The other keys:

    \b
      caption         said with the table
      baseline        may be a column of another table: "1: Score"
      total           the row that adds up the others, in place of average
      largest,        columns of which that row has the largest or
      smallest        smallest value: ["Tokens max"]
      weights         or the mean by another: { "Tokens avg" = "Total" }
      sums            ["Total = En + Zh", "100 = Right + Wrong"]
      means           ["Overall = Law + Maths"]
      weighted_means  the same, weighted by questions
      copies          columns printed elsewhere: ["LPFQA = 2: Overall"]
      questions       430, or { Law = 43, Maths = 61 }: which scores are
                      no share of so many right answers is told as a fact
      repeats         how many runs a score is the mean of
    """
    from examples.published_tables.audit import audit, audit_json
    from examples.published_tables.files import PUBLISHED, load_published

    from toolablate.traces.errors import InputError

    known = file if file.exists() else PUBLISHED.get(str(file))
    if known is None:
        raise InputError(f"{file}: no such file", hint=f"Those that come along are {', '.join(PUBLISHED)}.")
    found = audit(load_published(known))
    if as_json:
        click.echo(audit_json(found))
    else:
        from examples.published_tables.shown import audit_view
        from rich.console import Console

        Console().print(audit_view(found))
    raise SystemExit(0 if found.ok else 1)


if __name__ == "__main__":
    from toolablate.traces.errors import InputError

    try:
        command()
    except InputError as error:
        click.echo(str(error), err=True)
        raise SystemExit(2) from None
