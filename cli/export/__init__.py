"""The commands that bring a store's trials to other tools."""

import click

from toolablate.traces.commands import LazyGroup

COMMANDS = {
    "jsonl": "One trace a line, with everything that is known of it.",
    "parquet": "Tables of trials, events, scores, attributions, labels and what they are about.",
    "datasets": "The same tables as a Hugging Face dataset.",
    "otlp": "Spans of OpenInference, sent to a collector.",
    "inspect": "One log of Inspect for each model and condition, for its viewer.",
}


@click.group(name="export", cls=LazyGroup, lazy=COMMANDS, package=__name__)
def command() -> None:
    """Bring the trials of a store to other tools."""
