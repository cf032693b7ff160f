"""The agent as a LangGraph graph: ask -> act -> ask ... until there is an answer, with one last request at a limit.

Each node names the next one: edges that decide would cost a third of what LangGraph takes for a turn. LangGraph is
imported here and nowhere else; `run` imports this module when the first trial needs it.
"""

from collections.abc import Mapping
from functools import cache
from typing import Literal, TypedDict, cast

from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

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


Compiled = CompiledStateGraph[AgentState, TrialSession, AgentState, AgentState]


@cache
def agent_graph(entry: Node = "ask") -> Compiled:
    """The compiled graph that begins at `entry`. It holds nothing of a trial: all of that is in its state and its
    context."""
    graph: StateGraph[AgentState, TrialSession, AgentState, AgentState] = StateGraph(AgentState, TrialSession)
    graph.add_node("ask", ask)
    graph.add_node("act", act)
    graph.add_node("final", final)
    graph.add_edge(START, entry)
    return graph.compile()


def recursion_limit(turns: int) -> int:
    """More steps than `turns` turns can take; the budget ends a trial, never the graph's own limit."""
    return 2 * turns + 8


async def ask(state: AgentState, runtime: Runtime[TrialSession]) -> Command[Literal["act", "final", "__end__"]]:
    session = runtime.context
    limit = session.spending.reached_before_turn(session.worked())
    if limit:
        return Command(update={"limit": limit}, goto="final")
    reply = await session.ask(_request(state, session, tool_choice=_tool_choice(state, session)), "ask")
    if not isinstance(reply, ModelReply):
        return Command(update={"limit": reply}, goto="final")
    messages = (*state["messages"], given_back(reply.message, session.condition))
    if reply.message.tool_calls:
        return Command(update={"messages": messages}, goto="act")
    if reply.finish_reason == "length":
        return Command(update={"messages": messages, "limit": "reply_length"}, goto="final")
    return Command(update={"messages": messages}, goto="__end__")


async def act(state: AgentState, runtime: Runtime[TrialSession]) -> Command[Literal["ask", "final"]]:
    session = runtime.context
    calls, results = state["messages"][-1].tool_calls, state["results"]
    left = {place: call for place, call in enumerate(calls) if place not in results}
    limit: Limit | None = None
    if session.condition.tool_choice == "none":
        outputs = session.refuse_all(tuple(left.values()))
    else:
        outputs, limit = await session.call_all(tuple(left.values()))
    messages = (*state["messages"], *shown(calls, {**results, **dict(zip(left, outputs, strict=True))}))
    update: dict[str, object] = {"messages": messages, "limit": limit, "results": {}}
    return Command(update=update, goto="final" if limit else "ask")


async def final(state: AgentState, runtime: Runtime[TrialSession]) -> Command[Literal["__end__"]]:
    return Command(update={"messages": await _at_last(state, runtime.context)}, goto="__end__")


async def _at_last(state: AgentState, session: TrialSession) -> tuple[Message, ...]:
    """Asks once more. The tools stay in the request, barred, since some endpoints refuse a history of tool calls
    without them; a call that is made all the same is not run."""
    request = _request(state, session, Message(role="user", content=state["closing"]), tool_choice="none")
    sent, reply = await session.ask_at_last(request, state["limit"])
    return (*sent.messages, reply.message)


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


async def run_graph(session: TrialSession, start: Start) -> Limit | None:
    """Runs one trial to its answer and returns the limit that ended it. Raises TrialFailed."""
    state: AgentState = {
        "messages": start.messages,
        "limit": start.limit,
        "results": start.results,
        "closing": start.closing,
    }
    if start.node == "final":
        # Nothing is left to decide, and of a probe the graph would cost more than all the rest.
        state["messages"] = await _at_last(state, session)
    elif start.node != "end":
        state = await _through_graph(session, state, start.node)
    session.answer(state["messages"][-1].content, state["limit"])
    return state["limit"]


async def _through_graph(session: TrialSession, state: AgentState, entry: Node) -> AgentState:
    from langsmith.run_helpers import tracing_context

    # A LANGSMITH_TRACING left over from another project must not send benchmark questions to a third party.
    with tracing_context(enabled=False):
        ended = await agent_graph(entry).ainvoke(
            state, {"recursion_limit": recursion_limit(session.spending.budget.turns)}, context=session
        )
    return cast(AgentState, ended)
