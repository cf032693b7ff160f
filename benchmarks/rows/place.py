from typing import Any, Literal, NamedTuple

from toolablate.benchmarks.line_error import LineError
from toolablate.traces.errors import InputError

Unit = Literal["line", "row"]


class Place(NamedTuple):
    """Where a row stands, counted from 1: `questions.jsonl:17`, `train.parquet, row 17`, `hf:owner/name, row 17`."""

    source: str
    unit: Unit
    number: int

    def __str__(self) -> str:
        return f"{self.source}:{self.number}" if self.unit == "line" else f"{self.source}, row {self.number}"

    def seen_from(self, other: "Place") -> str:
        """The same, for an error that has named the place `other` already."""
        return f"{self.unit} {self.number}" if self.source == other.source else str(self)


Located = tuple[Place, dict[str, Any]]
"""A row, and where it stands."""


def at(place: Place, error: LineError, *, code: str = "bad_row") -> InputError:
    """What a user is told of a row that is wrong."""
    return InputError(f"{place}: {error}", hint=error.hint, code=code)
