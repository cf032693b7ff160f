"""The commands that there are: few, grouped by subject, each with an example."""

from collections.abc import Iterator

import click

from toolablate.cli import SECTIONS, group

FORMATS = ("export", "import")
"""One command each: a format is its first argument, and others bring more of them."""


def leaves(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group) and context.info_name not in FORMATS:
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from leaves(inner, click.Context(inner, parent=context, info_name=name))
    else:
        yield context.command_path, command


def test_there_are_at_most_twenty_five_commands() -> None:
    found = dict(leaves(group, click.Context(group, info_name="toolablate")))
    assert len(found) <= 25, sorted(found)


def test_each_command_of_ours_shows_an_example_in_its_help() -> None:
    ours = {name for section in SECTIONS.values() for name in section} - set(FORMATS)
    for path, command in leaves(group, click.Context(group, info_name="toolablate")):
        if path.split()[1] in ours:
            assert "Example:" in command.get_help(click.Context(command, info_name=path)), path
            assert f"  {path} " in command.get_help(click.Context(command, info_name=path, terminal_width=200)), path
