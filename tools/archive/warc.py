"""HTTP exchanges as WARC records, in files that only grow."""

import base64
import hashlib
import io
import os
import re
import secrets
import uuid
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from toolablate.tools.archive.manifest import sync_folder
from toolablate.tools.web.exchange import Exchange
from toolablate.traces.records import canonical_json, clean_text

Headers = tuple[tuple[str, str], ...]

_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_NOT_IN_NAMES = re.compile(r"[\x00-\x20\x7f:]")
_NOT_IN_URLS = re.compile(r"[^\x21-\x7e]|[<>\"]")
_NOT_IN_ADDRESSES = re.compile(r"[^0-9A-Za-z.:%]")
ORIGINAL = "X-Archive-Orig-"
"""Before the name of a header that would mislead a reader of the body as it is kept: WARC tools that meet
`Transfer-Encoding` undo it, and it is undone already. Before a name that begins like this anyway, it is doubled."""


def as_kept(exchange: Exchange) -> Exchange:
    """The exchange as it can be kept; nearly always the very same."""
    return replace(
        exchange,
        url=_NOT_IN_URLS.sub(lambda found: quote(found[0]), clean_text(exchange.url)),
        reason=_line(exchange.reason),
        headers=_clean(exchange.headers),
        request_headers=_clean(exchange.request_headers),
        address=_NOT_IN_ADDRESSES.sub("", exchange.address),
        method=_name(exchange.method),
    )


def _clean(headers: Headers) -> Headers:
    return tuple((_name(name), _line(value)) for name, value in headers)


def _name(text: str) -> str:
    return _NOT_IN_NAMES.sub("_", _as_sent(text)) or "_"


def _line(text: str) -> str:
    return _CONTROLS.sub(" ", _as_sent(text)).strip(" \t")


def _as_sent(text: str) -> str:
    """Each character one byte: what has others is read as a client that sends UTF-8 would be."""
    return text if text.isascii() or max(text) <= "\xff" else clean_text(text).encode().decode("latin-1")


def exchange_digest(exchange: Exchange) -> bytes:
    """SHA-256 of all that a reply's reader could tell; the time is not in it."""
    content = [
        exchange.method,
        exchange.url,
        exchange.status,
        exchange.reason,
        [list(header) for header in exchange.headers],
        [list(header) for header in exchange.request_headers],
        exchange.address,
        hashlib.sha256(exchange.body).hexdigest(),
    ]
    return hashlib.sha256(canonical_json(content).encode()).digest()


def response_block(exchange: Exchange) -> bytes:
    length = str(len(exchange.body))
    named = [(_kept_name(name, value, length), value) for name, value in exchange.headers]
    return _head(f"HTTP/1.1 {exchange.status} {exchange.reason}", named) + exchange.body


def request_block(exchange: Exchange) -> bytes:
    _, _, rest = exchange.url.partition("://")
    slash = re.search(r"[/?]", rest)
    target = rest[slash.start() :] if slash else "/"
    return _head(f"{exchange.method} {target} HTTP/1.1", exchange.request_headers)


def _kept_name(name: str, value: str, length: str) -> str:
    lower = name.lower()
    misleading = lower == "transfer-encoding" or (lower == "content-length" and value != length)
    return ORIGINAL + name if misleading or lower.startswith(ORIGINAL.lower()) else name


def _head(first: str, headers: list[tuple[str, str]] | Headers) -> bytes:
    lines = [first, *(f"{name}: {value}" for name, value in headers)]
    return "".join(f"{line}\r\n" for line in lines).encode("latin-1") + b"\r\n"


def parse_response(block: bytes) -> tuple[int, str, Headers, bytes]:
    """Status, reason, headers and body. Raises ValueError where it is no block of ours."""
    first, headers, body = _parse(block)
    protocol, status, reason = (*first.split(" ", 2), "", "")[:3]
    if protocol != "HTTP/1.1":
        raise ValueError("it is no HTTP reply")
    return int(status), reason, tuple((_sent_name(name), value) for name, value in headers), body


def parse_request(block: bytes) -> tuple[str, Headers]:
    """Method and headers. Raises ValueError where it is no block of ours."""
    first, headers, _ = _parse(block)
    return first.partition(" ")[0], headers


