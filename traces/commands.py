"""What commands share besides options: groups, warnings, Ctrl-C."""

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console


class LazyGroup(click.Group):
    """`lazy` has what each command does by its name; each is the `command` of the module of its name in `package`."""

    def __init__(self, *args: Any, lazy: Mapping[str, str], package: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy
        self._package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._lazy:
            return None
        module = importlib.import_module(f"{self._package}.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self._lazy and not name.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(name, self._lazy, n=1)
            known = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(self._lazy)}."
            ctx.fail(f"No such command {name!r}. {known}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._lazy.items()))


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
