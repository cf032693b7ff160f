"""What both commands print."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from toolablate.benchmarks.who_and_when.scoring import WhoAndWhen


def show(found: "WhoAndWhen", *, as_json: bool) -> None:
    if as_json:
        from toolablate.benchmarks.who_and_when.scoring import who_and_when_json

        click.echo(who_and_when_json(found))
        return
    from rich.console import Console

    from toolablate.benchmarks.who_and_when.shown import who_and_when_view

    Console().print(who_and_when_view(found))
