"""Requests that are collected into batches, over real HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.agents.conftest import QUESTION, condition
from tests.servers.chat_server import ChatServer, reply

from toolablate.agents import connect
from toolablate.agents.batches import Batches
from toolablate.agents.batches.source import BatchedSource
from toolablate.agents.pacing import LetGo, counting_waits
from toolablate.traces.errors import InternalError, ModelError, StoreError
from toolablate.traces.records import Message, ModelRequest, OpenAIModel


def request(text: str) -> ModelRequest:
    return ModelRequest(messages=(Message(role="user", content=text),))


@pytest.fixture
async def source(chat_server: ChatServer, tmp_path: Path) -> AsyncIterator[BatchedSource]:
    chat_server.answers(lambda body: reply(body["messages"][-1]["content"].upper()))
    model = OpenAIModel(name="m", endpoint=chat_server.url, batch=True)
    direct = connect(model)
    source = Batches(tmp_path / "batches", lambda _: None).source(model, direct, direct)
    source.batches.idle_seconds = 0.05
    yield source
    await source.close()


async def said(source: BatchedSource, *texts: str) -> list[Any]:
    session = source.session(QUESTION, condition(), 0)
    asked = (session.complete(request(text), seconds=0.001) for text in texts)
    came = await asyncio.gather(*asked, return_exceptions=True)
    return [each if isinstance(each, BaseException) else each.message.content for each in came]


async def test_batches_are_split_by_their_limits(chat_server: ChatServer, source: BatchedSource) -> None:
    source.batches.most_lines = 2
    with counting_waits() as waited:
        assert await said(source, "a", "b", "c") == ["A", "B", "C"]
    assert waited.seconds > 0
    source.batches.most_bytes = 1
    assert await said(source, "d", "e") == ["D", "E"]
    sizes = [len(batch["lines"]) for batch in chat_server.batches.made.values()]
    assert sizes == [2, 1, 1, 1]
    (first, *_) = (batch["lines"][0] for batch in chat_server.batches.made.values())
    assert first["url"] == "/v1/chat/completions"
    assert first["body"] == {"model": "m", "messages": [{"role": "user", "content": "a"}]}


async def test_what_the_endpoint_knows_no_more_is_asked_anew(
    chat_server: ChatServer, source: BatchedSource, tmp_path: Path
) -> None:
    chat_server.batches.held = True
    waiting = asyncio.create_task(said(source, "a"))
    while not chat_server.batches.polls:  # noqa: ASYNC110 - the server runs in another thread
        await asyncio.sleep(0.01)
    source.batches.let_go()
    assert [type(each) for each in await waiting] == [LetGo]
    chat_server.batches.held = False
    chat_server.batches.made.clear()
    again = Batches(tmp_path / "batches", lambda _: None).source(source.model, source.direct, source.endpoint)
    again.batches.idle_seconds = 0.05
    assert await said(again, "a") == ["A"]
    await again.batches.close()


async def test_two_models_that_send_the_same_share_no_reply(
    chat_server: ChatServer, source: BatchedSource, tmp_path: Path
) -> None:
    model = source.model.model_copy(update={"name": "other", "model": "m"})
    direct = connect(model)
    other = Batches(tmp_path / "batches", lambda _: None).source(model, direct, direct)
    other.batches.idle_seconds = 0.05
    assert [*await said(source, "a"), *await said(other, "a")] == ["A", "A"]
    first, second = (batch["lines"] for batch in chat_server.batches.made.values())
    assert first[0]["body"] == second[0]["body"]
    assert first[0]["custom_id"] != second[0]["custom_id"]
    await other.close()


async def test_a_reply_that_breaks_the_reader_keeps_nobody_waiting(source: BatchedSource) -> None:
    def broken(came: Any) -> Any:
        raise RecursionError("too deep")

    asked = source.batches.ask("deep", b'{"model": "m", "messages": [{"role": "user", "content": "a"}]}', broken)
    (deep,) = await asyncio.gather(asyncio.wait_for(asked, 30), return_exceptions=True)
    assert isinstance(deep, InternalError)
    assert await said(source, "a") == ["A"]


async def test_an_endpoint_without_batches_is_told_of(source: BatchedSource, chat_server: ChatServer) -> None:
    chat_server.batches.offered = False
    (error,) = await said(source, "a")
    assert isinstance(error, ModelError)
    assert (error.code, error.hint) == ("not_found", "without `batch` in the model's table, it is asked directly")


async def test_a_file_that_is_none_of_ours_ends_the_run(source: BatchedSource, tmp_path: Path) -> None:
    (tmp_path / "batches").write_text(json.dumps({}))
    (error,) = await said(source, "a")
    assert isinstance(error, StoreError)
    assert "batches" in error.message
