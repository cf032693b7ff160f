"""Exports and imports: the commands of `toolablate export` and `import`, with their words."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from toolablate.traces.errors import InputError
from toolablate.traces.terminal_text import one_line

if TYPE_CHECKING:
    from toolablate.traces.commands import PluginGroup


def export(kind: str, store: Path, output: Path | None, words: Mapping[str, Any]) -> Path | None:
    """Raises InputError for a format or word that there is not, and what the command raises."""
    _call("export", kind, [str(store)], {**words, **({} if output is None else {"output": output})})
    return output


def bring_in(kind: str, files: Sequence[str | PathLike[str]], store: Path, words: Mapping[str, Any]) -> None:
    """Raises as `export`."""
    _call("import", kind, [*map(str, files), "--store", str(store)], words)


def _call(which: Literal["export", "import"], kind: str, given: list[str], words: Mapping[str, Any]) -> None:
    from toolablate.formats.commands import export_group, import_group

    group: PluginGroup = export_group if which == "export" else import_group
    context = click.Context(group, info_name=which)
    command = group.get_command(context, kind)
    if command is None:
        raise InputError(
            f"{which}: there is no format {one_line(repr(kind), max_chars=60)}",
            hint=f"there are {', '.join(group.list_commands(context))}",
            code="usage",
        )
    options = {
        name.removeprefix("--").replace("-", "_"): (name, option, name in option.secondary_opts)
        for option in command.params
        if isinstance(option, click.Option)
        for name in (*option.opts, *option.secondary_opts)
        if name.startswith("--")
    }
    for word, value in words.items():
        if word not in options:
            there = ", ".join(name for name, (_, _, negates) in options.items() if not negates)
            raise InputError(f"{which} {kind}: there is no word {word!r}", hint=f"there are {there}", code="usage")
        given = [*_written(*options[word][:2], value), *given]
    try:
        # A command keeps the names of its help option from its first call in a process, which the command line shares.
        helps: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
        command.main(given, prog_name=f"{which} {kind}", standalone_mode=False, **helps)
    except click.ClickException as error:
        raise InputError(f"{which} {kind}: {error.format_message()}", code="usage") from None


def _written(name: str, option: click.Option, value: Any) -> list[str]:
    """A word as the command line writes it."""
    if option.is_flag:
        negated = next((each for each in option.secondary_opts if each.startswith("--")), None)
        return [name] if value else [negated] if negated else []
    if value is None:
        return []
    values = [value] if isinstance(value, str | PathLike) or not isinstance(value, Sequence) else value
    return [part for each in values for part in (name, str(each))]
