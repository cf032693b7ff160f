"""The commands that bring in what other harnesses measured."""

import click

from toolablate.traces.commands import LazyGroup

COMMANDS = {
    "inspect": "Bring in logs of Inspect.",
    "lm-eval": "Bring in samples that lm-evaluation-harness logged.",
}


@click.group(name="import", cls=LazyGroup, lazy=COMMANDS, package=__name__)
def command() -> None:
    """Bring in what other harnesses measured, to compare and attribute it."""
