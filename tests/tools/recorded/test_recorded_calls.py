import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.tools.recorded.conftest import LONG_AGO, sealed

from toolablate.tools.archive import Archive
from toolablate.tools.recorded import RecordedCalls
from toolablate.traces.errors import InputError, ToolError

ARGUMENTS = {"path": "notes.txt", "lines": [1, 2]}


class Server:
    """Counts how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    async def call(self) -> bytes:
        self.calls += 1
        await asyncio.sleep(0)
        return f"call {self.calls}".encode()


async def unreachable() -> bytes:
    raise ToolError("the server cannot be reached")


async def test_live_calls_are_made_each_time_and_need_no_archive() -> None:
    server = Server()
    calls = RecordedCalls(None, "live")
    contents = [(await calls.call("files", "read", ARGUMENTS, server.call))[0] for _ in range(2)]
    assert contents == [b"call 1", b"call 2"]
    assert await calls.tools("files", server.call) == b"call 3"


async def test_a_replay_gives_the_first_result_and_calls_nobody(archive: Archive) -> None:
    server = Server()
    calls = RecordedCalls(archive, "record")
    first = await calls.call("files", "read", ARGUMENTS, server.call)
    again = await calls.call("files", "read", dict(reversed(ARGUMENTS.items())), server.call)
    listed = await calls.tools("files", server.call)
    assert first == again
    assert server.calls == 2
    replay = RecordedCalls(sealed(archive), "replay")
    assert await replay.call("files", "read", ARGUMENTS, unreachable) == first
    assert await replay.tools("files", unreachable) == listed == b"call 2"


async def test_live_and_recorded_calls_have_one_key(archive: Archive) -> None:
    server = Server()
    live = await RecordedCalls(archive, "live").call("files", "read", ARGUMENTS, server.call)
    recorded = await RecordedCalls(archive, "record").call("files", "read", ARGUMENTS, server.call)
    assert live[1] == recorded[1]
    assert (live[0], recorded[0]) == (b"call 1", b"call 2")


@pytest.mark.parametrize(
    ("server", "tool", "arguments"),
    [
        ("other", "read", ARGUMENTS),
        ("files", "write", ARGUMENTS),
        ("files", "read", {}),
        ("files", "read", {"path": "\ud800"}),
    ],
)
async def test_another_call_is_a_miss(archive: Archive, server: str, tool: str, arguments: dict[str, str]) -> None:
    await RecordedCalls(archive, "record").call("files", "read", ARGUMENTS, Server().call)
    content, lookup = await RecordedCalls(sealed(archive), "replay").call(server, tool, arguments, unreachable)
    assert (content, lookup.miss) == (None, "not_in_archive")
    assert "notes.txt" in lookup.nearest


async def test_what_was_captured_later_is_not_there_as_of_a_date(archive: Archive) -> None:
    await RecordedCalls(archive, "record").call("files", "read", ARGUMENTS, Server().call)
    replay = RecordedCalls(sealed(archive), "replay", as_of=LONG_AGO)
    content, lookup = await replay.call("files", "read", ARGUMENTS, unreachable)
    assert (content, lookup.miss) == (None, "after_cutoff")


@pytest.mark.parametrize("ask", [lambda c: c.call("s", "t", {}, unreachable), lambda c: c.tools("s", unreachable)])
async def test_a_server_that_cannot_be_reached_leaves_nothing(
    archive: Archive, ask: Callable[[RecordedCalls], Awaitable[object]]
) -> None:
    calls = RecordedCalls(archive, "record")
    with pytest.raises(ToolError, match="cannot be reached"):
        await ask(calls)
    assert await calls.tools("s", Server().call) == b"call 1"


async def test_tools_that_were_not_recorded_are_the_users_error(archive: Archive) -> None:
    with pytest.raises(InputError, match="files"):
        await RecordedCalls(sealed(archive), "replay").tools("files", unreachable)


async def test_calls_at_the_same_time_all_get_what_was_kept_first(archive: Archive) -> None:
    servers = [Server() for _ in range(10)]
    calls = RecordedCalls(archive, "record")

    async def asked(number: int) -> bytes | None:
        async def live() -> bytes:
            return await servers[number].call() + f" of {number}".encode()

        return (await calls.call("files", "read", ARGUMENTS, live))[0]

    contents = await asyncio.gather(*(asked(number) for number in range(10)))
    assert [server.calls for server in servers] == [1] * 10
    assert len(set(contents)) == 1
    assert await asked(3) == contents[0]


async def test_a_call_that_fails_leaves_the_others_alone(archive: Archive) -> None:
    server = Server()
    calls = RecordedCalls(archive, "record")
    outcomes = await asyncio.gather(
        calls.call("files", "read", ARGUMENTS, unreachable),
        calls.call("files", "read", ARGUMENTS, server.call),
        return_exceptions=True,
    )
    assert isinstance(outcomes[0], ToolError)
    assert isinstance(outcomes[1], tuple)
    assert outcomes[1][0] == b"call 1"


async def test_refreshing_calls_once_more(archive: Archive) -> None:
    server = Server()
    await RecordedCalls(archive, "record").call("files", "read", ARGUMENTS, server.call)
    refreshing = RecordedCalls(archive, "record", refresh=True)
    contents = [(await refreshing.call("files", "read", ARGUMENTS, server.call))[0] for _ in range(2)]
    assert contents == [b"call 2"] * 2
    assert (await RecordedCalls(archive, "record").call("files", "read", ARGUMENTS, unreachable))[0] == b"call 2"
