"""The agents among the models of a plan, opened for all their trials."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toolablate.agents import AgentResult, ChatModel, ModelSource, RetryPolicy, Tools
from toolablate.experiments.plans.plan import Plan
from toolablate.tools import Resources
from toolablate.traces.errors import ModelError
from toolablate.traces.records import (
    AgentModel,
    Condition,
    Event,
    InputCut,
    Model,
    ModelReply,
    ModelRequest,
    Price,
    Question,
)

# Few plans have agents, whose modules import LangChain.
if TYPE_CHECKING:
    from toolablate.agents.langgraph_agents.opening import Agent


@dataclass(frozen=True, slots=True)
class _Unrecordable:
    """In place of a model whose replies are recorded, where the agent makes the event loop stand still."""

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        raise ModelError(
            "a coroutine of the agent calls its model by invoke(), and this reply cannot be recorded",
            hint='call it by `await model.ainvoke(...)`; or write replies.mode = "live"',
            code="blocking_call",
        )


@dataclass(frozen=True, slots=True)
class OpenedAgent:
    """An agent, what gives its models' replies, and what gives them where it makes the event loop stand still."""

    agent: "Agent"
    source: ModelSource
    mode: str

    def resources(self, shared: Resources) -> Resources:
        """Those of a trial of its."""
        return replace(shared, agent=self.agent.tools)

    async def run(
        self,
        *,
        question: Question,
        condition: Condition,
        repeat: int,
        prompt: str,
        tools: Tools,
        record: Callable[[Event], None],
        price: Price | None,
        retry: RetryPolicy,
        seed: str,
        input_cut: InputCut | None,
    ) -> AgentResult:
        """A trial, from its question to its answer."""
        from toolablate.agents.langgraph_agents.trial import run_own_agent

        model = self.source.session(question, condition, repeat)
        return await run_own_agent(
            agent=self.agent,
            prompt=prompt,
            model=model,
            blocking_model=self._blocking(model, question, condition, repeat),
            condition=condition,
            tools=tools,
            record=record,
            price=price,
            retry=retry,
            seed=seed,
            input_cut=input_cut,
        )

    def _blocking(self, model: ChatModel, question: Question, condition: Condition, repeat: int) -> ChatModel:
        from toolablate.agents.langgraph_agents.source import AgentSource

        if self.mode == "record":
            return _Unrecordable()
        # No line can be waited in.
        return model if self.mode == "replay" else AgentSource(self.agent.model).session(question, condition, repeat)


def open_agents(
    plan: Plan, models: Sequence[Model], conditions: Sequence[Condition], sources: Mapping[str, ModelSource]
) -> dict[str, OpenedAgent]:
    """The agents by the names of their models. Raises InputError where one cannot be had, where it cannot be run under
    one of these conditions, and where it has tools that no condition of the plan names."""
    wanted = [model for model in models if isinstance(model, AgentModel)]
    if not wanted:
        return {}
    from toolablate.agents.langgraph_agents.opening import open_agent, require_known_tools

    opened: dict[str, OpenedAgent] = {}
    for model in wanted:
        agent = open_agent(model)
        require_known_tools(agent, (*plan.resolved_conditions(), *conditions))
        opened[model.name] = OpenedAgent(agent, sources[model.name], plan.replies.mode)
    return opened
