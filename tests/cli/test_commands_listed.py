"""The commands that there are: few, grouped by subject, each with an example."""

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from toolablate.benchmarks import registry
from toolablate.cli import group

TOP = click.Context(group, info_name="toolablate", **group.context_settings)
FORMATS = ("export", "import")
"""One command each: a format is its first argument, and others bring more of them."""


def leaves(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """As a user counts them: a benchmark's group is one thing, since only who runs that benchmark looks into it, and
    `build` is one, into which only who makes a benchmark looks."""
    together = {*FORMATS, *registry.commands(), "build"}
    for path, found in every(command, context):
        words = path.split()
        yield " ".join(words[:2]) if words[1] in together else path, found


def every(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield context.command_path, command
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from every(inner, click.Context(inner, parent=context, info_name=name))


def test_there_are_few_commands() -> None:
    found = dict(leaves(group, TOP))
    assert len(found) <= 38, sorted(found)


def test_each_command_shows_an_example_in_its_help() -> None:
    for path, command in every(group, TOP):
        told = command.get_help(click.Context(command, info_name=path, terminal_width=200, **group.context_settings))
        assert f"Example:\n    {path} " in told, path


def test_help_needs_no_command_of_a_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "commands", dict)
    shown = CliRunner().invoke(group, ["--help"])
    assert (shown.exit_code, "Benchmarks" in shown.output) == (0, False)
