"""What a table is: its columns, and nothing that fills them."""

import json
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["text", "name", "int", "float", "bool", "time", "names", "ints", "json", "artifacts"]
"""`name` is one of few texts, `time` an instant in UTC, `json` a text that holds JSON; `names` and `ints` are lists,
`artifacts` is a list of MIME types and data (base64 where it is binary)."""

Row = dict[str, Any]
"""Values by column; a column that is left out is null."""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: Kind
    meaning: str


@dataclass(frozen=True, slots=True)
class Table:
    """`rows` says what one row is."""

    name: str
    rows: str
    columns: tuple[Column, ...]


OF_TRIAL: tuple[str, Kind, str] = ("trial", "text", "the trial")
USAGE: tuple[tuple[str, Kind, str], ...] = (
    ("input_tokens", "int", "all tokens read; null where the endpoint did not say"),
    ("output_tokens", "int", "all tokens written, reasoning among them"),
    ("cached_tokens", "int", "of those read, what came from the endpoint's cache"),
    ("cache_write_tokens", "int", "of those read, what was written to it"),
    ("reasoning_tokens", "int", "of those written"),
    ("cost_usd", "float", "US dollars; null where the price is unknown"),
)
"""Columns of several tables."""


def columns(*given: tuple[str, Kind, str]) -> tuple[Column, ...]:
    return tuple(Column(*each) for each in given)


def columns_table(table: Table) -> str:
    """The columns as a table in Markdown."""
    lines = [f"| `{column.name}` | {column.kind} | {column.meaning} |" for column in table.columns]
    return "\n".join(["| column | type | what it says |", "|---|---|---|", *lines])


def json_text(value: Any) -> str | None:
    """None for what holds nothing."""
    return json.dumps(value, ensure_ascii=False) if value else None