def _sent_name(name: str) -> str:
    return name[len(ORIGINAL) :] if name.lower().startswith(ORIGINAL.lower()) else name


def _parse(block: bytes) -> tuple[str, Headers, bytes]:
    head, found, body = block.partition(b"\r\n\r\n")
    if not found:
        raise ValueError("its HTTP headers have no end")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = []
    for line in lines:
        name, _, value = line.partition(":")
        headers.append((name, value.strip(" \t")))
    return first, tuple(headers), body


# WARC/1.1 records, each a gzip member of its own (ISO 28500:2017, annex D).


SPECIFICATION = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
DATE = "%Y-%m-%dT%H:%M:%S.%fZ"
MAX_RECORD_BYTES = 256_000_000
"""No exchange that the web room lets through comes near it; what claims more is damage or an attack."""


class RecordDamaged(Exception):
    """Bytes that are not the record that was written. Never leaves the archive as it is."""


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """A record as read. `digest_problem` says which of its own digests does not hold, empty where all do."""

    type: str
    url: str
    captured_at: str
    record_id: str
    concurrent_to: str
    address: str
    block: bytes
    digest_problem: str = ""


def info_member(name: str, record_id: str) -> bytes:
    fields = f"software: toolablate\r\nformat: WARC File Format 1.1\r\nconformsTo: {SPECIFICATION}\r\n"
    headers = {"WARC-Filename": name, "Content-Type": "application/warc-fields"}
    return _member("warcinfo", record_id, datetime.now(UTC), headers, fields.encode())


def exchange_members(exchange: Exchange, info_id: str) -> tuple[bytes, bytes]:
    """The response record and the request record. `exchange` is one that can be kept (`as_kept`)."""
    response_id, request_id = new_id(), new_id()
    shared = {"WARC-Target-URI": exchange.url, "WARC-Warcinfo-ID": info_id}
    if exchange.address:
        shared["WARC-IP-Address"] = exchange.address
    response = {
        **shared,
        "Content-Type": "application/http; msgtype=response",
        "WARC-Payload-Digest": _sha1(exchange.body),
    }
    request = {
        **shared,
        "Content-Type": "application/http; msgtype=request",
        "WARC-Concurrent-To": response_id,
    }
    return (
        _member("response", response_id, exchange.fetched_at, response, response_block(exchange)),
        _member("request", request_id, exchange.fetched_at, request, request_block(exchange)),
    )


def new_id() -> str:
    return f"<urn:uuid:{uuid.uuid4()}>"


def _sha1(content: bytes) -> str:
    """As WARC tools write digests. It finds damage; what must withstand an attacker is in the index, as SHA-256."""
    return "sha1:" + base64.b32encode(hashlib.sha1(content, usedforsecurity=False).digest()).decode()


def _member(kind: str, record_id: str, moment: datetime, headers: dict[str, str], block: bytes) -> bytes:
    from fastwarc import warc

    record = warc.WarcRecord()
    record.init_headers(record_type=getattr(warc.WarcRecordType, kind))
    record.headers["WARC-Record-ID"] = record_id
    record.headers["WARC-Date"] = moment.astimezone(UTC).strftime(DATE)
    for name, value in headers.items():
        record.headers[name] = value
    record.headers["WARC-Block-Digest"] = _sha1(block)
    record.set_bytes_content(block)
    plain = io.BytesIO()
    record.write(plain)
    compressor = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return compressor.compress(plain.getvalue()) + compressor.flush()


def parse_member(member: bytes) -> WarcRecord:
    """The record in one gzip member. Raises RecordDamaged where it is none, or does not end where it should."""
    plain, used = decompress_member(member)
    if used != len(member):
        raise RecordDamaged("it does not end where the index says")
    return parse_record(plain)


def decompress_member(data: bytes) -> tuple[bytes, int]:
    """The content of the gzip member that `data` begins with, and how many bytes that is."""
    decompressor = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        plain = decompressor.decompress(data, MAX_RECORD_BYTES)
    except zlib.error as error:
        raise RecordDamaged(f"it cannot be decompressed ({error})") from None
    if not decompressor.eof:
        raise RecordDamaged("it is too large" if decompressor.unconsumed_tail else "it is cut off")
    return plain, len(data) - len(decompressor.unused_data)


