"""What is kept stays as it was kept, whoever else keeps what at the same time."""

import asyncio
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.agents.replies.samples import MODEL, kept, question, request

from toolablate.agents.replies import ResponseCache, info, read_root, verify
from toolablate.agents.replies.cache_file import APPLICATION_ID
from toolablate.agents.replies.recorded import KeptReply, asked
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import Message, ModelReply


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recorded/replies.sqlite"


async def test_a_reply_is_given_as_it_was_kept(path: Path) -> None:
    async with ResponseCache(path, write=True) as cache:
        assert cache.get(question(1)) is None
        assert await cache.keep(question(1), kept("one")) == kept("one")
        assert cache.get(question(1)) == kept("one")
    assert [file.name for file in path.parent.iterdir()] == ["replies.sqlite"]
    async with ResponseCache(path) as cache:
        assert cache.get(question(1)) == kept("one")
        assert cache.get(question(1, repeat=1)) is None
        assert cache.get(question(2)) is None


async def test_what_was_kept_first_counts(path: Path) -> None:
    async with ResponseCache(path, write=True) as one, ResponseCache(path, write=True) as other:
        given = await asyncio.gather(one.keep(question(1), kept("a")), other.keep(question(1), kept("b")))
        assert given[0] == given[1] == one.get(question(1)) == other.get(question(1))
        assert await one.keep(question(1), kept("c")) == given[0]
        assert await one.keep(question(1, repeat=1), kept("c")) == kept("c")


async def test_the_root_digest_depends_on_what_is_kept_and_not_on_the_order(tmp_path: Path) -> None:
    roots = []
    for number, order in enumerate(([1, 2, 3], [3, 1, 2], [1, 2])):
        async with ResponseCache(tmp_path / f"{number}.sqlite", write=True) as cache:
            for each in order:
                await cache.keep(question(each), kept(f"reply {each}"))
            roots.append(cache.root())
    assert roots[0] == roots[1] != roots[2]
    assert read_root(tmp_path / "0.sqlite") == roots[0]


async def test_a_message_that_recurs_is_kept_once(path: Path) -> None:
    text = "".join(f"{number} " for number in range(20_000))
    async with ResponseCache(path, write=True) as cache:
        said: list[str | Message] = [text]
        for turn in range(8):
            reply = KeptReply(
                reply=ModelReply(message=Message(role="assistant", content=f"{turn} {text}"), finish_reason="stop")
            )
            await cache.keep(asked(MODEL, request(*said), 0), reply)
            said += [reply.reply.message, f"next {turn}"]
    assert info(path).size < 9 * len(text)
    assert verify(path).problems == ()


async def test_a_lone_surrogate_in_a_reply_becomes_a_replacement_character(path: Path) -> None:
    async with ResponseCache(path, write=True) as cache:
        await cache.keep(question(1), kept("\ud800"))
        found = cache.get(question(1))
    assert found is not None
    assert found.reply.message.content == "\ufffd"
    assert verify(path).problems == ()


async def test_what_is_read_is_one_moment_of_the_file(path: Path) -> None:
    async with ResponseCache(path, write=True) as writing:
        await writing.keep(question(1), kept("one"))
        async with ResponseCache(path) as reading:
            root = reading.root()
            await writing.keep(question(2), kept("two"))
            assert reading.get(question(2)) is None
            assert reading.root() == root != writing.root()


async def test_one_who_is_cancelled_leaves_the_reply_to_be_written(path: Path) -> None:
    async with ResponseCache(path, write=True) as cache:
        keeping = asyncio.create_task(cache.keep(question(1), kept("one")))
        await asyncio.sleep(0)
        keeping.cancel()
    async with ResponseCache(path) as cache:
        assert cache.get(question(1)) == kept("one")


def test_there_is_nothing_to_replay_where_nothing_was_recorded(path: Path) -> None:
    with pytest.raises(InputError, match="There are no recorded replies") as caught:
        ResponseCache(path)
    assert caught.value.code == "no_replies"
    assert not path.parent.exists()


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize(
    "statement", ["CREATE TABLE texts (id)", f"PRAGMA application_id = {APPLICATION_ID}"], ids=["tables", "number"]
)
def test_what_is_no_cache_is_refused_and_left_alone(path: Path, statement: str, write: bool) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as other:
        other.execute(statement)
    refuses(path, "not_replies", write=write)


@pytest.mark.parametrize("write", [False, True])
def test_a_text_is_refused_and_left_alone(path: Path, write: bool) -> None:
    path.parent.mkdir()
    path.write_text("no database at all, however long it may be" * 100, encoding="utf-8")
    refuses(path, "not_replies", write=write)


@pytest.mark.parametrize("write", [False, True])
async def test_a_newer_cache_is_refused_and_left_alone(path: Path, write: bool) -> None:
    async with ResponseCache(path, write=True):
        pass
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA user_version = 99")
    refuses(path, "newer_version", write=write)


def refuses(path: Path, code: str, *, write: bool) -> None:
    before = path.read_bytes()
    with pytest.raises(InputError) as caught:
        ResponseCache(path, write=write)
    assert caught.value.code == code
    assert caught.value.hint.endswith("or a new one.") == (write and code == "not_replies")
    assert path.read_bytes() == before


async def test_a_full_disk_is_told_and_what_was_kept_is_kept(path: Path) -> None:
    async with ResponseCache(path, write=True) as cache:
        await cache.keep(question(1), kept("one"))
        assert cache._writer is not None
        cache._writer.execute("PRAGMA max_page_count = 1")
        big = kept("".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(200_000)))
        with pytest.raises(StoreError, match="the disk is full"):
            await cache.keep(question(2), big)
        assert cache.get(question(1)) == kept("one")
        assert cache.get(question(2)) is None
    assert verify(path).problems == ()


@pytest.mark.deep
def test_recorders_that_are_killed_lose_nothing_that_they_said_was_kept(path: Path) -> None:
    program = [sys.executable, "-m", "tests.agents.replies.killing", str(path)]
    done = subprocess.run(program, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])
    told = json.loads(done.stdout)
    assert told["kills"] == told["started"]
    assert told["problems"] == []
    assert len(told["kept"]) > 20
    assert set(told["kept"]) <= set(told["found"])
    assert verify(path).problems == ()
