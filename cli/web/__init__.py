"""The commands on archives of the web."""

import click

from toolablate.traces.commands import LazyGroup

COMMANDS = {
    "record": "Record pages and searches into a plan's archive.",
    "seal": "Close an archive for good, and print its root digest.",
    "verify": "Check everything in an archive against its digests.",
    "info": "Say what is in an archive.",
    "overlay": "Begin an archive that extends a sealed one.",
}


@click.group(name="web", cls=LazyGroup, lazy=COMMANDS, package=__name__)
def command() -> None:
    """Archives of the web: recorded once, replayed for every condition."""
