"""Commands that prepare the labelling of failures by people."""

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.cli.failures import wanted_of
from toolablate.traces import options
from toolablate.traces.options import finite

if TYPE_CHECKING:
    from toolablate.analysis.failures import Failure, Failures


@click.group("labels", short_help="Draw queues of failures for people to label; print codebooks.")
def labels_group() -> None:
    """Prepare the labelling of failures by people, which they do on the pages of `toolablate view`."""


@labels_group.command(
    "queue",
    epilog=options.example(
        "toolablate labels queue STORE --by mechanism --each 10 --people ada,ben --double 0.3 -o queue.json",
        "toolablate view STORE --queue queue.json --person ada",
    ),
)
@click.argument("store", type=options.FilePath())
@click.option(
    "--by",
    metavar="KEY",
    default="mechanism",
    show_default=True,
    help="Draw of each group of wrong trials with the same value of a key of `toolablate failures`, cluster among them;"
    " several keys joined by commas.",
)
@click.option(
    "--each", type=click.IntRange(min=1), metavar="N", default=10, show_default=True, help="At most N of each group."
)
@click.option("--where", metavar="KEY=VALUE", multiple=True, help="Only wrong trials with this value of a key.")
@click.option("--people", metavar="NAMES", required=True, help="Who labels, joined by commas.")
@click.option(
    "--double",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    callback=finite,
    help="The share of trials that two people label.  [default: 0.3, or 0 of one person]",
)
@options.seed("the draw")
@click.option(
    "-o",
    "--output",
    type=options.FilePath(dir_okay=False),
    required=True,
    help="Where the queue goes. What is there already is not overwritten.",
)
@options.run("latest")
@options.scorer
@options.baseline
def queue_command(
    store: Path,
    by: str,
    each: int,
    where: tuple[str, ...],
    people: str,
    double: float | None,
    seed: int,
    output: Path,
    run: str,
    scorer: str | None,
    baseline: str | None,
) -> None:
    """Draw wrong trials of STORE by chance, and share them out among people.

    Each group gives at most N trials, each with its inclusion probability, which labels keep: `agreement --labels`
    weighs by it, so that figures are of all wrong trials. By mechanism, trials to which nothing is attributed (those
    without tools) are left out.
    """
    from toolablate.analysis.labels.queue import drawn_queue, queue_text
    from toolablate.api.failing import wrong_answers
    from toolablate.reports.numbers import counted
    from toolablate.traces.errors import InputError
    from toolablate.traces.output import export
    from toolablate.traces.store import Store
    from toolablate.traces.terminal_text import plain_text

    keys, wanted, names = [key.strip() for key in by.split(",")], wanted_of(where), _names(people)
    if double and len(names) < 2:
        raise InputError("--double: one person labels nothing twice", hint="--people ada,ben", code="usage")
    if output.exists():
        raise InputError(f"-o: {output} is there already", hint="Choose another name, or remove it.", code="exists")
    asked = {*keys, *wanted}
    found = wrong_answers(store, by=keys, where=wanted, listed=True, run=run, scorer=scorer, baseline=baseline).found
    left_out = 0
    if "mechanism" in asked:
        found, left_out = _attributed(found)
    with Store(store) as opened:
        first = opened.runs()[0].id
    queue = drawn_queue(
        found, keys, store=first, each=each, people=names, double=0.3 if double is None else double, seed=seed
    )
    if not queue.items:
        raise InputError(
            "no wrong trial to label", hint="toolablate failures STORE lists them", code="nothing_to_label"
        )
    export(queue_text(queue), output, "-o")
    twice = sum(len(item.people) > 1 for item in queue.items)
    click.echo(f"{output}: {counted(len(queue.items), 'trial')} of {len(found.failures):,}, {twice} for two people")
    for group, count in sorted(Counter(item.group for item in queue.items).items()):
        click.echo(plain_text(f"  {', '.join(value or '(none)' for value in group)}: {count}"))
    for person in queue.people:
        click.echo(plain_text(f"{person}: {counted(len(queue.of(person)), 'trial')}"))
    if left_out:
        click.echo(f"{counted(left_out, 'wrong trial')} without an attribution left out.", err=True)


def _attributed(found: "Failures[Failure]") -> "tuple[Failures[Failure], int]":
    from dataclasses import replace

    left = tuple(failure for failure in found.failures if failure.mechanism)
    return replace(found, failures=left), len(found.failures) - len(left)


def _names(people: str) -> list[str]:
    from toolablate.traces.errors import InputError

    names = [name.strip() for name in people.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise InputError(f"--people: found {people!r}", hint="each name once: --people ada,ben", code="usage")
    return names


@labels_group.command(
    "codebook",
    epilog=options.example(
        "toolablate labels codebook > codes.toml", "toolablate view STORE --codebook codes.toml --person ada"
    ),
)
@click.argument("book", default="mechanisms", metavar="[mechanisms|error_types|FILE]")
def codebook_command(book: str) -> None:
    """Print a built-in codebook, as a start for your own; or check a file and list its codes.

    A codebook has a name, a question, and codes with a key of the keyboard, a name, a definition and examples. Exactly
    one code is chosen for a trial, or with `several = true` any number. Labels keep the digest of the definitions.
    """
    from toolablate.analysis.codebooks.codebook import BUILT_IN, built_in_text, codebook
    from toolablate.traces.terminal_text import plain_text

    if book in BUILT_IN:
        sys.stdout.write(built_in_text(book))
        return
    found = codebook(book)
    click.echo(plain_text(f"{found.name}: {found.question}  digest {found.digest[:10]}"))
    for code in found.codes:
        click.echo(plain_text(f"  {code.key}  {code.shown}: {code.definition}"))
