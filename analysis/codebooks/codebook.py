"""Codebooks: the two that are built in, and a user's own from a TOML file."""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from toolablate.traces.errors import InputError
from toolablate.traces.records import ERROR_TYPE_BOOK, MECHANISM_BOOK
from toolablate.traces.records._base import Record
from toolablate.traces.validation import explain, why_unreadable

BUILT_IN = (MECHANISM_BOOK, ERROR_TYPE_BOOK)
RESERVED = frozenset("bcdefgjkmnwxy")
"""Keys that mean something else on a trial's page."""


class Code(Record):
    """`name` is what a label keeps, `key` what chooses it on the keyboard: one letter or digit. `title` is the name
    that people read, where it differs."""

    name: str = Field(min_length=1, max_length=80)
    key: str = Field(pattern=r"^[0-9a-z]$")
    title: str = Field(default="", max_length=80)
    definition: str = Field(min_length=1, max_length=2_000)
    examples: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        return self.title or self.name


class Codebook(Record):
    """`question` is what people are asked. Of `several` codes a trial may have any number, else exactly one."""

    name: str = Field(min_length=1, max_length=80)
    question: str = Field(default="What went wrong?", max_length=200)
    several: bool = False
    codes: tuple[Code, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _codes_are_told_apart(self) -> Self:
        for what in ("name", "key"):
            for value, count in Counter(getattr(code, what) for code in self.codes).items():
                if count > 1:
                    raise ValueError(f"codes: {count} codes have the {what} {value!r}")
        for code in self.codes:
            if code.key in RESERVED:
                raise ValueError(f"codes: the key {code.key!r} of {code.name!r} means something else on a trial's page")
        return self

    @property
    def digest(self) -> str:
        return self.identity()

    def title(self, name: str) -> str:
        """The name that people read; of a code that this book does not have, the code itself."""
        return next((code.shown for code in self.codes if code.name == name), name)


@cache
def built_in(name: str) -> Codebook:
    """`mechanisms` or `error_types`."""
    return Codebook.model_validate(tomllib.loads(built_in_text(name)))


def built_in_text(name: str) -> str:
    """Its file, as a start for one's own."""
    return files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")


def codebook(given: str) -> Codebook:
    """By the name of one that is built in, or the path of a file. Raises InputError, which names file, key and line."""
    return built_in(given) if given in BUILT_IN else _read(Path(given))


def _read(path: Path) -> Codebook:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(f"cannot read {path}: {why_unreadable(error)}") from None
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _refused(f"{path}: is no TOML: {error}") from None
    try:
        found = Codebook.model_validate(content)
    except ValidationError as error:
        line = _line(text, content, error.errors()[0])
        raise _refused(f"{path}: line {line}: {explain(error, Codebook)}") from None
    if found.name in BUILT_IN and found != built_in(found.name):
        line = _line(text, content, {"loc": ("name",)})
        raise _refused(f"{path}: line {line}: name: {found.name!r} is the name of the built-in one; choose another")
    return found


def _refused(said: str) -> InputError:
    hint = f"{', '.join(BUILT_IN)}, or a file such as: toolablate labels codebook > codes.toml"
    return InputError(f"--codebook: {said}", hint=hint, code="bad_codebook")


_HEADER = re.compile(r"\s*\[\[\s*codes\s*\]\]")


def _line(text: str, content: Mapping[str, Any], error: Mapping[str, Any]) -> int:
    """The first line of the key that an error is about, of the table of its code where the key is missing; of two codes
    that are not told apart the later one's. 1 where codes are written in another way than `[[codes]]`."""
    place = list(error["loc"])
    if not place and (repeated := _repeated(content)):
        place = ["codes", *repeated]
    lines = text.split("\n")
    headers = [number for number, line in enumerate(lines) if _HEADER.match(line)]
    start, end = 0, len(lines)
    if place[:1] == ["codes"] and len(place) > 1 and isinstance(place[1], int) and place[1] < len(headers):
        start = headers[place[1]]
        end = headers[place[1] + 1] if place[1] + 1 < len(headers) else end
        place = place[2:]
    key = re.compile(rf"\s*[\"']?{re.escape(str(place[0]))}[\"']?\s*=") if place else None
    return next((number for number in range(start, end) if key and key.match(lines[number])), start) + 1


def _repeated(content: Mapping[str, Any]) -> tuple[int, str] | None:
    for what in ("name", "key"):
        seen = set[str]()
        for place, code in enumerate(content.get("codes", ())):
            value = code.get(what, "")
            if value in seen or (what == "key" and value in RESERVED):
                return place, what
            seen.add(value)
    return None
