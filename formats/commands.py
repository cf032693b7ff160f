"""`toolablate export` and `toolablate import`: each format brings its commands by entry points."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from toolablate.traces import options
from toolablate.traces.commands import PluginGroup

ENTRY_POINTS = "toolablate.formats"
"""`export.NAME` and `import.NAME` in this group are the commands of a format, ours and others'."""


@click.group(name="export", cls=PluginGroup, entry_points=ENTRY_POINTS, prefix="export")
def export_group() -> None:
    """Bring the trials of a store to other tools."""


@click.group(name="import", cls=PluginGroup, entry_points=ENTRY_POINTS, prefix="import")
def import_group() -> None:
    """Bring in what other harnesses measured, to compare and attribute it."""


# The options by which every export chooses its trials.


_REPLAYS = click.option("--replays", is_flag=True, help="Also the replays of these trials.")
_OPTIONS: tuple[options.Option, ...] = (
    options.run("all"),
    options.models,
    options.conditions,
    _REPLAYS,
    click.option(
        "--scorer", metavar="NAME", help="Let the scores of this scorer count; by default the run's. All are exported."
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


def output_folder(command: Callable[..., None]) -> Callable[..., None]:
    """`output`: of exports that are several files."""
    told = "The folder to write."
    return click.option("-o", "--output", type=options.FilePath(), required=True, help=told)(command)


def _with(chosen: Sequence[Callable[..., Any]], command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(chosen):
        command = option(command)
    return command
