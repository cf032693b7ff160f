"""The steps of a trial: ask -> act -> ask ... until there is an answer, with one last request at a limit.

The first request needs no graph: most trials without tools end with it, and what LangGraph takes to import is more than
all else that such a run takes to start. Whatever comes after calls of tools goes through `graph`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from toolablate.agents.resuming import Node, Start, given_back, shown
from toolablate.agents.session import TrialSession
from toolablate.traces.records import Limit, Message, ModelReply, ModelRequest


class AgentState(TypedDict):
    """The conversation so far, and the limit that ended it, if one did.

    `results` are those that calls of the last message have already, `closing` what the last request says.
    """

    messages: tuple[Message, ...]
    limit: Limit | None
    results: Mapping[int, str]
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
        tool_choice=tool_choice,
        parallel_tool_calls=session.condition.parallel_tool_calls if session.specs else None,
    )


def _tool_choice(state: AgentState, session: TrialSession) -> str:
    """A model that has to call a tool is free to answer once it has, or it never could."""
    choice = session.condition.tool_choice
    called = any(message.role == "tool" for message in state["messages"])
    return "auto" if choice not in ("auto", "none") and (called or not session.specs) else choice


async def run_steps(session: TrialSession, start: Start) -> Limit | None:
    """Runs one trial to its answer and returns the limit that ended it. Raises TrialFailed."""
    state: AgentState = {
        "messages": start.messages,
        "limit": start.limit,
        "results": start.results,
        "closing": start.closing,
    }
    node = start.node
    if node == "ask":
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
