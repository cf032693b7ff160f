"""One trial: a question put to a model that may use its tools until it answers."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from toolablate.agents.chat import ChatModel
from toolablate.agents.resuming import Start
from toolablate.agents.retry import RetryPolicy
from toolablate.agents.session import Tools, TrialFailed, TrialSession
from toolablate.agents.spending import Spending, worked_seconds
from toolablate.agents.steps import run_steps
from toolablate.traces.records import Condition, Event, Message, Outcome, Price, Usage


@dataclass(frozen=True, slots=True)
class AgentResult:
    """How a trial ended. `seconds` is wall time, waits included; `cost_usd` is None where that of any reply is
    unknown."""

    outcome: Outcome
    usage: Usage
    cost_usd: float | None
    seconds: float


async def run_agent(
    *,
    prompt: str,
    model: ChatModel,
    condition: Condition,
    tools: Tools,
    record: Callable[[Event], None],
    price: Price | None = None,
    retry: RetryPolicy | None = None,
    clock: Callable[[], float] = time.monotonic,
    seed: str = "",
) -> AgentResult:
    """Asks until there is an answer, a limit of the condition's budget, or a failure of infrastructure for good.

    Every event goes to `record` as it happens. Failures of model, tool or sandbox are recorded and end in the outcome
    `failed`; anything else that is raised (a bug, a cancellation, a broken script) is left to the caller. `clock`
    gives seconds; `seed` tells apart trials whose waits should not coincide.
    """
    return await resume_agent(
        start=Start(_opening(prompt, condition)),
        model=model,
        condition=condition,
        tools=tools,
        record=record,
        price=price,
        retry=retry,
        clock=clock,
        seed=f"{seed} {condition.identity()} {prompt}",
    )


async def resume_agent(
    *,
    start: Start,
    model: ChatModel,
    condition: Condition,
    tools: Tools,
    record: Callable[[Event], None],
    price: Price | None = None,
    retry: RetryPolicy | None = None,
    clock: Callable[[], float] = time.monotonic,
    seed: str = "",
) -> AgentResult:
    """Goes on with a conversation as `run_agent` does with a question.

    What led to `start` counts against the budget; it is neither recorded again nor part of what is returned.
    """
    if tools.specs:
        # Now, since it takes most of a second: before this trial's clock runs, and the clocks of most others.
        import toolablate.agents.graph  # noqa: F401

    spending = Spending(condition.budget, price)
    spending.charge_before(start.before)
    session = TrialSession(
        model=model,
        tools=tools,
        condition=condition,
        record=record,
        spending=spending,
        retry=retry or RetryPolicy(),
        clock=clock,
        rng=random.Random(seed),  # noqa: S311 - jitter, not a secret
        began=clock(),
        worked_before=worked_seconds(start.before),
        taken=start.taken,
    )
    try:
        limit = await run_steps(session, start)
        outcome: Outcome = "budget" if limit else "answered"
    except TrialFailed:
        outcome = "failed"
    return AgentResult(outcome, spending.usage, spending.cost_usd, session.elapsed())


def _opening(prompt: str, condition: Condition) -> tuple[Message, ...]:
    question = Message(role="user", content=prompt)
    return (Message(role="system", content=condition.prompt), question) if condition.prompt else (question,)
