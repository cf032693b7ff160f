"""The agents among the models of a plan, opened for all their trials."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from toolablate.agents import AgentResult, ChatModel, RetryPolicy, Start, Tools
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.plans.written import secrets
from toolablate.tools import Resources
from toolablate.tools.importing_anew import importing_as_it_stands
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    AgentModel,
    Condition,
    Event,
    InputCut,
    Picture,
    Price,
    ReplayChange,
)

# Few plans have agents, whose modules import LangChain.
if TYPE_CHECKING:
    from toolablate.agents.langgraph_agents.opening import Agent


class TakenUp(NamedTuple):
    """Where a replay of an agent goes on from its parent's conversation, with what change."""

    start: Start
    conversation: Sequence[Event]
    change: ReplayChange


@dataclass(frozen=True, slots=True)
class OpenedAgent:
    """An agent, for all its trials."""

    agent: "Agent"

    def resources(self, shared: Resources) -> Resources:
        """Those of a trial of its."""
        return replace(shared, agent=self.agent.tools)

    async def run(
        self,
        *,
        prompt: str,
        images: tuple[Picture, ...],
        model: ChatModel,
        condition: Condition,
        tools: Tools,
        record: Callable[[Event], None],
        price: Price | None,
        retry: RetryPolicy,
        seed: str,
        input_cut: InputCut | None = None,
        taken_up: TakenUp | None = None,
    ) -> AgentResult:
        """A trial, from its question to its answer; or one that is taken up at an event of another."""
        from toolablate.agents.langgraph_agents.past import Past
        from toolablate.agents.langgraph_agents.running import run_own_agent

        return await run_own_agent(
            agent=self.agent,
            prompt=prompt,
            images=images,
            model=model,
            condition=condition,
            tools=tools,
            record=record,
            price=price,
            retry=retry,
            seed=seed,
            input_cut=input_cut,
            past=Past.of(*taken_up) if taken_up else None,
        )


def open_agents(plan: Plan, conditions: Sequence[Condition]) -> dict[str, OpenedAgent]:
    """The plan's agents by the names of their models. Raises InputError where one cannot be had, and where it has tools
    that no condition of the plan names, nor one of these. A module that was edited after this process had imported it
    is imported anew."""
    wanted = [model for model in plan.models if isinstance(model, AgentModel)]
    if not wanted:
        return {}
    from toolablate.agents.langgraph_agents.opening import open_agent, require_known_tools

    opened: dict[str, OpenedAgent] = {}
    for model in wanted:
        with importing_as_it_stands(model.module, plan.file.parent if plan.file else Path()) as source:
            if source.get("source_digest", "") != model.source_digest:
                raise InputError(
                    f"model {model.name!r}: the code of its agent was edited after the plan was read",
                    hint="read the plan anew: a changed agent is another model",
                    code="agent_changed",
                )
            agent = open_agent(model, secrets())
        require_known_tools(agent, (*plan.resolved_conditions(), *conditions))
        opened[model.name] = OpenedAgent(agent)
    return opened
