"""What follows a model's first calls of tools, as a LangGraph graph: act -> ask -> act ... until there is an answer.

Each node names the next one: edges that decide would cost a third of what LangGraph takes for a turn. LangGraph is
imported here and nowhere else, and this module only where tools may be called.
"""

from functools import cache
from typing import Any, Literal, cast

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from toolablate.agents.run import AgentState, Step, act, ask, at_last
from toolablate.agents.session import TrialSession

Compiled = CompiledStateGraph[AgentState, TrialSession, AgentState, AgentState]


@cache
def agent_graph() -> Compiled:
    """The compiled graph, which begins with the calls of the last message. It holds nothing of a trial: all of that is
    in its state and its context."""
    graph: StateGraph[AgentState, TrialSession, AgentState, AgentState] = StateGraph(AgentState, TrialSession)
    graph.add_node("act", _act)
    graph.add_node("ask", _ask)
    graph.add_node("final", _final)
    graph.add_edge(START, "act")
    return graph.compile()


def recursion_limit(turns: int) -> int:
    """More steps than `turns` turns can take; the budget ends a trial, never the graph's own limit."""
    return 2 * turns + 8


async def _act(state: AgentState, runtime: Runtime[TrialSession]) -> Command[Literal["ask", "final"]]:
    return _command(await act(state, runtime.context))


async def _ask(state: AgentState, runtime: Runtime[TrialSession]) -> Command[Literal["ask", "act", "final", "__end__"]]:
    return _command(await ask(state, runtime.context))


async def _final(state: AgentState, runtime: Runtime[TrialSession]) -> Command[Literal["__end__"]]:
    return _command(await at_last(state, runtime.context))


def _command(step: Step) -> Command[Any]:
    return Command(update=step.update, goto=END if step.goto == "end" else step.goto)


async def go_on(session: TrialSession, state: AgentState) -> AgentState:
    """The state at the end of a trial whose model has just called tools. Raises TrialFailed."""
    from langsmith.run_helpers import tracing_context

    # A LANGSMITH_TRACING left over from another project must not send benchmark questions to a third party.
    with tracing_context(enabled=False):
        ended = await agent_graph().ainvoke(
            state, {"recursion_limit": recursion_limit(session.spending.budget.turns)}, context=session
        )
    return cast(AgentState, ended)
