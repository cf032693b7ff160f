"""What a span is, and how its texts are cut."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from toolablate.traces.records import clean_text

SHOWN_CHARACTERS = 100_000
"""Of one text in a span: collectors refuse requests of many megabytes."""

Value = str | bool | int | float | Sequence[str]


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """`at` is in nanoseconds since 1970."""

    name: str
    at: int
    attributes: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Span:
    """`trace` has 16 bytes, `id` and `parent` 8; `begin` and `end` are in nanoseconds since 1970. `error` says what
    went wrong, None where nothing did."""

    trace: bytes
    id: bytes
    parent: bytes | None
    name: str
    begin: int
    end: int
    attributes: Mapping[str, Value]
    events: tuple[SpanEvent, ...] = ()
    error: str | None = None


def shown(text: str) -> str:
    """As UTF-8 can carry it, and no longer than a span should be; what is left out is told."""
    left = len(text) - SHOWN_CHARACTERS
    if left <= 0:
        return clean_text(text)
    half = SHOWN_CHARACTERS // 2
    return clean_text(f"{text[:half]}\n[... {left:,} characters left out ...]\n{text[-half:]}")
