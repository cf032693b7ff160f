"""What counts of several captures, and what is said where there is none."""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from tests.tools.archive.samples import at, exchange, filled, key

from toolablate.tools.archive import (
    Archive,
    ArchiveEntry,
    Missing,
    StoredExchange,
    create_overlay,
    info,
    open_archive,
    seal,
)
from toolablate.tools.web.exchange import Exchange
from toolablate.traces.errors import InternalError, ToolError


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with open_archive(tmp_path / "web", write=True) as opened:
        yield opened


def content(found: ArchiveEntry | Missing) -> bytes:
    assert isinstance(found, ArchiveEntry), found
    return found.content


def body(found: StoredExchange | Missing) -> bytes:
    assert isinstance(found, StoredExchange), found
    return found.read().body


def test_what_was_kept_is_found_as_it_was(archive: Archive) -> None:
    kept = archive.keep("search", key(1), "who?", b"\x00an answer\xff" * 1000, at(0))
    assert kept == ArchiveEntry("search", key(1), "who?", b"\x00an answer\xff" * 1000, at(0), False)
    assert archive.find("search", key(1), "who?") == kept
    assert archive.find("mcp", key(1), "who?") == Missing("not_in_archive")


def test_the_first_good_one_wins(archive: Archive) -> None:
    assert content(archive.keep("search", key(1), "q", b"first", at(0))) == b"first"
    assert content(archive.keep("search", key(1), "q", b"second", at(1))) == b"first"
    assert content(archive.keep("search", key(1), "q", b"broken", at(2), failed=True)) == b"first"
    assert content(archive.find("search", key(1), "q")) == b"first"
    archive.keep_exchange(key(1), exchange(body=b"first"))
    assert body(archive.keep_exchange(key(1), exchange(body=b"second", fetched_at=at(1)))) == b"first"
    assert body(archive.find_exchange(key(1), "")) == b"first"


def test_a_failed_one_gives_way_to_a_good_one_and_to_a_newer_failed_one(archive: Archive) -> None:
    assert archive.keep("search", key(1), "q", b"down", at(0), failed=True).failed
    assert content(archive.keep("search", key(1), "q", b"down again", at(1), failed=True)) == b"down again"
    assert content(archive.keep("search", key(1), "q", b"good", at(2))) == b"good"
    assert content(archive.keep("search", key(1), "q", b"down", at(3), failed=True, refresh=True)) == b"good"
    assert content(archive.find("search", key(1), "q")) == b"good"
    assert content(archive.find("search", key(1), "q", as_of=at(1))) == b"down again"
    assert content(archive.find("search", key(1), "q", as_of=at(0))) == b"down"


def test_a_failed_exchange_gives_way_to_a_good_one_and_never_takes_its_place(archive: Archive) -> None:
    def keep(text: bytes, hours: float, *, failed: bool = False, refresh: bool = False) -> bytes:
        sent = exchange(body=text, fetched_at=at(hours))
        return body(archive.keep_exchange(key(1), sent, failed=failed, refresh=refresh))

    assert keep(b"down", 0, failed=True) == b"down"
    assert keep(b"down again", 1, failed=True) == b"down again"
    assert keep(b"good", 1) == b"good"
    assert keep(b"down", 2, failed=True) == b"good"
    assert keep(b"down", 3, failed=True, refresh=True) == b"good"
    assert keep(b"newer", 4, refresh=True) == b"newer"
    found = [archive.find_exchange(key(1), "", as_of=at(hours)) for hours in (0, 0.5, 1, 3, 4)]
    assert [body(each) for each in found] == [b"down", b"down", b"good", b"good", b"newer"]
    assert [each.failed for each in found if isinstance(each, StoredExchange)] == [True, True, False, False, False]
    assert info(archive.path).failures == {"exchange": 2}


