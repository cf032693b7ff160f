"""What an archive holds, and what it answers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from toolablate.tools.web.exchange import Exchange
from toolablate.traces.records import MissKind

EntryKind = Literal["search", "extraction", "mcp", "mcp_tools", "raw", "failure"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing kept under a key. `request` describes what was asked; `failed` marks a reply that was a failure."""

    kind: str
    key: str
    request: str
    content: bytes
    captured_at: datetime
    failed: bool


@dataclass(frozen=True, slots=True)
class Missing:
    """Nothing under that key, or nothing as of that time.

    `nearest` describes the recorded request of the same kind that is most like the one asked for, empty if there is
    none.
    """

    kind: MissKind
    nearest: str = ""


@dataclass(frozen=True, slots=True)
class StoredExchange:
    """What the index knows of an exchange, which is enough for redirects and for pages whose text is kept.

    `location` and `content_type` are the reply's headers; `payload_digest` is that of the body as sent: the first 32
    hexadecimal digits of its SHA-256. `failed` marks a reply that was a failure.
    """

    key: str
    url: str
    status: int
    location: str
    content_type: str
    captured_at: datetime
    payload_digest: str
    failed: bool
    load: Callable[[], Exchange] = field(repr=False, compare=False)

    def read(self) -> Exchange:
        """The whole exchange, from its WARC record. Raises ToolError where that is damaged or gone."""
        return self.load()


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970. Raises ValueError for a time without a zone, which each machine would read otherwise."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment} has no time zone")
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return _EPOCH + micros * _MICROSECOND
