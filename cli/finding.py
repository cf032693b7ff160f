"""The command that searches the texts of a store."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options

if TYPE_CHECKING:
    pass

LISTED = 20
_MOST_READ = 5_000
_TOLD_TRIALS = 1_000


@click.command(
    "find",
    epilog=options.example(
        "toolablate find STORE 'tool:python status:error log'",
        "toolablate find STORE '\"divided by zero\" OR nan -code:try'",
        "toolablate find STORE 'condition:python /[0-9]+ ?%/' --field answer",
        "toolablate find STORE 对数 --where flip=right --json",
    ),
)
@click.argument("store", type=options.FilePath())
@click.argument("query")
@click.option("--field", metavar="NAME", default="", help="The field of words that name none; one of those above.")
@click.option(
    "--where",
    metavar="KEY=VALUE",
    multiple=True,
    help="Only trials with this value of mechanism, flip (whether the baseline is right), model, condition, question,"
    " domain, difficulty, language, kind, verdict or metadata.KEY. May be given several times: all have to hold.",
)
@click.option(
    "--limit", type=click.IntRange(min=0), metavar="N", default=LISTED, show_default=True, help="List at most so many."
)
@click.option(
    "--read",
    "most_read",
    type=click.IntRange(min=1),
    metavar="N",
    default=_MOST_READ,
    show_default=True,
    help="Read at most so many trials for a regular expression, in a random order.",
)
@options.run("latest")
@options.scorer
@options.baseline
@options.as_json("the hits")
def find_command(
    store: Path,
    query: str,
    field: str,
    where: tuple[str, ...],
    limit: int,
    most_read: int,
    run: str,
    scorer: str | None,
    baseline: str | None,
    as_json: bool,
) -> None:
    """Find trials of STORE by their texts: code, outputs, pages, replies, answers.

    A QUERY has words that all have to stand in a trial, "phrases", a OR b, -word for trials without it, word* for its
    beginning, /regex/ (RE2, whatever the case), and fields:

    question: id: code: output: page: reply: answer: tool: status: condition: model: mechanism:

    Words beside tool: or status: have to stand in such calls. Each Chinese or Japanese sign is a word, and a word of
    several signs a phrase.

    Shows the hits with their words in context, and by condition whether flips (right without tools, wrong with them)
    are found more often than the rest. The index is kept in `~/.cache/toolablate/find`; the first search of a large
    store takes minutes.
    """
    from toolablate.api.finding import find
    from toolablate.cli.failures import wanted_of

    found = find(
        store,
        query,
        field=field,
        where=wanted_of(where),
        limit=limit,
        read=most_read,
        run=run,
        scorer=scorer,
        baseline=baseline,
        tell=tell_indexed,
    )
    if as_json:
        import json

        click.echo(json.dumps(found.json, ensure_ascii=False, indent=2))
        return
    from rich.console import Console

    found.print(Console())


def tell_indexed(done: int, of: int) -> None:
    if of >= _TOLD_TRIALS:
        click.echo(f"indexed {done:,} of {of:,} trials, once", err=True)
