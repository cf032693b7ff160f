"""Exchanges and archives for tests."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from toolablate.tools.archive import Archive, open_archive
from toolablate.tools.web.exchange import Exchange

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


def at(hours: float) -> datetime:
    return NOON + timedelta(hours=hours)


def exchange(url: str = "https://example.org/a", body: bytes = b"hello", **changes: Any) -> Exchange:
    content = {
        "url": url,
        "status": 200,
        "reason": "OK",
        "headers": (("Content-Type", "text/html; charset=utf-8"), ("Server", "test")),
        "body": body,
        "fetched_at": NOON,
        "request_headers": (("Host", "example.org"), ("Accept-Language", "en")),
        "address": "93.184.216.34",
    }
    return Exchange(**{**content, **changes})


def key(number: int) -> str:
    return f"{number:032x}"


def fill(archive: Archive, numbers: range) -> None:
    """For each number an exchange, a redirect to it, its extraction, a search, and now and then a failure."""
    for number in numbers:
        url = f"https://h{number % 3}.example.org/page/{number}"
        page = exchange(url, f"<p>page {number}</p>".encode() * 50)
        moved = exchange(f"{url}/old", b"", status=301, reason="Moved", headers=(("Location", url),))
        archive.keep_exchange(key(number), page)
        archive.keep_exchange(key(10_000 + number), moved)
        archive.keep("extraction", key(number), url, f"page {number} ".encode() * 50, at(number))
        raw = archive.keep_raw(f"raw {number}".encode())
        archive.keep("search", key(number), f"where is page {number}?", f"in {raw}".encode(), at(number))
        if number % 5 == 0:
            archive.keep("failure", key(20_000 + number), f"{url}/gone", b"{}", at(number), failed=True)


def filled(path: Path, count: int = 12) -> Path:
    with open_archive(path, write=True) as archive:
        fill(archive, range(count))
    return path


def warc_files(path: Path) -> list[Path]:
    return sorted((path / "warc").iterdir())


def contents(path: Path) -> dict[str, bytes]:
    """All files of a folder, by their paths in it."""
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}
