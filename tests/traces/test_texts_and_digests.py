"""How records lie in rows, and the digests by which they are known."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.traces.samples import (
    CODE,
    ENVIRONMENT,
    NONE,
    QUESTIONS,
    WHEN,
    as_rows,
    attempt,
    begun,
    conversation,
    filled,
    plan,
    trials,
)

from toolablate.traces.errors import StoreError
from toolablate.traces.records import (
    Answer,
    Event,
    Failure,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    ToolCall,
    ToolRequest,
    ToolSpec,
    Trace,
    Usage,
    canonical_json,
    digest_text,
)
from toolablate.traces.records.difference import NOTHING, first_difference
from toolablate.traces.store import Recorder, Store, verify
from toolablate.traces.store.digests import EventContents, listing_digest, record_content, replay_digest
from toolablate.traces.store.file import schema
from toolablate.traces.store.texts import (
    MAX_BASE_BYTES,
    SHARED_CHARS,
    VALUE_CHARS,
    TextReader,
    TextWriter,
    TracePacker,
    TraceUnpacker,
)

TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["~", "~~", "~l0", "~t1", "~j1", "~" * VALUE_CHARS, "a" * VALUE_CHARS, "b" * SHARED_CHARS]),
    st.sampled_from(["a" * (VALUE_CHARS - 1), "~" + "a" * (VALUE_CHARS - 1), "~" + "b" * SHARED_CHARS]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as opened:
        schema().create(opened)
        yield opened


@pytest.mark.deep
@given(st.lists(st.dictionaries(TEXTS, VALUES, max_size=4), max_size=5))
def test_what_is_packed_comes_back_one_by_one_and_as_an_array(
    connection: sqlite3.Connection, events: list[dict[str, Any]]
) -> None:
    packer, writer = TracePacker(), TextWriter(connection)
    packed = [packer.pack(event, writer).encode() for event in events]
    unpacker = TraceUnpacker(TextReader(connection))
    assert [unpacker.unpack(body) for body in packed] == events
    array = b"[" + b",".join(packed) + b"]"
    assert TraceUnpacker(TextReader(connection)).unpack_all(array) == events


def test_a_message_said_again_is_a_reference(connection: sqlite3.Connection) -> None:
    packer, writer = TracePacker(), TextWriter(connection)
    message = {"role": "user", "content": "why? " * 30}
    packer.pack({"messages": [message]}, writer)
    assert packer.pack({"messages": [message, {"x": message["content"]}]}, writer) == '{"messages":["~l1",{"x":"~l0"}]}'


def test_an_empty_object_said_again_is_a_reference(connection: sqlite3.Connection) -> None:
    packer, writer, empty = TracePacker(), TextWriter(connection), dict[str, Any]()
    assert packer.pack({"parts": [empty, empty, {}]}, writer) == '{"parts":[{},"~l0","~l0"]}'


def test_what_requests_repeat_is_made_into_json_once_and_like_all_else() -> None:
    contents, seen = EventContents(), dict[int, dict[str, Any]]()
    tool = ToolSpec(
        name="python", description="Runs \N{SNOWMAN}.", parameters={"b": {"z": 1, "a": [1.5, None]}, "a": 0}
    )
    calls = [event for event in conversation(turns=4) if isinstance(event, ModelCall)]
    requests = [call.request for call in calls]
    requests[1:] = [each.model_copy(update={"tools": (tool,), "tool_choice": "required"}) for each in requests[1:]]
    for call, request in zip(calls, requests, strict=True):
        event = call.model_copy(update={"request": request})
        content, text = contents.of(event)
        assert json.dumps(content) == json.dumps(record_content(event))
        assert text == canonical_json(record_content(event))
        for record, part in zip(request.messages, content["request"]["messages"], strict=True):
            assert seen.setdefault(id(record), part) is part


async def test_only_what_other_trials_of_the_question_need_is_remembered(tmp_path: Path) -> None:
    for conditions in ((NONE,), (NONE, CODE)):
        with Recorder(tmp_path / f"{len(conditions)}.db") as recorder:
            for trial in plan(recorder, trials(conditions=conditions)):
                await attempt(recorder, trial)
            remembered = recorder._writer._desk.bases._known
            assert len(remembered) == (0 if conditions == (NONE,) else len(QUESTIONS))


@pytest.mark.parametrize("reference", ["~l0", "~l", "~l-1", "~l\u0661", "~x1", "~t999", "~"])
def test_a_reference_that_leads_nowhere_is_damage(connection: sqlite3.Connection, reference: str) -> None:
    with pytest.raises(StoreError, match="damaged"):
        TraceUnpacker(TextReader(connection)).unpack(f'{{"a":"{reference}"}}'.encode())


async def test_traces_of_a_question_are_packed_against_its_first(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    await filled(path)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT trace, base, depth, sum(length(body)) FROM blocks JOIN parts"
            " ON parts.key >= first AND parts.key < first + parts GROUP BY trace ORDER BY trace"
        ).fetchall()
    assert [row[1:3] for row in rows] == [(None, 0), (1, 1), (None, 0), (3, 1), (None, 0), (5, 1), (None, 0), (7, 1)]
    assert all(size < rows[trace - 2][3] / 2 for trace, base, _, size in rows if base)


@pytest.mark.deep
async def test_another_recorder_goes_on_with_the_same_base(tmp_path: Path) -> None:
    path, planned = tmp_path / "s.db", trials(repeats=4)
    for trial in planned[:6]:
        with Recorder(path) as recorder:
            plan(recorder, planned, identity=trial.id)
            await attempt(recorder, trial)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT base FROM blocks ORDER BY trace").fetchall() == [(None,), *[(1,)] * 5]
    assert verify(path).ok


@pytest.mark.deep
async def test_a_trace_too_long_to_be_a_base_is_none(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Recorder(path) as recorder:
        planned = plan(recorder)
        long = await attempt(recorder, planned[0], turns=2 * MAX_BASE_BYTES // 1000)
        short = await attempt(recorder, planned[1])
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT base FROM blocks").fetchall() == [(None,), (None,)]
        assert connection.execute("SELECT max(size) FROM blocks").fetchone() > (MAX_BASE_BYTES,)
    with Store(path) as store:
        assert list(store.traces()) == [long, short]


async def test_a_damaged_base_costs_no_further_trace(tmp_path: Path) -> None:
    path, planned = tmp_path / "s.db", trials()
    with Recorder(path) as recorder:
        plan(recorder, planned)
        await attempt(recorder, planned[0])
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE parts SET body = x'00'")
    with Recorder(path) as recorder:
        trace = await attempt(recorder, planned[1])
    with Store(path) as store:
        assert store.trace(planned[1].id) == trace


async def test_events_are_rows_until_the_trial_has_ended_well(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Recorder(path) as recorder:
        planned = plan(recorder)
        await attempt(recorder, planned[0])
        failed = await attempt(recorder, planned[1], outcome="failed")
        session = await begun(recorder, planned[2])
        for event in conversation():
            session.record(event)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT trace, count(*) FROM events GROUP BY trace").fetchall()
        assert rows == [(2, len(failed.events)), (3, len(failed.events))]
        assert connection.execute("SELECT trace FROM blocks").fetchall() == [(1,)]
    with Store(path) as store:
        assert store.trace(planned[1].id) == failed
    assert verify(path).ok


async def test_rows_are_read_beside_blocks(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    traces = await filled(path, 3)
    as_rows(path)
    with Recorder(path) as recorder:
        traces.append(await attempt(recorder, trials()[3]))
    with Store(path) as store:
        assert list(store.traces()) == traces
    assert verify(path).ok


async def test_pages_of_rows_that_became_blocks_are_given_back(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Recorder(path) as recorder:
        sessions = [await begun(recorder, trial) for trial in plan(recorder)]
        for session in sessions:
            for event in conversation(turns=20, salt=str(id(session))):
                session.record(event)
        for session in sessions:
            await session.finish("answered", 1.0)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)
    assert verify(path).ok


# What a replay has to give again, and what it cannot.


FIRST, SECOND = (ToolRequest(id=f"call_{name}", name="python", arguments="{}") for name in "ab")


def failure(code: str, *, retried: bool, at: float = 1.0) -> Failure:
    return Failure(at=at, boundary="model", code=code, message="planned", retried=retried)


def parallel() -> list[Event]:
    """Two calls in one reply, which end in another order than they began."""
    message = Message(role="assistant", tool_calls=(FIRST, SECOND))
    reply = ModelReply(message=message, finish_reason="tool_calls", usage=Usage(output_tokens=4))
    request = ModelRequest(messages=(Message(role="user", content="Why?"),))
    return [
        ModelCall(at=0.1, seconds=0.2, request=request, reply=reply),
        ToolCall(at=0.4, seconds=0.1, call=SECOND, output="2"),
        ToolCall(at=0.4, seconds=0.3, call=FIRST, output="1"),
        Answer(at=1.0, text="Answer: A"),
    ]


def trace(events: list[Event], **changes: Any) -> Trace:
    facts = {
        "trial": trials()[0],
        "outcome": "answered",
        "started_at": WHEN,
        "seconds": 12.5,
        "environment": ENVIRONMENT,
    }
    return Trace.model_validate({**facts, **changes, "events": tuple(events)})


@pytest.mark.parametrize("count", [0, 1, 9_999, 10_000, 10_001, 20_000])
def test_ids_are_listed_one_on_each_line(count: int) -> None:
    ids = [digest_text(str(number)) for number in range(count)]
    assert listing_digest(iter(ids)) == hashlib.sha256("\n".join(ids).encode()).digest()[:16]


@pytest.mark.parametrize(
    "changes",
    [
        {"started_at": WHEN + timedelta(days=1)},
        {"seconds": 0.5},
        {"attempt": 3},
        {"environment": {"sandbox": "none"}},
        {"usage": {"input_tokens": 1}},
    ],
)
def test_clocks_software_and_attempts_are_left_out(changes: dict[str, Any]) -> None:
    assert replay_digest(trace(conversation(), **changes)) == replay_digest(trace(conversation()))


def test_readings_of_a_clock_in_events_are_left_out() -> None:
    later = [event.model_copy(update={"at": event.at + 5, "seconds": 0.25}) for event in conversation()]
    assert replay_digest(trace(later)) == replay_digest(trace(conversation()))


def test_failures_that_were_retried_are_left_out_and_others_are_not() -> None:
    assert replay_digest(trace([failure("timeout", retried=True), *conversation()])) == replay_digest(
        trace(conversation())
    )
    ends = {replay_digest(trace([failure(code, retried=False)], outcome="failed")) for code in ("a", "b")}
    assert len(ends) == 2


def test_calls_of_one_reply_may_end_in_any_order() -> None:
    events = parallel()
    assert replay_digest(trace(events)) == replay_digest(trace([events[0], events[2], events[1], events[3]]))


@pytest.mark.parametrize(
    ("place", "changes"),
    [
        (0, {"cost_usd": 1.0}),
        (0, {"purpose": "final"}),
        (1, {"output": "3"}),
        (1, {"status": "error"}),
        (3, {"text": "Answer: B"}),
        (3, {"limit": "seconds"}),
    ],
)
def test_all_else_counts(place: int, changes: dict[str, Any]) -> None:
    events = parallel()
    events[place] = events[place].model_copy(update=changes)
    assert replay_digest(trace(events)) != replay_digest(trace(parallel()))


def test_trial_and_outcome_count() -> None:
    usual = replay_digest(trace(conversation()))
    assert replay_digest(trace(conversation(), outcome="budget")) != usual
    assert replay_digest(trace(conversation(), trial=trials()[1])) != usual


@pytest.mark.parametrize(
    ("left", "right", "path", "values"),
    [
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "y"}]}, "a[1].b", ("x", "y")),
        ({"a": 1}, {"a": 1, "b": 2}, "b", (NOTHING, 2)),
        ([1, 2], [1], "[1]", (2, NOTHING)),
        ({"a": 1}, {"a": True}, "a", (1, True)),
        ({"a": None}, {}, "a", (None, NOTHING)),
        ({"a": []}, {"a": {}}, "a", ([], {})),
    ],
)
def test_the_first_difference_is_found(left: Any, right: Any, path: str, values: tuple[Any, Any]) -> None:
    found = first_difference(left, right)
    assert found is not None
    assert (found.path, (found.left, found.right)) == (path, values)
    assert first_difference(left, left) is None


def test_of_long_texts_the_part_is_shown_where_they_part() -> None:
    found = first_difference("x" * 5_000 + "left" + "y" * 5_000, "x" * 5_000 + "right" + "y" * 5_000)
    assert found is not None
    left, right = found.shown()
    assert left.startswith(f'"…{"x" * 20}left')
    assert right.startswith(f'"…{"x" * 20}right')
    assert len(left) < 100
