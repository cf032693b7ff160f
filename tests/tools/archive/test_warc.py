"""What is in the WARC files, read by somebody else's reader; and exchanges as hostile as they come."""

import base64
import gzip
import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tools.archive.samples import NOON, exchange, filled, key, warc_files
from warcio.archiveiterator import ArchiveIterator

from toolablate.tools.archive import StoredExchange, open_archive, seal, verify
from toolablate.tools.web.exchange import Exchange

WARC_LIKE = b"HTTP/1.1 200 OK\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n" * 3
HOSTILE: dict[str, dict[str, Any]] = {
    "empty body": {"body": b""},
    "no content": {"status": 204, "reason": "No Content", "headers": (), "body": b""},
    "not modified": {"status": 304, "reason": "", "headers": (("ETag", '"x"'),), "body": b""},
    "no reason, odd status": {"status": 999, "reason": ""},
    "4 MB": {"body": hashlib.sha256(b"seed").digest() * 131_072},
    "4 MB of nothing": {"body": b"\x00" * 4_194_304},
    "like WARC": {"body": WARC_LIKE, "headers": (("Content-Type", "application/http"),)},
    "gzip": {"body": gzip.compress(WARC_LIKE, mtime=0), "headers": (("Content-Encoding", "gzip"),)},
    "gzip that is none": {"body": b"not gzip", "headers": (("Content-Encoding", "gzip"),)},
    "like a chunk": {"body": b"3\r\nabc\r\n0\r\n\r\n", "headers": (("Transfer-Encoding", "chunked"),)},
    "a length that lies": {"headers": (("Content-Length", "7"), ("content-length", "5"), ("CONTENT-LENGTH", "x"))},
    "names of ours": {"headers": (("X-Archive-Orig-Transfer-Encoding", "a"), ("x-archive-orig-x-archive-orig-y", "b"))},
    "latin-1": {"headers": (("X-Name", "caf\xe9 \x85\xa0"), ("Content-Type", "text/html; x=\xff"))},
    "UTF-8": {"headers": (("X-Name", "café 世界".encode().decode("latin-1")),)},
    "huge headers": {"headers": tuple((f"X-{number}", "v" * 5_000) for number in range(200))},
    "many headers": {"headers": tuple(("Set-Cookie", f"n{number}=1") for number in range(5_000))},
    "empty value": {"headers": (("X-Empty", ""), ("X-Colon", ":a:b: c"))},
    "IPv6": {"address": "2606:2800:220:1:248:1893:25c8:1946"},
    "no address, no request headers": {"address": "", "request_headers": ()},
    "POST": {"method": "POST", "url": "https://example.org/?a=b"},
    "long URL": {"url": "https://example.org/?" + "a%20b&" * 5_000},
}


def keep(path: Path, sent: Exchange) -> Exchange:
    with open_archive(path, write=True) as archive:
        found = archive.keep_exchange(key(1), sent)
        assert isinstance(found, StoredExchange)
        assert found.status == sent.status
        return found.read()


def warcio_records(path: Path) -> list[tuple[str, Any, bytes]]:
    """Type, record and body of all records, as warcio reads them, with its own check of their digests."""
    records = []
    with path.open("rb") as stream:
        for record in ArchiveIterator(stream, check_digests="raise"):
            records.append((record.rec_type, record, record.raw_stream.read()))
    return records


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_exchanges_come_back_as_they_were(tmp_path: Path, name: str) -> None:
    sent = exchange(**HOSTILE[name])
    assert keep(tmp_path / "web", sent) == sent
    assert verify(tmp_path / "web").problems == ()
    (file,) = warc_files(tmp_path / "web")
    info, response, request = warcio_records(file)
    assert [info[0], response[0], request[0]] == ["warcinfo", "response", "request"]
    assert response[2] == sent.body
    assert response[1].http_headers.get_statuscode() == str(sent.status)
    assert response[1].http_headers.get_header("transfer-encoding") is None
    assert response[1].http_headers.get_header("content-length") in (None, str(len(sent.body)))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"headers": (("X", "a\r\nSet-Cookie: b"),)}, {"headers": (("X", "a  Set-Cookie: b"),)}),
        ({"headers": (("X", "a\r\n\r\n<script>"),)}, {"headers": (("X", "a    <script>"),)}),
        ({"headers": (("X\r\nY: z", "\x00v\x00"),)}, {"headers": (("X__Y__z", "v"),)}),
        ({"headers": (("", " v\t"), (" ", "\udc80"))}, {"headers": (("_", "v"), ("_", "ï¿½"))}),
        ({"headers": (("X", "世"),)}, {"headers": (("X", "ä¸\x96"),)}),
        ({"reason": "OK\r\nX: y"}, {"reason": "OK  X: y"}),
        ({"request_headers": (("A", "b\nC: d"),)}, {"request_headers": (("A", "b C: d"),)}),
        ({"address": "1.2.3.4\r\nX: y"}, {"address": "1.2.3.4X:y"}),
        ({"method": "GET /x HTTP/1.1\r\n"}, {"method": "GET_/x_HTTP/1.1__"}),
        ({"url": "https://e.org/a b\r\nX: é"}, {"url": "https://e.org/a%20b%0D%0AX:%20%C3%A9"}),
    ],
)
def test_what_could_forge_a_line_is_disarmed(tmp_path: Path, changes: dict[str, Any], expected: dict[str, Any]) -> None:
    assert keep(tmp_path / "web", exchange(**changes)) == exchange(**expected)
    assert verify(tmp_path / "web").problems == ()
    (file,) = warc_files(tmp_path / "web")
    assert [kind for kind, _, _ in warcio_records(file)] == ["warcinfo", "response", "request"]


