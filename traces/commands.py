"""What commands share besides options: groups, warnings, Ctrl-C."""

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from toolablate.traces.errors import InputError
from toolablate.traces.plugins import MISSING, by_name, checked, only, package

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from rich.console import Console


class SuggestingGroup(click.Group):
    """Names the nearest command where there is none of a name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(name, known, n=1)
            told = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(known)}."
            ctx.fail(f"No such command {name!r}. {told}")
        return super().resolve_command(ctx, args)


class LazyGroup(SuggestingGroup):
    """`sections` has, by heading and name, where each command is (`module:attribute`) and what it does. A command is
    imported when it is called, so that help is instant."""

    def __init__(self, *args: Any, sections: Mapping[str, Mapping[str, tuple[str, str]]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sections = sections
        self.lazy = {name: where for section in sections.values() for name, (where, _) in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.lazy:
            return None
        module, _, attribute = self.lazy[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, section in self._sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name, told) for name, (_, told) in section.items()])


class PluginGroup(SuggestingGroup):
    """Its commands come from installed packages: entry points of the group `entry_points` that are named
    `PREFIX.COMMAND`, each a click command. They are imported when they are listed or called."""

    def __init__(self, *args: Any, entry_points: str, prefix: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._group = entry_points
        self._prefix = f"{prefix}."

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._points)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Raises InputError for one that cannot be loaded, and for one that several packages claim."""
        points = self._points.get(cmd_name)
        if points is None:
            return None
        said = f"the command '{self.name} {cmd_name}'"
        point = only(points, said)
        command: click.Command = checked(
            f"{said} of {package(point)} cannot be loaded from {point.value}",
            point.load,
            lambda found: isinstance(found, click.Command),
            "a click command",
            hint=f"reinstall or remove {package(point)}",
            code="bad_plugin",
        )
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not self._points and not ctx.resilient_parsing:
            ctx.fail(MISSING)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        told = []
        for name in self.list_commands(ctx):
            try:
                command = self.get_command(ctx, name)
                told.append((name, command.get_short_help_str(formatter.width) if command else ""))
            except InputError:
                told.append((name, "(cannot be loaded)"))
        with formatter.section("Commands"):
            # click cannot write an empty list.
            formatter.write_dl(told) if told else formatter.write_text(f"None: {MISSING}")

    @cached_property
    def _points(self) -> "dict[str, tuple[EntryPoint, ...]]":
        return {
            name.removeprefix(self._prefix): points
            for name, points in by_name(self._group).items()
            if name.startswith(self._prefix) and name != self._prefix
        }


STOPPED = "Stopped; what was finished is kept, and the same command goes on from there."


@contextmanager
def stopped_cleanly() -> Iterator[None]:
    """Ends the program after Ctrl-C, where what is done is done for good."""
    try:
        yield
    except KeyboardInterrupt:
        from rich.console import Console

        Console(stderr=True).print(STOPPED, soft_wrap=True)
        raise SystemExit(1) from None


def warn(warning: str) -> None:
    """On stderr, and nothing where there is nothing to warn of."""
    from rich.console import Console

    if warning:
        Console(stderr=True).print(f"Warning: {warning}", style="yellow", markup=False, soft_wrap=True)


def tell_left_out(console: "Console", count: int) -> None:
    """Of trials that the run in question did not call for."""
    if count:
        more = f"{count:,} more trial{'' if count == 1 else 's'}"
        console.print(f"The store holds {more}, which this run did not call for: see --run", soft_wrap=True)
