"""The commands on Who&When."""

import click

from toolablate.traces.commands import LazyGroup

COMMANDS = {
    "score": "Score predictions of the agent and step to blame.",
    "baselines": "Say what constants and random guesses are right for.",
}


@click.group(name="who-and-when", cls=LazyGroup, lazy=COMMANDS, package=__name__)
def command() -> None:
    """Who&When: failed runs of several agents, and which agent at which step is to blame."""