def test_a_refreshed_capture_joins_the_older_and_time_chooses(archive: Archive) -> None:
    archive.keep("search", key(1), "q", b"old", at(0))
    archive.keep_exchange(key(1), exchange(body=b"old", fetched_at=at(0)))
    assert content(archive.keep("search", key(1), "q", b"new", at(2), refresh=True)) == b"new"
    assert body(archive.keep_exchange(key(1), exchange(body=b"new", fetched_at=at(2)), refresh=True)) == b"new"
    for moment, expected in ((None, b"new"), (at(2), b"new"), (at(1.99), b"old"), (at(0), b"old")):
        assert content(archive.find("search", key(1), "q", as_of=moment)) == expected
        assert body(archive.find_exchange(key(1), "", as_of=moment)) == expected
    assert archive.find("search", key(1), "q", as_of=at(-1)) == Missing(
        "after_cutoff", "q (captured 2026-03-01 14:00:00 UTC)"
    )
    missing = archive.find_exchange(key(1), "", as_of=at(-1))
    assert isinstance(missing, Missing)
    assert missing.kind == "after_cutoff"
    assert "https://example.org/a" in missing.nearest


def test_one_moment_has_one_capture(archive: Archive) -> None:
    for text in b"one", b"two":
        assert content(archive.keep("search", key(1), "q", text, at(0), refresh=True)) == b"one"
        assert body(archive.keep_exchange(key(1), exchange(body=text), refresh=True)) == b"one"


def test_a_redirect_needs_the_index_alone(archive: Archive, tmp_path: Path) -> None:
    moved = exchange(body=b"", status=302, reason="Found", headers=(("location", "/b"), ("CONTENT-TYPE", "text/plain")))
    archive.keep_exchange(key(1), moved)
    for file in (tmp_path / "web" / "warc").iterdir():
        file.unlink()
    found = archive.find_exchange(key(1), moved.url)
    assert isinstance(found, StoredExchange)
    assert (found.status, found.location, found.content_type) == (302, "/b", "text/plain")
    assert found.captured_at == moved.fetched_at
    assert found.payload_digest == "e3b0c44298fc1c149afbf4c8996fb924"
    with pytest.raises(ToolError, match=r"cannot be read: No such file"):
        found.read()


def test_raw_contents_are_kept_once(archive: Archive) -> None:
    digest = archive.keep_raw(b"a reply")
    assert digest == archive.keep_raw(b"a reply") == hashlib.sha256(b"a reply").hexdigest()[:32]
    assert archive.raw(digest) == b"a reply"
    assert archive.raw("0" * 32) is None
    assert archive.raw(archive.keep_raw(b"")) == b""


def test_times_need_a_zone_and_writing_a_recorder(archive: Archive, tmp_path: Path) -> None:
    naive = datetime(2026, 1, 1)
    with pytest.raises(ValueError, match="time zone"):
        archive.keep("search", key(1), "q", b"", naive)
    with pytest.raises(ValueError, match="time zone"):
        archive.find("search", key(1), "q", as_of=naive)
    with open_archive(tmp_path / "web") as reader, pytest.raises(InternalError, match="not open for writing"):
        reader.keep("search", key(1), "q", b"", at(0))


def test_a_closed_archive_says_so(tmp_path: Path) -> None:
    archive = open_archive(filled(tmp_path / "web", 1))
    archive.close()
    archive.close()
    with pytest.raises(ToolError, match="closed"):
        archive.find("search", key(0), "q")


@pytest.mark.parametrize("sealed", [False, True])
def test_the_nearest_request_is_named(tmp_path: Path, sealed: bool) -> None:
    path = tmp_path / "web"
    with open_archive(path, write=True) as archive:
        for number, query in enumerate(("capital of France", "capital of Spain", "法国的首都是哪里", "boiling point")):
            archive.keep("search", key(number), query, b"", at(0))
        archive.keep("mcp", key(9), "capital of Italy", b"", at(0))
        for number, url in enumerate(
            ("https://a.org/x/1?q=2", "https://www.a.org/x/2", "http://b.org/", "https://ab.org/x/1")
        ):
            archive.keep_exchange(key(number), exchange(url))
        assert archive.find("search", "none", "Capital of france?") == Missing("not_in_archive")
    if sealed:
        seal(path)
    with open_archive(path) as archive:
        for asked, expected in (
            ("Capital of france?", "capital of France"),
            ("capital of Italy", "capital of Spain"),
            ("法国首都", "法国的首都是哪里"),
            ("freezing points", "boiling point"),
            ("zzz", ""),
            ("", ""),
        ):
            assert archive.find("search", "none", asked) == Missing("not_in_archive", expected), asked
        for asked, expected in (
            ("http://a.org/x/1?q=3", "https://a.org/x/1?q=2"),
            ("https://a.org/x/2/", "https://www.a.org/x/2"),
            ("https://a.org/", "https://a.org/x/1?q=2"),
            ("https://www.b.org/zzz", "http://b.org/"),
            ("https://b.or/", ""),
            ("https://c.org/", ""),
        ):
            assert archive.find_exchange("none", asked) == Missing("not_in_archive", expected), asked
        assert archive.find("failure", "none", "http://a.org/x/1") == Missing("not_in_archive")


