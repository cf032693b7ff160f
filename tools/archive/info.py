"""What is in an archive, at a glance."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from pathlib import Path

from toolablate.tools.archive._layer import Layer
from toolablate.tools.archive._opening import opened_for_checks
from toolablate.tools.archive.entry import from_micros
from toolablate.tools.archive.manifest import Base, Seal, read_manifest
from toolablate.tools.archive.verification import count

SPAN = """
SELECT min(captured_at), max(captured_at) FROM
(SELECT captured_at FROM entries WHERE kind <> 'raw' UNION ALL SELECT captured_at FROM exchanges)
"""
FAILURES = """
SELECT kind, count(*) FROM
(SELECT kind FROM entries WHERE failed OR kind = 'failure' UNION ALL SELECT 'exchange' FROM exchanges WHERE failed)
GROUP BY kind ORDER BY kind
"""


@dataclass(frozen=True, slots=True)
class Info:
    """One archive, without what it lies over.

    `counts` are captures by kind, `exchange` among them; `hosts` exchanges by host, the most frequent first;
    `failures` those captures by kind that are of something that failed. `size` is in bytes on the disk. `first` and
    `last` are None where nothing is kept.
    """

    path: str
    created_at: datetime
    base: Base | None
    sealed: Seal | None
    counts: dict[str, int]
    hosts: dict[str, int]
    failures: dict[str, int]
    first: datetime | None
    last: datetime | None
    size: int


def info(path: str | PathLike[str]) -> Info:
    """Reads the index alone. Raises InputError where there is no archive, ToolError where its index is damaged."""
    folder = Path(path)
    manifest = read_manifest(folder)
    with opened_for_checks(folder, manifest) as connection:
        layer = Layer(folder, connection)
        hosts = Counter(_host(url) for (url,) in layer.rows("SELECT url FROM exchanges"))
        ((first, last),) = layer.rows(SPAN)
        failures = dict(layer.rows(FAILURES))
        counts = count(connection)
    return Info(
        path=str(folder),
        created_at=manifest.created_at,
        base=manifest.base,
        sealed=manifest.sealed,
        counts=counts,
        hosts=dict(sorted(hosts.items(), key=lambda host: (-host[1], host[0]))),
        failures=failures,
        first=None if first is None else from_micros(first),
        last=None if last is None else from_micros(last),
        size=sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
    )


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]
