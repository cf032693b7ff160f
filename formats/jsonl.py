"""One trace a line, as JSON, and back."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from toolablate.formats.commands import choosing
from toolablate.traces import options
from toolablate.traces.errors import InputError

if TYPE_CHECKING:
    from toolablate.formats.exporting import Exported


@click.command(
    "jsonl",
    epilog=options.example("toolablate export jsonl STORE -o trials.jsonl"),
    short_help="One trace a line, with everything that is known of it.",
)
@click.argument("store", type=options.FilePath())
@click.option(
    "-o",
    "--output",
    type=options.FilePath(allow_dash=True),
    required=True,
    help='The file to write, or "-" for standard output.',
)
@choosing
def export_command(store: Path, output: Path, **given: Any) -> None:
    """Write the trials of STORE as JSON, one trace a line with everything that is known of it.

    That is its question, model, condition, events, scores, why it went as it did, and what judges and people said of
    it. The file is there whole or not at all; docs/exports.md has its keys.
    """
    from toolablate.formats.exporting import exporting
    from toolablate.reports.numbers import counted
    from toolablate.traces.new_files import new_file, require_file
    from toolablate.traces.output import refuse_store

    if str(output) == "-":
        with exporting(store, given) as export:
            write_jsonl(export.trials, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    require_file(output)
    refuse_store(output, "-o")
    with exporting(store, given) as export, new_file(output) as file:
        write_jsonl(export.trials, file)
    click.echo(f"{counted(export.count, 'trial')} in {click.format_filename(output)}", err=True)


def write_jsonl(exported: "Iterable[Exported]", file: BinaryIO) -> int:
    """Returns how many lines were written. The same trials of a store give the same bytes. Raises OSError."""
    count = 0
    for each in exported:
        file.write(_line(each))
        count += 1
    return count


def read_jsonl(path: Path) -> "Iterator[Exported]":
    """What `write_jsonl` wrote: equal records, one at a time. Raises InputError for a line that is none."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield _exported(line, f"{path}, line {number}")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}", code="unreadable") from None


def _line(exported: "Exported") -> bytes:
    from pydantic_core import PydanticSerializationError

    from toolablate.traces.records import clean_text

    try:
        text = exported.to_json()
    except PydanticSerializationError as error:
        # Whatever is raised meanwhile, Ctrl-C too, comes as this error.
        if "surrogates not allowed" not in str(error):
            raise
        # UTF-8 cannot carry a lone surrogate: a store holds none unless somebody else wrote it.
        text = clean_text(json.dumps(exported.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False))
    # Some readers take these for the end of a line.
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").encode() + b"\n"


def _exported(line: bytes, where: str) -> "Exported":
    from pydantic import ValidationError

    from toolablate.formats.exporting import Exported

    try:
        return Exported.from_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(
            f"{where}: {place + ': ' if place else ''}{first['msg']}",
            hint="each line should be a trace as `export jsonl` writes it",
            code="no_trace",
        ) from None
