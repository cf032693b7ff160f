"""What is derived from a trace's content: its digest, and counts of its lookups and markers."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple, get_args

from toolablate.traces.database import DIGEST_BYTES
from toolablate.traces.records import (
    Event,
    ModelCall,
    Record,
    Refusal,
    Trace,
    canonical_json,
    clean_text,
    digest_json,
    digest_text,
)


def record_content(record: Record | Event) -> dict[str, Any]:
    """A record as the JSON value that reaches disk."""
    content: dict[str, Any] = record.model_dump(mode="json", exclude_defaults=True)
    return content


class Written(NamedTuple):
    """An event as it reaches disk: its `content`, a JSON value; the `digest` of that; and of how many `chars` it is."""

    content: dict[str, Any]
    digest: str
    chars: int


class EventContents:
    """Makes the events of one trace ready for the disk. Each request repeats the messages and tools of those before,
    replies among them: each is made into JSON once, and its content is the same object each time."""

    def __init__(self) -> None:
        # With the record, whose id is not given to another while it is kept.
        self._known: dict[int, tuple[Record, dict[str, Any], str]] = {}

    def written(self, event: Event) -> tuple[Event, Written]:
        """The event with U+FFFD for lone surrogates, which no file can hold."""
        content, text = self.of(event)
        try:
            digest = digest_text(text)
        except UnicodeEncodeError:
            event = type(event).model_validate(_cleaned(content))
            content = record_content(event)
            digest = digest_json(content)
        return event, Written(content, digest, len(text))

    def of(self, event: Event) -> tuple[dict[str, Any], str]:
        """What `record_content` gives, and its canonical JSON."""
        if not isinstance(event, ModelCall):
            content = record_content(event)
            return content, canonical_json(content)
        repeated = {"messages": event.request.messages, "tools": event.request.tools}
        found = {name: [self._of(record) for record in records] for name, records in repeated.items() if records}
        replied, replied_text = self._of(event.reply.message)
        exclude = {"request": set(found), "reply": {"message"}}
        content = event.model_dump(mode="json", exclude_defaults=True, exclude=exclude)
        rest, reply = content["request"], content["reply"]
        content["reply"] = {"message": replied} | reply
        content["request"] = {name: [packed for packed, _ in parts] for name, parts in found.items()} | rest
        request = {name: canonical_json(value) for name, value in rest.items()}
        request |= {name: f"[{','.join(text for _, text in parts)}]" for name, parts in found.items()}
        said = {name: canonical_json(value) for name, value in reply.items()} | {"message": replied_text}
        whole = {name: canonical_json(value) for name, value in content.items() if name not in ("request", "reply")}
        whole |= {"request": _canonical_object(request), "reply": _canonical_object(said)}
        return content, _canonical_object(whole)

    def _of(self, record: Record) -> tuple[dict[str, Any], str]:
        known = self._known.get(id(record))
        if known is None:
            content = record_content(record)
            known = self._known[id(record)] = record, content, canonical_json(content)
        return known[1:]


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(name): _cleaned(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value


def _canonical_object(fields: Mapping[str, str]) -> str:
    """Of fields whose values are in canonical form."""
    return f"{{{','.join(f'{canonical_json(name)}:{fields[name]}' for name in sorted(fields))}}}"


def content_digest(content: Any) -> bytes:
    """First 16 bytes of the SHA-256 of a JSON value's canonical form."""
    return bytes.fromhex(digest_json(content))


def listing_digest(trials: Iterable[str]) -> bytes:
    """Of the ids of a run's trials, in the order of their keys: of a text with one on each line."""
    found, between, left = sha256(), "", iter(trials)
    while batch := "\n".join(islice(left, _LISTED_AT_ONCE)):
        found.update((between + batch).encode())
        between = "\n"
    return found.digest()[:DIGEST_BYTES]


_LISTED_AT_ONCE = 10_000


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


# Readings of a clock differ each time. The number of an attempt counts failures too, which a replay lacks.
_NOT_REPLAYED = ("at", "seconds", "attempt")


