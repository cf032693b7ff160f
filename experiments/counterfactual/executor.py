"""Runs trials that go on from an event of another one."""

from collections.abc import Callable
from dataclasses import dataclass

from toolablate.agents import AgentResult, ChatModel, ModelSource, RetryPolicy, Start, resume_agent
from toolablate.experiments.counterfactual.changing import swapped_call
from toolablate.experiments.counterfactual.opening import ReplayWorld
from toolablate.experiments.counterfactual.parent import Parent
from toolablate.experiments.counterfactual.recorded import RecordedResults
from toolablate.experiments.counterfactual.tools import ReplayedTools, rebuild
from toolablate.experiments.execution import TrialTask
from toolablate.traces.errors import InternalError
from toolablate.traces.records import Condition, Environment, Event, OpenAIModel, Repair, Resumption, ScriptedModel

_DRAW_DIGITS = 12
_TOOLLESS = Condition(name="none")


@dataclass(frozen=True, slots=True)
class ReplayExecutor:
    """An `Executor` of the trials of one counterfactual."""

    parent: Parent
    condition: Condition
    resumption: Resumption
    start: Start
    world: ReplayWorld
    source: ModelSource
    environment: Environment
    retry: RetryPolicy

    async def run(self, task: TrialTask, record: Callable[[Event], None]) -> AgentResult:
        if task.condition != self.condition.name:
            raise InternalError(f"this executor runs trials of {self.condition.name!r}, not of {task.condition!r}")
        # What calls no tool any more needs none that could be called.
        calls = self.start.node in ("ask", "act")
        opened = self.world.open_tools(self.parent, self.condition if calls else _TOOLLESS)
        before, change = self.start.before, self.resumption.change
        async with opened.toolset(self.parent.condition.interventions if calls else ()) as toolset:
            rebuilt = await rebuild(toolset, before, opened.rebuilt)
            if rebuilt.calls:
                record(rebuilt)
            if self.condition.interventions != self.parent.condition.interventions:
                toolset = opened.toolset(self.condition.interventions)
            anew = isinstance(change, Repair) and change.text is None
            recorded = RecordedResults(self.parent.conversation, len(before), coding=opened.coding, anew=anew)
            swapped = swapped_call(self.parent.conversation, len(before), change)
            model = self.parent.model
            return await resume_agent(
                start=self.start,
                model=self._chat(task),
                condition=self.condition,
                tools=ReplayedTools(self.parent.specs, toolset, recorded, opened.kept_up, swapped),
                record=record,
                price=model.price if isinstance(model, OpenAIModel) else None,
                retry=self.retry,
                seed=task.trial.id,
            )

    def _chat(self, task: TrialTask) -> ChatModel:
        """A script has its replies under the names of the trial of a plan. Recorded replies are found by
        the number of the draw: that of a trial of a plan would give its reply again, where another is wanted."""
        if isinstance(self.parent.model, ScriptedModel):
            return self.source.session(self.parent.question, self.parent.arm, self.parent.origin.repeat)
        if isinstance(self.parent.model, OpenAIModel):
            draw = int(task.trial.id[:_DRAW_DIGITS], 16)
            return self.source.session(self.parent.question, self.condition, draw)
        return self.source.session(self.parent.question, self.condition, task.trial.repeat)
