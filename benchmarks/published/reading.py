"""Reads published tables from a TOML file, and says exactly what is wrong with one that is none."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from toolablate.analysis.audit import Paper
from toolablate.benchmarks.published.assembly import assembled
from toolablate.benchmarks.published.form import ALLOWED, PaperForm, TableForm
from toolablate.benchmarks.published.places import Place, quoted
from toolablate.traces.errors import InputError

Form = TypeVar("Form", bound=BaseModel)
_LINE = re.compile(r"\s*\(at line (\d+), column (\d+)\)")


def load_published(path: str | Path) -> Paper:
    """Raises InputError that names the file, the line, the key, what was found and what is allowed."""
    path = Path(path)
    text = _text(path)
    place = Place(path, tuple(text.splitlines()))
    try:
        content = tomllib.loads(text)
    except RecursionError as error:
        raise place.error("is nested too deeply") from error
    except ValueError as error:
        raise _broken(path, str(error)) from error
    paper = _form(PaperForm, content, place)
    places = [Place(path, place.lines, number) for number in range(len(paper.table))]
    forms = [_form(TableForm, each, at) for each, at in zip(paper.table, places, strict=True)]
    return assembled(paper.source, forms, places)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}", code="unreadable") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InputError(
            f"{path}:{line}: not UTF-8: byte 0x{error.object[error.start]:02x}",
            hint="Save the file as UTF-8.",
            code="bad_encoding",
        ) from error


def _broken(path: Path, message: str) -> InputError:
    found = _LINE.search(message)
    told = _LINE.sub("", message)
    where = f"{path}:{found[1]}: broken TOML at column {found[2]}" if found else f"{path}: broken TOML"
    hint = "`toolablate audit-table --help` shows such a file; the rows of any table are pasted into one."
    if "escape" in message:
        hint = r"Rows with a backslash, such as \downarrow, stand in ''' '''."
    return InputError(f"{where}: {told}", hint=hint, code="bad_toml")


def _form(form: type[Form], content: Mapping[str, Any], place: Place) -> Form:
    try:
        return form.model_validate(content)
    except ValidationError as error:
        found = error.errors(include_url=False)
        # A key that is misspelt is unknown, and makes another missing.
        first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
    key = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        raise place.error(f"unknown key {quoted(key)}", key=key, hint=_similar(key, form))
    if first["type"] == "missing":
        raise place.error(f"the key '{key}' is missing", hint=f"It is {ALLOWED[key]}.")
    raise place.error(f"'{key}' must be {ALLOWED[key]}; found {quoted(content[key])}", key=key)


def _similar(key: str, form: type[BaseModel]) -> str:
    close = difflib.get_close_matches(key, form.model_fields, n=1)
    return (f"Did you mean '{close[0]}'? " if close else "") + f"Allowed are {', '.join(form.model_fields)}."
