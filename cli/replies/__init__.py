"""The commands on recorded replies of models."""

import click

from toolablate.traces.commands import LazyGroup

COMMANDS = {
    "info": "Say what is recorded.",
    "verify": "Check every recorded reply against its digest.",
}


@click.group(name="replies", cls=LazyGroup, lazy=COMMANDS, package=__name__)
def command() -> None:
    """Replies of models: recorded once, given again to all who ask the same."""