def test_a_long_nearest_request_is_shortened(tmp_path: Path) -> None:
    with open_archive(tmp_path / "web", write=True) as archive:
        archive.keep("mcp", key(1), "tool " + "x" * 10_000, b"", at(0))
    with open_archive(tmp_path / "web") as archive:
        missing = archive.find("mcp", "none", "tool " + "x" * 9_000)
    assert isinstance(missing, Missing)
    assert missing.nearest == "tool " + "x" * 294 + "…"


def test_an_overlay_adds_and_its_base_stays(tmp_path: Path) -> None:
    base, middle, top = (tmp_path / name for name in ("base", "middle", "top"))
    with open_archive(base, write=True) as archive:
        archive.keep("search", key(1), "one", b"base", at(0))
        archive.keep("search", key(2), "two", b"down", at(0), failed=True)
        archive.keep_exchange(key(1), exchange(body=b"base", fetched_at=at(0)))
        raw = archive.keep_raw(b"raw")
    root = seal(base).root
    before = {file.name: file.read_bytes() for file in base.rglob("*") if file.is_file()}
    create_overlay(middle, base)
    with open_archive(middle, write=True) as archive:
        assert content(archive.keep("search", key(1), "one", b"middle", at(1))) == b"base"
        assert content(archive.keep("search", key(2), "two", b"middle", at(1))) == b"middle"
        assert content(archive.keep("search", key(3), "three", b"middle", at(1))) == b"middle"
        assert body(archive.keep_exchange(key(1), exchange(body=b"newer", fetched_at=at(1)), refresh=True)) == b"newer"
        assert archive.keep_raw(b"raw") == raw
    seal(middle)
    create_overlay(top, middle)
    with open_archive(top) as archive:
        assert [content(archive.find("search", key(n), "")) for n in (1, 2, 3)] == [b"base", b"middle", b"middle"]
        assert content(archive.find("search", key(2), "", as_of=at(0))) == b"down"
        assert archive.find("search", key(3), "", as_of=at(0)) == Missing(
            "after_cutoff", "three (captured 2026-03-01 13:00:00 UTC)"
        )
        assert body(archive.find_exchange(key(1), "")) == b"newer"
        assert body(archive.find_exchange(key(1), "", as_of=at(0))) == b"base"
        assert archive.raw(raw) == b"raw"
        assert archive.find("search", "none", "ones") == Missing("not_in_archive", "one")
        assert (archive.sealed, archive.root) == (False, "")
    assert {file.name: file.read_bytes() for file in base.rglob("*") if file.is_file()} == before
    with open_archive(base) as archive:
        assert (archive.sealed, archive.root) == (True, root)
        assert isinstance(archive.find("search", key(3), ""), Missing)


def test_an_exchange_is_read_by_another_than_its_writer(tmp_path: Path) -> None:
    page = exchange(body=bytes(range(256)) * 100)
    with open_archive(tmp_path / "web", write=True) as writer, open_archive(tmp_path / "web") as reader:
        writer.keep_exchange(key(1), page)
        found = reader.find_exchange(key(1), page.url)
        assert isinstance(found, StoredExchange)
        assert isinstance(found.read(), Exchange)
        assert found.read() == page
