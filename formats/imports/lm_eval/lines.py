"""The lines of a file of samples, without holding all of them."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolablate.traces.errors import InputError

_NEEDED = ("doc_id", "doc", "arguments", "resps", "filtered_resps")
_ARCHIVE = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class Row:
    """One line, by its number from 1."""

    number: int
    content: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Lines:
    """Where the rows of each document begin, in the order of the documents; a task with several filters has as many
    rows of each. `digest` is that of the whole file."""

    path: Path
    places: dict[str, list[tuple[int, int]]]
    digest: str

    def documents(self) -> Iterator[list[Row]]:
        """The rows of one document after the other. Raises InputError where the file changed or went away."""
        try:
            with self.path.open("rb") as file:
                for places in self.places.values():
                    rows = []
                    for number, start in places:
                        file.seek(start)
                        rows.append(Row(number, read_row(self.path, number, file.readline())))
                    yield rows
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror or error}", code="unreadable") from None


def read_lines(path: Path) -> Lines:
    """Raises InputError for a file that cannot be read, and for a line that is no sample."""
    places: dict[str, list[tuple[int, int]]] = {}
    digest, start = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                digest.update(line)
                if line.strip():
                    row = read_row(path, number, line)
                    places.setdefault(json.dumps(row["doc_id"]), []).append((number, start))
                start += len(line)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}", code="unreadable") from None
    return Lines(path, places, digest.hexdigest()[:32])


def read_row(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        said = str(error) if isinstance(error, json.JSONDecodeError) else "it is no UTF-8 or too deep"
        raise InputError(
            f"{path}:{number}: this is no JSON: {said}",
            hint="This is how logs of Inspect begin: see `toolablate import inspect`."
            if number == 1 and line.startswith(_ARCHIVE)
            else "A file that was cut off can be imported without its last line.",
            code="bad_json",
        ) from None
    lacking = [key for key in _NEEDED if key not in row] if isinstance(row, dict) else list(_NEEDED)
    if lacking:
        raise InputError(
            f"{path}:{number}: this is no sample of lm-evaluation-harness: {', '.join(lacking)} is missing",
            hint="Its samples are written by `lm_eval --log_samples`, as samples_TASK_TIME.jsonl.",
            code="not_lm_eval",
        )
    return dict(row)
