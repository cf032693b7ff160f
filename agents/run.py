"""One trial: ask -> act -> ask ... until there is an answer, with one last request at a limit."""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from toolablate.agents.chat import ChatModel, RetryPolicy
from toolablate.agents.plots import Shown
from toolablate.agents.provider_tools import calls_of_provider
from toolablate.agents.resuming import Node, Start, given_back, shown
from toolablate.agents.session import Tools, TrialFailed, TrialSession
from toolablate.agents.spending import Spending, worked_seconds
from toolablate.traces.records import (
    Condition,
    Event,
    InputCut,
    Limit,
    Message,
    ModelReply,
    ModelRequest,
    Outcome,
    Picture,
    Price,
    Usage,
)


class AgentState(TypedDict):
    """The conversation so far, and the limit that ended it, if one did.

    `results` are those that calls of the last message have already, `closing` what the last request says.
    """

    messages: tuple[Message, ...]
    limit: Limit | None
    results: Mapping[int, Shown]
    closing: str


@dataclass(frozen=True, slots=True)
class Step:
    """What comes after a step, and what it changes in the state."""

    goto: Node
    update: dict[str, Any]


async def ask(state: AgentState, session: TrialSession) -> Step:
    limit = session.spending.reached_before_turn(session.worked())
    if limit:
        return Step("final", {"limit": limit})
    reply = await session.ask(_request(state, session, tool_choice=_tool_choice(state, session)), "ask")
    if not isinstance(reply, ModelReply):
        return Step("final", {"limit": reply})
    messages = (*state["messages"], given_back(reply.message, session.condition))
    if reply.message.tool_calls:
        return Step("act", {"messages": messages})
    if reply.finish_reason == "paused":
        return Step("ask", {"messages": messages})
    if reply.finish_reason == "length":
        return Step("final", {"messages": messages, "limit": "reply_length"})
    return Step("end", {"messages": messages})


async def act(state: AgentState, session: TrialSession) -> Step:
    calls, results = state["messages"][-1].tool_calls, state["results"]
    left = {place: call for place, call in enumerate(calls) if place not in results}
    limit: Limit | None = None
    if session.condition.tool_choice == "none":
        outputs = session.refuse_all(tuple(left.values()))
    else:
        outputs, limit = await session.call_all(tuple(left.values()))
    messages = (*state["messages"], *shown(calls, {**results, **dict(zip(left, outputs, strict=True))}))
    update: dict[str, object] = {"messages": messages, "limit": limit, "results": {}}
    return Step("final" if limit else "ask", update)


async def at_last(state: AgentState, session: TrialSession) -> Step:
    """Asks once more. The tools stay in the request, barred, since some endpoints refuse a history of tool calls
    without them; a call that is made all the same is not run."""
    request = _request(state, session, Message(role="user", content=state["closing"]), tool_choice="none")
    sent, reply = await session.ask_at_last(request, state["limit"])
    return Step("end", {"messages": (*sent.messages, reply.message)})


def _request(state: AgentState, session: TrialSession, *more: Message, tool_choice: str) -> ModelRequest:
    return ModelRequest(
        messages=(*state["messages"], *more),
        tools=session.specs,
        provider_tools=session.condition.provider_tools,
        tool_choice=tool_choice,
        parallel_tool_calls=session.condition.parallel_tool_calls if session.specs else None,
        answer_schema=session.condition.answer_schema,
    )


def _tool_choice(state: AgentState, session: TrialSession) -> str:
    """A model that has to call a tool is free to answer once it has, or it never could."""
    choice = session.condition.tool_choice
    if choice in ("auto", "none"):
        return choice
    offered = session.specs or session.condition.provider_tools
    called = any(message.role == "tool" or calls_of_provider(message) for message in state["messages"])
    return "auto" if called or not offered else choice


async def run_steps(session: TrialSession, start: Start) -> Limit | None:
    """Runs one trial to its answer and returns the limit that ended it. Raises TrialFailed."""
    state: AgentState = {
        "messages": start.messages,
        "limit": start.limit,
        "results": start.results,
        "closing": start.closing,
    }
    node = start.node
    while node == "ask":
        node = _take(await ask(state, session), state)
    if node == "act":
        from toolablate.agents.graph import go_on

        state = await go_on(session, state)
    elif node == "final":
        _take(await at_last(state, session), state)
    session.answer(state["messages"][-1].content, state["limit"])
    return state["limit"]


def _take(step: Step, state: AgentState) -> Node:
    state.update(step.update)  # type: ignore[typeddict-item]
    return step.goto


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
    images: tuple[Picture, ...] = (),
    model: ChatModel,
    condition: Condition,
    tools: Tools,
    record: Callable[[Event], None],
    price: Price | None = None,
    retry: RetryPolicy | None = None,
    clock: Callable[[], float] = time.monotonic,
    seed: str = "",
    input_cut: InputCut | None = None,
) -> AgentResult:
    """Asks until there is an answer, a limit of the condition's budget, or a failure of infrastructure for good.

    Every event goes to `record` as it happens. Failures of model, tool or sandbox are recorded and end in the outcome
    `failed`; anything else that is raised (a bug, a cancellation, a broken script) is left to the caller. `clock`
    gives seconds; `seed` tells apart trials whose waits should not coincide. `input_cut` says what was cut of the
    prompt, for the record.
    """
    return await resume_agent(
        start=Start(_opening(prompt, images, condition)),
        model=model,
        condition=condition,
        tools=tools,
        record=record,
        price=price,
        retry=retry,
        clock=clock,
        seed=f"{seed} {condition.identity()} {prompt}",
        input_cut=input_cut,
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
    input_cut: InputCut | None = None,
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
        input_cut=input_cut,
    )
    try:
        limit = await run_steps(session, start)
        outcome: Outcome = "budget" if limit else "answered"
    except TrialFailed:
        outcome = "failed"
    return AgentResult(outcome, spending.usage, spending.cost_usd, session.elapsed())


def _opening(prompt: str, images: tuple[Picture, ...], condition: Condition) -> tuple[Message, ...]:
    question = Message(role="user", content=prompt, images=images)
    return (Message(role="system", content=condition.prompt), question) if condition.prompt else (question,)
