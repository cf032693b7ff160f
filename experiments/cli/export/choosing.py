"""The options by which every export chooses its trials."""

from collections.abc import Callable, Sequence
from typing import Any

import click

_REPLAYS = click.option("--replays", is_flag=True, help="Also the replays of these trials.")
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
    _REPLAYS,
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
    return _with(_OPTIONS, command)


def choosing_planned(command: Callable[..., None]) -> Callable[..., None]:
    """The same without `replays`, for what has no place for them."""
    return _with([option for option in _OPTIONS if option is not _REPLAYS], command)


def _with(options: Sequence[Callable[..., Any]], command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(options):
        command = option(command)
    return command