def parse_record(plain: bytes) -> WarcRecord:
    head, _, rest = plain.partition(b"\r\n\r\n")
    try:
        version, *lines = head.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        length = int(headers["Content-Length"])
        if version != "WARC/1.1" or rest[length:] != b"\r\n\r\n":
            raise ValueError("its length does not fit")
        return _record(headers, rest[:length])
    except (KeyError, ValueError) as error:
        raise RecordDamaged(f"it is no WARC record ({error})") from None


def _record(headers: dict[str, str], block: bytes) -> WarcRecord:
    problem = ""
    if headers["WARC-Block-Digest"] != _sha1(block):
        problem = "its block does not match its digest"
    elif "WARC-Payload-Digest" in headers and headers["WARC-Payload-Digest"] != _sha1(block.partition(b"\r\n\r\n")[2]):
        problem = "its payload does not match its digest"
    return WarcRecord(
        type=headers["WARC-Type"],
        url=headers.get("WARC-Target-URI", ""),
        captured_at=headers["WARC-Date"],
        record_id=headers["WARC-Record-ID"],
        concurrent_to=headers.get("WARC-Concurrent-To", ""),
        address=headers.get("WARC-IP-Address", ""),
        block=block,
        digest_problem=problem,
    )


def exchange_of(response: WarcRecord, request: WarcRecord) -> Exchange:
    """The exchange that two records hold. Raises RecordDamaged where they are no pair, or altered."""
    for record in response, request:
        if record.digest_problem:
            raise RecordDamaged(record.digest_problem)
    if (response.type, request.type, request.concurrent_to) != ("response", "request", response.record_id):
        raise RecordDamaged("it is no response with its request")
    try:
        status, reason, headers, body = parse_response(response.block)
        method, request_headers = parse_request(request.block)
        fetched_at = datetime.strptime(response.captured_at, DATE).replace(tzinfo=UTC)
    except ValueError as error:
        raise RecordDamaged(str(error)) from None
    return Exchange(
        url=response.url,
        status=status,
        reason=reason,
        headers=headers,
        body=body,
        fetched_at=fetched_at,
        request_headers=request_headers,
        address=response.address,
        method=method,
    )


# The WARC file of one writer. Every writer has its own, so that none waits for or tears another's.


FILE_BYTES = 1_000_000_000
"""A file that has grown to this is left for a new one, as the WARC guidelines advise."""
OUR_NAME = re.compile(r"\d{8}T\d{6}-[0-9a-f]{16}\.warc\.gz")


@dataclass(slots=True)
class _File:
    name: str
    info_id: str
    descriptor: int
    size: int


class WarcWriter:
    """Appends records durably. After an error the file is left as it is, and the next record begins a new one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: _File | None = None

    def info_id(self) -> str:
        """The id of the `warcinfo` record that the next records belong to. Raises OSError."""
        if self._file is not None and self._file.size >= FILE_BYTES:
            self.leave()
        if self._file is None:
            self._file = self._create()
        return self._file.info_id

    def append(self, members: Sequence[bytes]) -> tuple[str, int]:
        """File name and offset of what was written, once it is on the disk. Raises OSError."""
        file = self._file
        if file is None:
            raise ValueError("a record belongs to a file that was begun by info_id()")
        offset = file.size
        self._write(file, b"".join(members))
        return file.name, offset

    def leave(self) -> None:
        """Ends the file. What was written to it and never indexed is not a part of the archive."""
        if self._file is not None:
            os.close(self._file.descriptor)
            self._file = None

    def _create(self) -> _File:
        self._folder.mkdir(exist_ok=True)
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(8)}.warc.gz"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        file = _File(name, new_id(), os.open(self._folder / name, flags, 0o666), 0)
        try:
            self._write(file, info_member(name, file.info_id))
            sync_folder(self._folder)
            sync_folder(self._folder.parent)
        except BaseException:
            os.close(file.descriptor)
            raise
        return file

    def _write(self, file: _File, data: bytes) -> None:
        remaining = memoryview(data)
        while remaining:
            remaining = remaining[os.write(file.descriptor, remaining) :]
        os.fsync(file.descriptor)
        file.size += len(data)