header_text = st.text(st.characters(max_codepoint=0x24F), max_size=20)


def test_any_exchange_is_kept_so_that_it_stays_the_same(tmp_path: Path) -> None:
    bodies = []
    with open_archive(tmp_path / "web", write=True) as archive:

        def kept_as(sent: Exchange) -> Exchange:
            bodies.append(sent.body)
            found = archive.keep_exchange(key(len(bodies)), sent)
            assert isinstance(found, StoredExchange)
            return found.read()

        @settings(max_examples=60, deadline=None, database=None)
        @given(
            status=st.integers(100, 999),
            reason=header_text,
            headers=st.lists(st.tuples(header_text, header_text), max_size=5).map(tuple),
            body=st.binary(max_size=200),
        )
        def try_one(status: int, reason: str, headers: Any, body: bytes) -> None:
            kept = kept_as(exchange(status=status, reason=reason, headers=headers, body=body))
            assert kept_as(kept) == kept
            assert (kept.status, kept.body, len(kept.headers)) == (status, body, len(headers))

        try_one()
    assert verify(tmp_path / "web").problems == ()
    (file,) = warc_files(tmp_path / "web")
    assert [body for kind, _, body in warcio_records(file) if kind == "response"] == bodies


def test_records_say_what_the_standard_asks_for(tmp_path: Path) -> None:
    sent = exchange(body=b"hello")
    keep(tmp_path / "web", sent)
    (file,) = warc_files(tmp_path / "web")
    (_, info, fields), (_, response, _), (_, request, _) = warcio_records(file)
    assert info.rec_headers.get_header("WARC-Filename") == file.name
    assert b"software: toolablate\r\nformat: WARC File Format 1.1\r\n" in fields
    told = dict(response.rec_headers.headers)
    assert response.rec_headers.protocol == "WARC/1.1"
    assert told["WARC-Target-URI"] == sent.url
    assert told["WARC-Date"] == "2026-03-01T12:00:00.123456Z"
    assert told["WARC-IP-Address"] == "93.184.216.34"
    assert told["Content-Type"] == "application/http; msgtype=response"
    assert told["WARC-Payload-Digest"] == "sha1:" + base64.b32encode(hashlib.sha1(b"hello").digest()).decode()
    assert told["WARC-Warcinfo-ID"] == info.rec_headers.get_header("WARC-Record-ID")
    asked = dict(request.rec_headers.headers)
    assert asked["WARC-Concurrent-To"] == told["WARC-Record-ID"]
    assert asked["WARC-Target-URI"] == sent.url
    assert request.http_headers.protocol == "GET"
    assert request.http_headers.statusline == "/a HTTP/1.1"
    assert request.http_headers.get_header("Accept-Language") == "en"


@pytest.mark.parametrize("seal_it", [False, True])
def test_warcio_check_passes(tmp_path: Path, seal_it: bool) -> None:
    path = filled(tmp_path / "web")
    if seal_it:
        seal(path)
    (file,) = warc_files(path)
    command = [sys.executable, "-c", "from warcio.cli import main; main()", "check", "-v", str(file)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stdout.count("digest pass") == 1 + 2 * 24
    assert "no digest" not in checked.stdout


def test_each_hop_is_a_record_of_its_own(tmp_path: Path) -> None:
    (file,) = warc_files(filled(tmp_path / "web", 2))
    found = [
        (record.rec_headers.get_header("WARC-Target-URI"), record.http_headers.get_header("Location"))
        for kind, record, _ in warcio_records(file)
        if kind == "response"
    ]
    pages = ["https://h0.example.org/page/0", "https://h1.example.org/page/1"]
    assert found == [entry for page in pages for entry in ((page, None), (f"{page}/old", page))]


def test_a_file_that_is_large_enough_is_left_for_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolablate.tools.archive.warc.FILE_BYTES", 2_000)
    path = filled(tmp_path / "web", 12)
    assert len(warc_files(path)) > 3
    seal(path)
    assert verify(path).problems == ()
    assert all(warcio_records(file)[0][0] == "warcinfo" for file in warc_files(path))
    with open_archive(path) as archive:
        for number in range(12):
            found = archive.find_exchange(key(number), "")
            assert isinstance(found, StoredExchange)
            assert found.read().fetched_at == NOON
