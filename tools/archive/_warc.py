"""WARC/1.1 records, each a gzip member of its own (ISO 28500:2017, annex D)."""

import base64
import hashlib
import io
import uuid
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime

from toolablate.tools.archive._http import parse_request, parse_response, request_block, response_block
from toolablate.tools.web.exchange import Exchange

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
