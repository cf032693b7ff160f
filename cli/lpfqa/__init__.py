"""The commands on LPFQA."""

import click

from toolablate.traces.commands import LazyGroup

COMMANDS = {
    "import": "Bring in published questions.",
    "tables": "Make the tables of LPFQA's papers of a store.",
}


@click.group(name="lpfqa", cls=LazyGroup, lazy=COMMANDS, package=__name__)
def command() -> None:
    """LPFQA: bring in published questions, and analyse what models made of them."""
