"""Reads a JSONL file, line by line, and says exactly what is wrong with a line that is no JSON object."""

from collections.abc import Iterator
from pathlib import Path

from toolablate.benchmarks.line_error import LineError
from toolablate.benchmarks.rows.json_object import json_object
from toolablate.benchmarks.rows.place import Located, Place, at
from toolablate.benchmarks.rows.reading import not_text, unreadable


def json_lines(path: Path) -> Iterator[Located]:
    """The lines that are not blank; a byte order mark is passed over. Raises InputError."""
    source = str(path)
    for number, line in _lines_of(path):
        place = Place(source, "line", number)
        try:
            content = json_object(line)
        except LineError as error:
            raise at(place, error) from error
        yield place, content


def _lines_of(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                except UnicodeDecodeError as error:
                    raise not_text(f"{path}:{number}", raw, error) from error
                if line:
                    yield number, line
    except OSError as error:
        raise unreadable(path, error) from error
