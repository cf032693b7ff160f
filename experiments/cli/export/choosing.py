"""The options by which every export chooses its trials."""

from collections.abc import Callable

import click

_OPTIONS = (
    click.option(
        "--run",
        metavar="ID",
        default="all",
        show_default=True,
        help='Only the trials that one run called for: its id, or "latest".',
    ),
    click.option(
        "--model", "models", metavar="NAME", multiple=True, help="Only this model. May be given several times."
    ),
    click.option("--condition", "conditions", metavar="NAME", multiple=True, help="Only this condition; likewise."),
    click.option("--replays", is_flag=True, help="Also the replays of these trials."),
    click.option(
        "--scorer", metavar="NAME", help="Attribute by the scores of this scorer; by default the latest run's."
    ),
    click.option(
        "--attributions/--no-attributions",
        default=True,
        show_default=True,
        help="With why trials went as they did. To work that out takes longest of all.",
    ),
)


def choosing(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options: `run`, `models`, `conditions`, `replays`, `scorer`, `attributions`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
