"""The commands on the planted benchmark."""

import click

from toolablate.traces.commands import LazyGroup

COMMANDS = {
    "make": "Write questions, scenes, pages and a plan.",
    "score": "Hold a store's attributions against what was planted.",
}


@click.group(name="planted", cls=LazyGroup, lazy=COMMANDS, package=__name__)
def command() -> None:
    """The planted benchmark: simulated models of which it is known why they go wrong."""
