"""Runs trials that go on from an event of another one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from toolablate.agents import AgentResult, ChatModel, ModelSource, RetryPolicy, resume_agent
from toolablate.agents.session import Tools
from toolablate.experiments.counterfactual.changing import swapped_call
from toolablate.experiments.counterfactual.faults import is_faulty, was_made_to_fail
from toolablate.experiments.counterfactual.opening import OpenedTools, ReplayWorld
from toolablate.experiments.counterfactual.recorded import RecordedResults
from toolablate.experiments.counterfactual.taking_up import TakenUp
from toolablate.experiments.counterfactual.tools import BarredTools, ReplayedTools, rebuild
from toolablate.experiments.running.execution import TrialTask
from toolablate.traces.errors import InternalError
from toolablate.traces.records import (
    Environment,
    Event,
    OpenAIModel,
    Repair,
    ReplayChange,
    Rerun,
    ScriptedModel,
    ToolCall,
)

_DRAW_DIGITS = 12


@dataclass(frozen=True, slots=True)
class ReplayExecutor:
    """An `Executor` of the trials of counterfactuals, which `taken` has by the ids of their conditions."""

    taken: Mapping[str, TakenUp]
    world: ReplayWorld
    sources: Mapping[str, ModelSource]
    environment: Environment
    retry: RetryPolicy

    async def run(self, task: TrialTask, record: Callable[[Event], None]) -> AgentResult:
        taken = self.taken.get(task.trial.condition)
        if taken is None:
            raise InternalError(f"this executor runs no trials of {task.condition!r}")
        if not taken.calls:
            return await self._go_on(taken, task, BarredTools(taken.parent.specs), record)
        assert taken.resumption is not None
        parent, before, change = taken.parent, taken.start.before, taken.resumption.change
        opened = self.world.open_tools(parent, taken.condition)
        toolset, stage = opened.across(parent.condition.interventions, taken.condition.interventions)
        async with toolset:
            waiting = taken.start.messages[-1].tool_calls if taken.start.node == "act" else ()
            rebuilt = await rebuild(toolset, before, opened.rebuilt, waiting)
            if rebuilt.calls:
                record(rebuilt)
            stage.over = True
            recorded = RecordedResults(
                parent.conversation,
                len(before),
                coding=opened.coding,
                anew=isinstance(change, Repair) and change.text is None,
                unwanted=partial(_is_unwanted, change, opened),
            )
            swapped = swapped_call(parent.conversation, len(before), change)
            tools = ReplayedTools(parent.specs, toolset, recorded, opened.kept_up, swapped)
            return await self._go_on(taken, task, tools, record)

    async def _go_on(
        self, taken: TakenUp, task: TrialTask, tools: Tools, record: Callable[[Event], None]
    ) -> AgentResult:
        model = taken.parent.model
        return await resume_agent(
            start=taken.start,
            model=self._chat(taken, task),
            condition=taken.condition,
            tools=tools,
            record=record,
            price=model.price if isinstance(model, OpenAIModel) else None,
            retry=self.retry,
            seed=task.trial.id,
        )

    def _chat(self, taken: TakenUp, task: TrialTask) -> ChatModel:
        """A script has its replies under the names of the trial of a plan. Recorded replies are found by
        the number of the draw: that of a trial of a plan would give its reply again, where another is wanted."""
        parent, source = taken.parent, self.sources[taken.parent.model.name]
        if isinstance(parent.model, ScriptedModel):
            return source.session(parent.question, parent.arm, parent.origin.repeat)
        if isinstance(parent.model, OpenAIModel):
            return source.session(parent.question, taken.condition, int(task.trial.id[:_DRAW_DIGITS], 16))
        return source.session(parent.question, taken.condition, task.trial.repeat)


def _is_unwanted(change: ReplayChange, opened: OpenedTools, recorded: ToolCall) -> bool:
    """Whether the change wants this result from the tool itself, or from what stands in for it."""
    if not isinstance(change, Rerun):
        return False
    name = recorded.call.name
    if name in change.tools:
        return True
    may_work = name in opened.askable or was_made_to_fail(recorded)
    return change.sound and may_work and is_faulty(recorded, opened.coding)
