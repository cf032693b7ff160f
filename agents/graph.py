"""The agent as a LangGraph graph: ask -> act -> ask ... -> answer, with one final request when a budget is reached.

LangGraph is imported here and nowhere else; `run` imports this module when the first trial needs it.
"""

from functools import cache
from typing import Literal, TypedDict, cast

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from toolablate.agents.session import TrialSession
from toolablate.traces.records import Condition, Limit, Message, ModelReply, ModelRequest

FINAL_REQUEST = (
    "Give your final answer now, in the form that the question asks for, from what you have so far."
    " No tools can be called any more."
)


class AgentState(TypedDict):
    """The conversation so far, and the limit that ended it, if one did."""

    messages: tuple[Message, ...]
    limit: Limit | None


class Step(TypedDict, total=False):
    """What a node changes of the state."""

    messages: tuple[Message, ...]
    limit: Limit | None


Compiled = CompiledStateGraph[AgentState, TrialSession, AgentState, AgentState]


@cache
def agent_graph() -> Compiled:
    """The compiled graph. It holds nothing of a trial: all of that is in its state and its context."""
    graph: StateGraph[AgentState, TrialSession, AgentState, AgentState] = StateGraph(AgentState, TrialSession)
    graph.add_node("ask", ask)
    graph.add_node("act", act)
    graph.add_node("final", final)
    graph.add_node("answer", answer)
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", after_ask)
    graph.add_conditional_edges("act", after_act)
    graph.add_edge("final", "answer")
    graph.add_edge("answer", END)
    return graph.compile()


def recursion_limit(turns: int) -> int:
    """More steps than `turns` turns can take; the budget ends a trial, never the graph's own limit."""
    return 2 * turns + 8


async def ask(state: AgentState, runtime: Runtime[TrialSession]) -> Step:
    session = runtime.context
    limit = session.spending.reached_before_turn(session.worked())
    if limit:
        return {"limit": limit}
    request = _request(state, session, tool_choice=_tool_choice(state, session))
    reply = await session.ask(request, "ask")
    if not isinstance(reply, ModelReply):
        return {"limit": reply}
    cut = reply.finish_reason == "length" and not reply.message.tool_calls
    messages = (*state["messages"], _given_back(reply.message, session.condition))
    return {"messages": messages, "limit": "reply_length" if cut else None}


# Coroutines, though they wait for nothing: LangGraph sends plain functions through a pool of threads, where they would
# stand behind whatever occupies it.
async def after_ask(state: AgentState) -> Literal["act", "final", "answer"]:
    if state["limit"]:
        return "final"
    return "act" if state["messages"][-1].tool_calls else "answer"


async def act(state: AgentState, runtime: Runtime[TrialSession]) -> Step:
    session = runtime.context
    calls = state["messages"][-1].tool_calls
    limit: Limit | None = None
    if session.condition.tool_choice == "none":
        outputs = session.refuse_all(calls)
    else:
        outputs, limit = await session.call_all(calls)
    results = (
        Message(role="tool", content=output, tool_call_id=call.id) for call, output in zip(calls, outputs, strict=True)
    )
    return {"messages": (*state["messages"], *results), "limit": limit}


async def after_act(state: AgentState) -> Literal["ask", "final"]:
    return "final" if state["limit"] else "ask"


async def final(state: AgentState, runtime: Runtime[TrialSession]) -> Step:
    """Asks once more. The tools stay in the request, barred, since some endpoints refuse a history of tool calls
    without them; a call that is made all the same is not run."""
    session = runtime.context
    request = _request(state, session, Message(role="user", content=FINAL_REQUEST), tool_choice="none")
    sent, reply = await session.ask_at_last(request, state["limit"])
    return {"messages": (*sent.messages, reply.message)}


async def answer(state: AgentState, runtime: Runtime[TrialSession]) -> Step:
    runtime.context.answer(state["messages"][-1].content, state["limit"])
    return {}


def _request(state: AgentState, session: TrialSession, *more: Message, tool_choice: str) -> ModelRequest:
    return ModelRequest(
        messages=(*state["messages"], *more),
        tools=session.specs,
        tool_choice=tool_choice,
        parallel_tool_calls=session.condition.parallel_tool_calls if session.specs else None,
    )


def _given_back(message: Message, condition: Condition) -> Message:
    """A model's message as the next request holds it."""
    if condition.reasoning == "keep":
        return message
    return message.model_copy(update={"reasoning": "", "reasoning_key": "", "items": ()})


def _tool_choice(state: AgentState, session: TrialSession) -> str:
    """A model that has to call a tool is free to answer once it has, or it never could."""
    choice = session.condition.tool_choice
    called = any(message.role == "tool" for message in state["messages"])
    return "auto" if choice not in ("auto", "none") and (called or not session.specs) else choice


async def run_graph(session: TrialSession, messages: tuple[Message, ...]) -> Limit | None:
    """Runs one trial to its answer and returns the limit that ended it. Raises TrialFailed."""
    from langsmith.run_helpers import tracing_context

    # A LANGSMITH_TRACING left over from another project must not send benchmark questions to a third party.
    with tracing_context(enabled=False):
        ended = await agent_graph().ainvoke(
            {"messages": messages, "limit": None},
            {"recursion_limit": recursion_limit(session.spending.budget.turns)},
            context=session,
        )
    return cast(AgentState, ended)["limit"]
