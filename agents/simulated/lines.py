"""Reads what simulated models go by: a file with a record on each line."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from toolablate.traces.errors import InputError

R = TypeVar("R", bound=BaseModel)


def numbered(path: Path, kind: type[R], what: str) -> Iterator[tuple[int, R]]:
    """The records with the numbers of their lines, from 1; empty lines are passed over. `what` is what users call the
    file. Raises InputError (`unreadable_WHAT`, `bad_WHAT`) that names the line and the key."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = raw.removeprefix(b"\xef\xbb\xbf").strip()
                if line:
                    yield number, kind.model_validate_json(line)
    except OSError as error:
        raise InputError(f"cannot read the {what} {path}: {error.strerror}", code=f"unreadable_{what}") from None
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        said = problem["msg"].removeprefix("Value error, ")
        raise InputError(f"{path}:{number}: {where}{': ' if where else ''}{said}", code=f"bad_{what}") from None
