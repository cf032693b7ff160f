"""Views of failures that were given a name: a small file beside the viewer's index."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.kept import VIEWS
from toolablate.traces.records import clean_text

MOST, LONGEST_NAME, LONGEST_QUERY = 100, 80, 4_000
_SAVING = Lock()


@dataclass(frozen=True, slots=True)
class SavedViews:
    """Each a name and the query of its address. What cannot be read is taken for nothing, and saved over."""

    path: Path

    @classmethod
    def beside(cls, index: Path) -> "SavedViews":
        return cls(index.with_name(f"{index.name}{VIEWS}"))

    def all(self) -> Mapping[str, str]:
        """By name."""
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(found, dict):
            return {}
        there = {name: query for name, query in found.items() if isinstance(query, str)}
        return dict(sorted(there.items(), key=lambda each: (each[0].casefold(), each[0])))

    def save(self, name: str, query: str) -> None:
        """One of that name is replaced. Raises InputError for a name or a query that cannot be kept, StoreError where
        the file cannot be written."""
        called = " ".join(clean_text(name).split())
        if not 0 < len(called) <= LONGEST_NAME:
            raise InputError(f"The name of a view has 1 to {LONGEST_NAME} characters", code="view_name")
        if len(query) > LONGEST_QUERY:
            raise InputError(f"The address of a view has at most {LONGEST_QUERY:,} characters", code="view_query")
        with _SAVING:
            views = {**self.all(), called: query}
            if len(views) > MOST:
                raise InputError(f"There are {MOST} views already", hint="Delete one first.", code="views")
            self._write(views)

    def delete(self, name: str) -> None:
        with _SAVING:
            self._write({each: query for each, query in self.all().items() if each != name})

    def _write(self, views: Mapping[str, str]) -> None:
        new = self.path.with_name(f"{self.path.name}.new")
        try:
            new.touch(mode=0o600)
            new.write_text(json.dumps(views, ensure_ascii=False), encoding="utf-8")
            new.replace(self.path)
        except OSError as error:
            raise StoreError(
                f"Cannot write {self.path}: {error}", hint="Its folder has to be writable.", code="cannot_write"
            ) from None
