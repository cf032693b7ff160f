"""Recording and replaying over real HTTP."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.agents.conftest import QUESTION
from tests.agents.replies.samples import request
from tests.servers.chat_server import ChatServer, Hang, Slow, Status, reply

from toolablate.agents import ChatModel, connect
from toolablate.agents.chat import NoReplyError
from toolablate.agents.pacing.waits import counting_waits, note_wait
from toolablate.agents.replies import RecordedSource, ReplayedSource, ResponseCache, verify
from toolablate.agents.replies.reply_sources import RecordedChat
from toolablate.traces.errors import ModelError, StoreError
from toolablate.traces.records import Condition, ModelReply, ModelRequest, OpenAIModel

NONE, PROMPTED = Condition(name="none"), Condition(name="prompted", prompt="Think.")
USAGE = {"prompt_tokens": 7, "completion_tokens": 0, "total_tokens": 7}


@pytest.fixture
async def cache(tmp_path: Path) -> AsyncIterator[ResponseCache]:
    async with ResponseCache(tmp_path / "replies.sqlite", write=True) as opened:
        yield opened


@pytest.fixture
def model(chat_server: ChatServer) -> OpenAIModel:
    return OpenAIModel(name="m", endpoint=chat_server.url)


@pytest.fixture
async def source(model: OpenAIModel, cache: ResponseCache) -> AsyncIterator[RecordedSource]:
    source = RecordedSource(connect(model), model, cache)
    yield source
    await source.close()


@pytest.fixture
def drifting(chat_server: ChatServer) -> ChatServer:
    """Never says the same twice."""
    return chat_server.answers(lambda _: reply(f"This is reply {len(chat_server.requests)}."))


async def ask(chat: ChatModel, text: str = "Why?", seconds: float = 20.0) -> str:
    return (await chat.complete(request(text), seconds=seconds)).message.content


async def asked_for(chat_server: ChatServer) -> None:
    while not chat_server.requests:  # noqa: ASYNC110 - it is filled from another thread
        await asyncio.sleep(0.01)


async def test_all_conditions_that_ask_the_same_get_the_same_reply(
    drifting: ChatServer, source: RecordedSource
) -> None:
    said = {await ask(source.session(QUESTION, condition, 0)) for condition in (NONE, PROMPTED, NONE)}
    assert said == {"This is reply 1."}
    assert len(drifting.requests) == 1


async def test_each_repeat_gets_a_reply_of_its_own(drifting: ChatServer, source: RecordedSource) -> None:
    for _ in range(2):
        said = [await ask(source.session(QUESTION, NONE, repeat)) for repeat in range(3)]
        assert said == ["This is reply 1.", "This is reply 2.", "This is reply 3."]
    assert len(drifting.requests) == 3


async def test_who_asks_the_same_at_once_shares_one_request(chat_server: ChatServer, source: RecordedSource) -> None:
    chat_server.answers(lambda _: Slow(0.2, reply(f"This is reply {len(chat_server.requests)}.")))
    chats = [source.session(QUESTION, NONE, 0) for _ in range(8)]
    assert set(await asyncio.gather(*map(ask, chats))) == {"This is reply 1."}
    assert len(chat_server.requests) == 1


async def test_one_who_waits_for_another_has_no_more_time_than_by_itself(
    chat_server: ChatServer, source: RecordedSource
) -> None:
    chat_server.plays(Slow(0.3, reply("late")))
    asking = asyncio.create_task(ask(source.session(QUESTION, NONE, 0)))
    await asked_for(chat_server)
    with pytest.raises(ModelError) as caught:
        await ask(source.session(QUESTION, NONE, 0), seconds=0.05)
    assert (caught.value.code, caught.value.retryable) == ("timeout", True)
    assert await asking == "late"
    assert await ask(source.session(QUESTION, NONE, 0)) == "late"


async def test_one_who_has_time_left_is_not_ended_by_the_deadline_of_another(
    chat_server: ChatServer, source: RecordedSource
) -> None:
    chat_server.plays(Slow(0.6, reply("too late for one")), reply("in time"))
    hasty = asyncio.create_task(ask(source.session(QUESTION, NONE, 0), seconds=0.2))
    await asked_for(chat_server)
    patient = [asyncio.create_task(ask(source.session(QUESTION, NONE, 0))) for _ in range(3)]
    with pytest.raises(ModelError, match=r"0\.2 s"):
        await hasty
    assert set(await asyncio.gather(*patient)) == {"in time"}
    assert len(chat_server.requests) == 2


async def test_nobody_fails_with_the_failure_that_another_met(chat_server: ChatServer, source: RecordedSource) -> None:
    chat_server.plays(Slow(0.2, Status(500)), reply("at last"))
    told = [asyncio.create_task(outcome(source.session(QUESTION, NONE, 0))) for _ in range(4)]
    assert await asyncio.gather(*told) == ["server_error", "at last", "at last", "at last"]
    assert len(chat_server.requests) == 2


async def test_a_refusal_that_is_final_is_told_to_all_who_ask_the_same(
    chat_server: ChatServer, source: RecordedSource
) -> None:
    chat_server.plays(Slow(0.2, Status(400)))
    told = [asyncio.create_task(outcome(source.session(QUESTION, NONE, 0))) for _ in range(4)]
    assert len(set(await asyncio.gather(*told))) == 1
    assert len(chat_server.requests) == 1


async def test_who_waits_at_a_dead_endpoint_waits_no_longer_than_by_itself(
    chat_server: ChatServer, source: RecordedSource
) -> None:
    chat_server.answers(lambda _: Hang())
    told = [ask(source.session(QUESTION, NONE, 0), seconds=0.3) for _ in range(200)]
    # One after the other they would take a minute.
    failed = await asyncio.wait_for(asyncio.gather(*told, return_exceptions=True), 50)
    assert {error.code for error in failed if isinstance(error, ModelError)} == {"timeout"}
    assert len(failed) == 200


@pytest.mark.deep
async def test_the_place_that_another_waited_for_is_a_wait_of_all_who_ask_the_same(
    drifting: ChatServer, model: OpenAIModel, cache: ResponseCache
) -> None:
    class Queued:
        """A chat whose requests stand in line for two seconds."""

        def __init__(self, inner: ChatModel) -> None:
            self._inner = inner

        async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
            await asyncio.sleep(2.0)
            note_wait(2.0)
            return await self._inner.complete(request, seconds=seconds)

    async def ask_and_count() -> float:
        with counting_waits() as waited:
            await ask(RecordedChat(Queued(inner), model, cache, 0), seconds=1.8)
        return waited.seconds

    source = connect(model)
    inner = source.session(QUESTION, NONE, 0)
    await ask(inner)
    waits = await asyncio.gather(*(ask_and_count() for _ in range(3)))
    assert min(waits) >= 2.0
    assert len(drifting.requests) == 2
    await source.close()


async def test_one_who_gives_up_leaves_the_others_their_reply(chat_server: ChatServer, source: RecordedSource) -> None:
    chat_server.plays(Slow(0.3, reply("for both")))
    first, second = (asyncio.create_task(ask(source.session(QUESTION, NONE, 0))) for _ in range(2))
    await asked_for(chat_server)
    first.cancel()
    assert await second == "for both"


async def test_two_processes_that_record_the_same_both_get_what_was_kept_first(
    drifting: ChatServer, source: RecordedSource, model: OpenAIModel, cache: ResponseCache
) -> None:
    async with ResponseCache(cache.path, write=True) as others:
        other = RecordedSource(connect(model), model, others)
        chats = (source.session(QUESTION, NONE, 0), other.session(QUESTION, NONE, 0))
        assert len(set(await asyncio.gather(*map(ask, chats)))) == 1
        await other.close()
    assert len(drifting.requests) == 2


async def test_a_failure_of_infrastructure_is_not_recorded(chat_server: ChatServer, source: RecordedSource) -> None:
    chat_server.plays(Status(503), Status(400), reply("at last"))
    chat = source.session(QUESTION, NONE, 0)
    for retryable in (True, False):
        with pytest.raises(ModelError) as caught:
            await ask(chat)
        assert caught.value.retryable == retryable
    assert await ask(chat) == "at last"


async def test_a_reply_that_cannot_be_kept_is_not_given(
    drifting: ChatServer, source: RecordedSource, cache: ResponseCache
) -> None:
    assert cache._writer is not None
    cache._writer.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match="Cannot write the recorded replies"):
        await ask(source.session(QUESTION, NONE, 0))


async def replayed(cache: ResponseCache, model: OpenAIModel, times: int) -> list[Any]:
    """What a trial gets that asks the same so many times: texts, or the codes of errors with their usage."""
    async with ResponseCache(cache.path) as reading:
        chat = ReplayedSource(model, reading).session(QUESTION, PROMPTED, 0)
        return [await outcome(chat) for _ in range(times)]


async def outcome(chat: ChatModel) -> Any:
    try:
        return await ask(chat)
    except NoReplyError as error:
        return error.code, error.retryable, error.message, error.reply.usage.input_tokens
    except ModelError as error:
        return error.code


async def test_what_a_filter_stopped_is_stopped_in_the_replay_too(
    chat_server: ChatServer, source: RecordedSource, cache: ResponseCache, model: OpenAIModel
) -> None:
    chat_server.plays(reply("no w", finish_reason="content_filter", usage=USAGE))
    chat = source.session(QUESTION, NONE, 0)
    told = [await outcome(chat), await outcome(chat)]
    assert told[0] == told[1]
    assert told[0][0::3] == ("content_filter", 7)
    assert await replayed(cache, model, 2) == told
    assert len(chat_server.requests) == 1


@pytest.mark.parametrize("code", ["context_length_exceeded", "content_filter"])
async def test_a_refusal_of_the_request_itself_is_kept(
    chat_server: ChatServer, source: RecordedSource, cache: ResponseCache, model: OpenAIModel, code: str
) -> None:
    chat_server.plays(Status(400, {"message": "too much of it", "code": code}))
    async with ResponseCache(cache.path, write=True) as recording:
        chats = [source.session(QUESTION, NONE, 0), ReplayedSource(model, recording).session(QUESTION, NONE, 0)]
        told = []
        for chat in chats:
            with pytest.raises(ModelError) as caught:
                await ask(chat)
            told.append((caught.value.code, str(caught.value), caught.value.retryable))
    assert told[0] == told[1]
    assert told[0][0] == code.removesuffix("_exceeded")
    assert verify(cache.path).problems == ()


async def test_empty_replies_come_again_in_the_replay_as_they_came(
    chat_server: ChatServer, source: RecordedSource, cache: ResponseCache, model: OpenAIModel
) -> None:
    chat_server.plays(reply("", usage=USAGE), Status(503), reply("", usage=USAGE), reply("at last"))
    chat = source.session(QUESTION, NONE, 0)
    told = [await outcome(chat)]
    with pytest.raises(ModelError):
        await ask(chat)
    told += [await outcome(chat), await outcome(chat)]
    assert [said if isinstance(said, str) else said[:2] for said in told] == [
        ("empty_reply", True),
        ("empty_reply", True),
        "at last",
    ]
    assert await replayed(cache, model, 4) == [*told, "at last"]


async def test_a_reply_that_never_came_is_asked_for_again(chat_server: ChatServer, source: RecordedSource) -> None:
    chat_server.plays(reply(""), reply(""), reply("at last"))
    first = source.session(QUESTION, NONE, 0)
    assert [(await outcome(first))[0] for _ in range(2)] == ["empty_reply", "empty_reply"]
    assert await outcome(source.session(QUESTION, NONE, 0)) == "at last"


async def test_a_replay_asks_nobody_and_needs_no_key(
    drifting: ChatServer, source: RecordedSource, cache: ResponseCache
) -> None:
    said = await ask(source.session(QUESTION, NONE, 0))
    keyed = OpenAIModel(name="m", endpoint=drifting.url, api_key_env="NOT_SET_ANYWHERE")
    assert await replayed(cache, keyed, 1) == [said]
    async with ResponseCache(cache.path) as reading:
        with pytest.raises(ModelError, match=r'messages\[1\]\.content: recorded "Why\?", asked "What\?"'):
            await ask(ReplayedSource(keyed, reading).session(QUESTION, NONE, 0), "What?")
    assert len(drifting.requests) == 1
