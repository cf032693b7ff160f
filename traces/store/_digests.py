"""Digests that depend on what was recorded and on nothing of how it is stored."""

from typing import Any

from toolablate.traces.records import Event, Record, Trace, digest_json


def record_content(record: Record | Event) -> dict[str, Any]:
    """A record as the JSON value that reaches disk."""
    content: dict[str, Any] = record.model_dump(mode="json", exclude_defaults=True)
    return content


def content_digest(content: Any) -> bytes:
    """First 16 bytes of the SHA-256 of a JSON value's canonical form."""
    return bytes.fromhex(digest_json(content))


def header_content(trace: Trace) -> dict[str, Any]:
    """A trace without its events."""
    content: dict[str, Any] = trace.model_dump(mode="json", exclude_defaults=True, exclude={"events"})
    return content


def combined_digest(header: dict[str, Any], event_digests: list[str]) -> str:
    """A trace's digest from its parts, so that a long trace need not be held to be digested."""
    return digest_json([header, event_digests])


def trace_digest(trace: Trace) -> str:
    """Digest of a trace's whole content: 32 hexadecimal digits, the same in whatever store or export it is."""
    return combined_digest(header_content(trace), [digest_json(record_content(event)) for event in trace.events])
