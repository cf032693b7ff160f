"""One request outside of any trial: tried again as a trial's are, its failed replies paid for, its last error raised."""

import itertools
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from tests.agents.conftest import QUESTION, QUICK, condition
from tests.servers.chat_server import ChatServer, Hang, Status, reply

from toolablate.agents import PricedReply, ask, connect
from toolablate.agents.capability_checks import saying
from toolablate.agents.chat import RetryPolicy
from toolablate.traces.errors import ModelError
from toolablate.traces.records import OpenAIModel, Price

PRICE = Price(input=1.0, output=2.0)
REPLY_USD = (10 * 1.0 + 5 * 2.0) / 1e6

Ask = Callable[..., Awaitable[PricedReply]]


@pytest.fixture
async def asking(chat_server: ChatServer) -> AsyncIterator[Ask]:
    source = connect(OpenAIModel(name="m", endpoint=chat_server.url))

    async def asking(**options: Any) -> PricedReply:
        chat = source.session(QUESTION, condition(), 0)
        defaults = {"retry": QUICK, "seconds": 30.0, "price": PRICE, "clock": itertools.count().__next__}
        return await ask(chat, saying("Why?"), rng=random.Random(0), **{**defaults, **options})

    yield asking
    await source.close()


async def test_a_reply_and_its_cost(chat_server: ChatServer, asking: Ask) -> None:
    chat_server.plays(reply("Because."))
    asked = await asking()
    assert asked.reply.message.content == "Because."
    assert asked.cost_usd == pytest.approx(REPLY_USD)
    assert chat_server.messages == [{"role": "user", "content": "Why?"}]


@pytest.mark.parametrize("step", [Status(429, headers={"retry-after-ms": "1"}), Status(500), Status(503)])
async def test_what_may_pass_is_tried_again(chat_server: ChatServer, asking: Ask, step: Status) -> None:
    chat_server.plays(step, reply("Because."))
    asked = await asking()
    assert asked.cost_usd == pytest.approx(REPLY_USD)
    assert len(chat_server.requests) == 2


async def test_replies_that_are_none_are_paid_for(chat_server: ChatServer, asking: Ask) -> None:
    chat_server.plays(reply(""), reply(" "), reply("Because."))
    assert (await asking()).cost_usd == pytest.approx(3 * REPLY_USD)


async def test_the_cost_is_unknown_where_that_of_any_reply_is(chat_server: ChatServer, asking: Ask) -> None:
    chat_server.plays(reply("", usage={"prompt_tokens": 10}), reply("Because."))
    assert (await asking()).cost_usd is None


async def test_attempts_run_out(chat_server: ChatServer, asking: Ask) -> None:
    chat_server.plays(*[Status(500)] * 4)
    with pytest.raises(ModelError) as raised:
        await asking()
    assert raised.value.code == "server_error"
    assert len(chat_server.requests) == QUICK.attempts == 4


async def test_what_will_not_pass_is_raised_at_once(chat_server: ChatServer, asking: Ask) -> None:
    chat_server.plays(Status(401))
    with pytest.raises(ModelError) as raised:
        await asking()
    assert raised.value.code == "unauthorized"
    assert len(chat_server.requests) == 1


@pytest.mark.deep
async def test_each_try_has_its_own_seconds(chat_server: ChatServer, asking: Ask) -> None:
    chat_server.plays(Hang(), reply("Because."))
    assert (await asking(seconds=2.0)).reply.message.content == "Because."


async def test_where_requests_are_paced_a_refusal_is_no_attempt(chat_server: ChatServer, asking: Ask) -> None:
    chat_server.plays(*[Status(429)] * 6, reply("Because."))
    paced = RetryPolicy(attempts=1, paced=True, base_seconds=0.001, cap_seconds=0.002)
    assert (await asking(retry=paced)).reply.message.content == "Because."
    assert len(chat_server.requests) == 7


async def test_a_request_that_is_refused_for_good_ends_by_the_clock(chat_server: ChatServer, asking: Ask) -> None:
    chat_server.plays(*[Status(429)] * 5)
    paced = RetryPolicy(paced=True, refusals=2, patience_seconds=3.0, base_seconds=0.001, cap_seconds=0.002)
    with pytest.raises(ModelError) as raised:
        await asking(retry=paced)
    assert raised.value.code == "rate_limited"
    assert len(chat_server.requests) == 5
