"""Trials in this process, on its event loop."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.agents import AgentResult, Line, ModelSource, RetryPolicy, run_agent
from toolablate.benchmarks.prompt import render
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.plans.web import WebSection
from toolablate.experiments.running.execution.task import TrialTask
from toolablate.experiments.world.donors import open_donors, require_results
from toolablate.experiments.world.guarding import guard_for
from toolablate.experiments.world.question_files import work_files
from toolablate.experiments.world.replies import asked_lines, open_sources
from toolablate.experiments.world.web import Tell, open_web, silent
from toolablate.experiments.world.world import environment, needed, open_tried_sandbox, servers_needed
from toolablate.tools import Resources, open_toolset
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Environment, Event, Model, OpenAIModel, Price

if TYPE_CHECKING:
    from toolablate.tools.donors import Donors


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """An `Executor` with everything that the trials of a plan share, opened."""

    models: Mapping[str, Model]
    conditions: Mapping[str, Condition]
    sources: Mapping[str, ModelSource]
    resources: Resources
    environment: Environment
    retry: RetryPolicy
    files_folder: Path
    web: WebSection
    lines: Mapping[str, Line]
    donors: "Donors | None"

    async def run(self, task: TrialTask, record: Callable[[Event], None]) -> AgentResult:
        condition = self.conditions[task.condition]
        model = self.sources[task.model].session(task.question, condition, task.trial.repeat)
        opened = open_toolset(
            condition.tools,
            self.resources,
            work_files(task.question, self.files_folder),
            guard=guard_for(task.question, self.web),
            interventions=condition.interventions,
            question=task.question,
            seed=task.trial.id,
            donors=self.donors,
        )
        async with opened as tools:
            return await run_agent(
                prompt=render(task.question),
                model=model,
                condition=condition,
                tools=tools,
                record=record,
                price=_price(self.models[task.model]),
                retry=self.retry,
                seed=task.trial.id,
            )


def _price(model: Model) -> Price | None:
    return model.price if isinstance(model, OpenAIModel) else None


async def open_executor(
    plan: Plan,
    conditions: Sequence[Condition],
    world: Mapping[str, str],
    stack: AsyncExitStack,
    *,
    tell: Tell = silent,
    warn: Tell = silent,
) -> LocalExecutor:
    """Opens what trials under these conditions of the plan need; the stack closes it. `world` is what the run says of
    itself; `tell` hears of what may take a while, `warn` of what a user should know.

    Raises ToolablateError for what cannot be had.
    """
    web = await open_web(plan, needed(conditions), stack, servers=servers_needed(conditions), tell=tell)
    for warning in web.warnings:
        warn(warning)
    tried = await open_tried_sandbox(plan, conditions, stack)
    resources = Resources(tried.sandbox if tried else None, web.search, web.pages, web.mcp)
    donors = await open_donors(plan, conditions, resources)
    for condition in conditions:
        _check_tools(condition, resources, donors)
    lines = asked_lines(plan)
    return LocalExecutor(
        models={model.name: model for model in plan.models},
        conditions={condition.name: condition for condition in conditions},
        sources=await open_sources(plan, world, stack, lines),
        resources=resources,
        environment=environment(tried, world),
        retry=RetryPolicy(attempts=plan.runner.attempts, paced=True),
        files_folder=plan.questions.files_folder,
        web=plan.web,
        lines=lines,
        donors=donors,
    )


def _check_tools(condition: Condition, resources: Resources, donors: "Donors | None") -> None:
    """Only a server that has been listed knows its tools; nothing is started by this."""
    tools = open_toolset(condition.tools, resources, interventions=condition.interventions)
    names = [spec.name for spec in tools.specs]
    require_results(condition, names, donors)
    if condition.tool_choice not in ("auto", "none", "required", *names):
        there_are = f"the condition's tools are {', '.join(names)}" if names else "the condition has no tools"
        raise InputError(
            f"conditions: {condition.name}: tool_choice = {condition.tool_choice!r} names none of its tools",
            hint=f"{there_are}; or write 'auto', 'none' or 'required'",
            code="unknown_tool",
        )
