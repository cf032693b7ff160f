"""The options that several commands have: what is the same has one name, one type and one set of words."""

import os
from collections.abc import Callable, Iterable
from math import isfinite
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click
from click.core import ParameterSource

F = TypeVar("F", bound=Callable[..., Any] | click.Command)


class Option(Protocol):
    def __call__(self, command: F, /) -> F: ...


class FilePath(click.Path):
    """A path, and not the empty one: `"$STORE"` of a variable that is not set would be the folder that one is in."""

    def __init__(self, *, file_okay: bool = True, dir_okay: bool = True, allow_dash: bool = False) -> None:
        super().__init__(file_okay=file_okay, dir_okay=dir_okay, allow_dash=allow_dash, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("The name is empty.", param, ctx)
        return super().convert(value, param, ctx)


class Seed(click.IntRange):
    """One number has one meaning: Python's own generator takes -1 for 1."""

    def __init__(self) -> None:
        super().__init__(min=0)


def finite(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """`nan` is in every range, and more than nothing."""
    if value is not None and not isfinite(value):
        raise click.BadParameter(f"{value} is no number to count with.", context, parameter)
    return value


def run(default: str) -> Option:
    """`run`: the trials that count."""
    return click.option(
        "--run",
        metavar="ID",
        default=default,
        show_default=True,
        help='The trials that one run called for: its id or tag, "latest", or "all" that the store holds.',
    )


def models(command: F) -> F:
    told = "Only this model. May be given several times."
    return click.option("--model", "models", metavar="NAME", multiple=True, help=told)(command)


def conditions(command: F) -> F:
    told = "Only this condition. May be given several times."
    return click.option("--condition", "conditions", metavar="NAME", multiple=True, help=told)(command)


def scorer(command: F) -> F:
    told = "Use the scores of this scorer; by default the run's."
    return click.option("--scorer", metavar="NAME", help=told)(command)


def baseline(command: F) -> F:
    told = "The condition to compare with; by default the run's."
    return click.option("--baseline", metavar="NAME", help=told)(command)


def seed(of: str) -> Option:
    return click.option("--seed", type=Seed(), metavar="N", default=0, show_default=True, help=f"Seed of {of}.")


def plan(command: F) -> F:
    """`plan`: of what a store holds already."""
    told = "The plan of the trials, where its paths have moved."
    return click.option("--plan", type=FilePath(), help=told)(command)


def max_cost(command: F) -> F:
    dollars = click.FloatRange(min=0)
    told = "Refuse what would cost more."
    return click.option("--max-cost", type=dollars, callback=finite, metavar="USD", help=told)(command)


def cluster(of: str) -> Option:
    told = (
        f'Run {of} on the workers of the Ray cluster at HOST:PORT; "auto": the one of this machine; "local": one'
        ' started here; "none": without a cluster.'
    )
    return click.option("--cluster", metavar="ADDRESS", help=told)


def question_file(command: F) -> F:
    """`output`: where questions of a benchmark go."""
    told = "The question file to write, for a plan to name."
    return click.option("-o", "--output", type=FilePath(dir_okay=False), required=True, help=told)(command)


def imported(command: F) -> F:
    """`files`, `store` and `condition`: what others measured, and where it goes."""
    of_imports, called = "A store of imports; made where there is none.", "What to call the condition of FILES."
    command = click.option("--condition", metavar="NAME", help=called)(command)
    command = click.option("--store", type=FilePath(dir_okay=False), required=True, help=of_imports)(command)
    return click.argument("files", type=FilePath(), nargs=-1, required=True)(command)


def first_given(context: click.Context, names: Iterable[str]) -> str | None:
    """The first of these options that the command line names, as it names it."""
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            return f"--{name.replace('_', '-')}"
    return None


def as_json(what: str) -> Option:
    return click.option("--json", "as_json", is_flag=True, help=f"Print {what} as JSON.")


def csv(what: str) -> Option:
    return click.option("--csv", type=FilePath(dir_okay=False), help=f"Also write {what} to a CSV file.")


def plot(what: str) -> Option:
    told = f"Also draw {what} into a file: .svg, .png or .pdf."
    return click.option("--plot", type=FilePath(dir_okay=False), help=told)


def example(*lines: str) -> str:
    """The end of a command's help: lines that run, as they are typed."""
    return "\n".join(("\b", "Example:", *(f"  {line}" for line in lines)))


def refuse_given(names: Iterable[str], told: str) -> None:
    """An option that is ignored would be taken for done: the first of these on the command line raises InputError."""
    from toolablate.traces.errors import InputError

    context = click.get_current_context()
    options = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise InputError(f"{options[name]} {told}", hint=f"leave out {options[name]}", code="usage")
