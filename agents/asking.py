"""One request outside of any trial, tried again where that may help."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass

from toolablate.agents.chat import ChatModel, NoReplyError
from toolablate.agents.retry import RetryPolicy, Tries
from toolablate.agents.spending import Spending
from toolablate.traces.errors import ModelError
from toolablate.traces.records import Budget, ModelReply, ModelRequest, Price


@dataclass(frozen=True, slots=True)
class Asked:
    """`cost_usd` is in US dollars, None where it is unknown; it has in it what was paid for replies that were none."""

    reply: ModelReply
    cost_usd: float | None


async def ask(
    chat: ChatModel,
    request: ModelRequest,
    *,
    retry: RetryPolicy,
    seconds: float,
    price: Price | None,
    rng: random.Random,
    clock: Callable[[], float],
) -> Asked:
    """The model's reply; each try may take `seconds`, waits not counted. `clock` tells seconds, from any beginning.

    Raises the ModelError of the last try.
    """
    spending, tries = Spending(Budget(), price), Tries(retry)
    while True:
        try:
            reply = await chat.complete(request, seconds=seconds)
        except ModelError as error:
            if isinstance(error, NoReplyError):
                spending.charge(request, error.reply, of_use=False)
            if not tries.again(error, clock()):
                raise
            delay = tries.delay(error, rng)
        else:
            spending.charge(request, reply)
            return Asked(reply, spending.cost_usd)
        await asyncio.sleep(delay)
