"""Who reviews: decisions have an alias; the name behind it stays in a file beside the workbench, on this machine."""

import json
import os
from collections.abc import Collection
from itertools import count
from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints, ValidationError

from toolablate.traces.database import beside
from toolablate.traces.errors import InputError
from toolablate.traces.records import Record, clean_text

Alias = Annotated[
    str, StringConstraints(min_length=1, max_length=60, strip_whitespace=True, pattern=r"^[^\x00-\x1f]+$")
]
Short = Annotated[str, StringConstraints(max_length=200, strip_whitespace=True)]


class Reviewer(Record):
    """`alias` stands in decisions and in all that is published, `name` nowhere else; `field` is that of expertise."""

    alias: Alias
    name: Short = ""
    field: Short = ""


class Reviewers:
    """In lines that are only added, by any number of processes; of several on one alias the last counts."""

    def __init__(self, workbench: Path) -> None:
        self.path = beside(workbench, "-reviewers.jsonl")

    def known(self) -> dict[str, Reviewer]:
        """By alias in small letters. A line that is none is passed over."""
        found = {}
        try:
            lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {error.strerror}", code="unreadable") from None
        for line in lines:
            try:
                each = Reviewer.from_json(line)
            except (ValidationError, ValueError):
                continue
            found[each.alias.casefold()] = each
        return found

    def enter(self, alias: str, name: str, field: str, decided: Collection[str] = ()) -> Reviewer:
        """A new one; without an alias R1, R2 and so on, and none of those that have `decided`, be it from a file.
        Raises InputError for an alias that somebody has, and for what is none."""
        known = self.known()
        given = clean_text(alias.strip()) or _free({*known, *map(str.casefold, decided)})
        if not (alias.strip() or name.strip()):
            raise InputError("Say an alias, a name or both.", code="reviewer")
        if given.casefold() in known:
            raise InputError(
                f"Somebody has the alias {given} already.", hint="Choose it above if it is you.", code="reviewer"
            )
        try:
            made = Reviewer(alias=given, name=clean_text(name), field=clean_text(field))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise InputError(f"{first['loc'][0]}: {first['msg']}", code="reviewer") from None
        self._add(made)
        return made

    def _add(self, made: Reviewer) -> None:
        line = json.dumps(made.model_dump(mode="json"), ensure_ascii=False) + "\n"
        try:
            # For nobody else to read: it has names.
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(file, line.encode())
            finally:
                os.close(file)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror}", code="unwritable") from None


def _free(taken: Collection[str]) -> str:
    return next(alias for number in count(1) if (alias := f"R{number}").casefold() not in taken)