def replay_content(trace: Trace) -> dict[str, Any]:
    """What of a trace a replay has to give again: its trial, its outcome and its events, in the order in which they
    were asked for.

    Left out are all readings of a clock (`started_at`, `at`, `seconds`), the environment, the number of the attempt,
    and failures that were retried, with what they cost: a replay has none. Usage and cost are those of each call, in
    its event. The tool calls of one reply are put in the order of that reply, since they run at the same time.
    """
    events = [event for event in trace.events if event.kind != "failure" or not event.retried]
    told = [
        {name: value for name, value in record_content(event).items() if name not in _NOT_REPLAYED}
        for event in _as_asked(events)
    ]
    return {"trial": record_content(trace.trial), "outcome": trace.outcome, "events": told}


def replay_digest(trace: Trace) -> str:
    """Digest of `replay_content`: 32 hexadecimal digits, the same for a trace and its replay."""
    return digest_json(replay_content(trace))


def _as_asked(events: list[Event]) -> list[Event]:
    ordered: list[Event] = []
    calls: list[Event] = []
    places: dict[str, int] = {}

    def flush() -> None:
        ordered.extend(sorted(calls, key=lambda event: _place(event, places)))
        calls.clear()

    for event in events:
        if event.kind == "model_call":
            flush()
            places = {call.id: place for place, call in enumerate(event.reply.message.tool_calls)}
            ordered.append(event)
        else:
            calls.append(event)
    flush()
    return ordered


def _place(event: Event, places: dict[str, int]) -> int:
    """Of an event after a reply: where it was called for; what was called for by nothing comes last."""
    return places.get(event.call.id, len(places)) if event.kind == "tool_call" else len(places)


# Counts of a trace's lookups, markers and refused calls, as the tables `lookups` and `markers` hold them.


NAME_CHARS = 80
INPUT_CUT = "input_cut"
"""Among the markers: a trial whose question was cut."""


@dataclass(frozen=True, slots=True)
class Tallies:
    """`lookups` by why they were missed (empty: they were not), `markers` by kind: results that bear one. Among these
    are calls of tools that the model could not call, by a Refusal and the name: `unknown_tool:python`.
    INPUT_CUT is 1 where the question was cut."""

    lookups: Mapping[str, int]
    markers: Mapping[str, int]


def may_count(event: Event) -> bool:
    """Whether it has anything that `tallies` counts."""
    if event.kind == "tool_call":
        return bool(event.lookup or event.markers or event.status == "invalid")
    return event.kind == "model_call" and event.input_cut is not None


def tallies(events: Iterable[Mapping[str, Any]]) -> Tallies:
    """Of events as the JSON values that reach disk."""
    events = list(events)
    calls = [event for event in events if event["kind"] == "tool_call"]
    lookups = Counter(call["lookup"].get("miss") or "" for call in calls if call.get("lookup"))
    markers = Counter(kind for call in calls for kind in {marker["kind"] for marker in call.get("markers", ())})
    markers.update(
        f"{call['error']}:{call['call']['name'][:NAME_CHARS]}"
        for call in calls
        if call.get("status") == "invalid" and call.get("error") in get_args(Refusal)
    )
    if any(event.get("input_cut") for event in events if event["kind"] == "model_call"):
        markers[INPUT_CUT] = 1
    return Tallies(lookups, markers)


def write_tallies(connection: sqlite3.Connection, trace: int, found: Tallies) -> None:
    connection.executemany(
        "INSERT INTO lookups (trace, miss, count) VALUES (?, ?, ?)",
        ((trace, miss, count) for miss, count in found.lookups.items()),
    )
    connection.executemany(
        "INSERT INTO markers (trace, kind, count) VALUES (?, ?, ?)",
        ((trace, kind, count) for kind, count in found.markers.items()),
    )


def read_tallies(connection: sqlite3.Connection, trace: int) -> Tallies:
    return Tallies(
        dict(connection.execute("SELECT miss, count FROM lookups WHERE trace = ?", (trace,))),
        dict(connection.execute("SELECT kind, count FROM markers WHERE trace = ?", (trace,))),
    )
