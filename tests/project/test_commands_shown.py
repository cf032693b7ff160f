"""The commands that documents show are there, with these options and with values that they take."""

import re
import shlex

import click
import pytest
from tests.project.pages import NAMES, commands, prose

from toolablate.cli import group

SHOWN = [(name, line) for name in NAMES if name != "docs/cli.md" for line in commands(name)]
OF_EXAMPLES = {"capitals"}
"""Commands of the packages that docs/extending.md has a reader write; its own test runs them."""
TOP = click.Context(group, **group.context_settings)
SPAN = re.compile(r"`([^`\n]+)`")
OPTION = re.compile(r"(?<!\S)--[a-z][a-z_-]*")
OF_OTHERS = {
    "--hypothesis-profile": "pytest",
    "--existing": "jupyter console",
    "--exclude-tools-when-tool-choice-none": "vLLM",
    "--log_samples": "lm-evaluation-harness",
    "--backend": "python -m toolablate.sandbox.kernelspecs install",
    "--prefix": "the same as --backend",
    "--node-ip-address": "ray start",
    "--scope": "systemd-run",
    "--set": "the same as --backend",
    "--user": "the same, and systemd-run",
}


def own(line: str) -> list[str] | None:
    """The arguments of a command of ours, up to a pipe; None for a command of others."""
    words = shlex.split(line, comments=True)
    stops = [place for place, word in enumerate(words) if word in ("|", ">", "&&")]
    words = words[: min(stops, default=len(words))]
    ours = words[0] in ("toolablate", ".venv/bin/toolablate") and not OF_EXAMPLES.issuperset(words[1:2])
    return words[1:] if ours else None


def follow(arguments: list[str]) -> tuple[click.Command, list[str]]:
    command: click.Command = group
    rest = list(arguments)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        found = command.get_command(TOP, name)
        assert found is not None, f"no command {name!r}"
        command = found
    return command, rest


def check(arguments: list[str]) -> None:
    """Options that there are, no argument too many, and choices and numbers that are allowed; files need not be there."""
    command, rest = follow(arguments)
    context = click.Context(command, parent=TOP)
    given, extra, _ = command.make_parser(context).parse_args(rest)
    assert not extra
    for parameter in command.params:
        value = given.get(parameter.name or "")
        if isinstance(parameter.type, click.Choice | click.IntRange | click.FloatRange) and value is not None:
            for each in value if parameter.multiple else [value]:
                if isinstance(each, str):
                    parameter.type.convert(each, parameter, context)


OF_THE_PAGE = {"capitals": "docs/extending.md"}
"""Commands of the benchmarks that a page writes; tests of that page run them."""


@pytest.mark.parametrize(("name", "line"), SHOWN)
def test_a_command_of_a_block_can_be_typed(name: str, line: str) -> None:
    arguments = own(line)
    if arguments is not None and OF_THE_PAGE.get(arguments[0]) != name:
        check(arguments)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("bench/")])
def test_commands_and_options_of_the_prose_are_there(name: str) -> None:
    anywhere = {option for command in every(group) for option in options(command)}
    for span in SPAN.findall(prose(name)):
        words = span.removeprefix("toolablate ").split()
        asked = OPTION.findall(span)
        if span.startswith("toolablate ") or (words[0] in group.list_commands(TOP) and asked):
            command, _ = follow(words)
            assert options(command) >= set(asked), span
        else:
            assert anywhere | OF_OTHERS.keys() >= set(asked), span


def options(command: click.Command) -> set[str]:
    return {
        "--help",
        *(option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)),
    }


def every(command: click.Command) -> list[click.Command]:
    if not isinstance(command, click.Group):
        return [command]
    found = [command.get_command(TOP, name) for name in command.list_commands(TOP)]
    return [command, *(inner for each in found if each is not None for inner in every(each))]
