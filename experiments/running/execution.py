"""Where a trial runs, and who may have a kernel."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from toolablate.agents import AgentResult, Line, ModelSource, RetryPolicy, run_agent
from toolablate.agents.spending import batched_price, goes_in_batches
from toolablate.benchmarks.prompt import question_input
from toolablate.experiments.environment.agents import OpenedAgent, open_agents
from toolablate.experiments.environment.environment import (
    needed,
    open_documents,
    open_tried_sandbox,
    recorded_environment,
    servers_needed,
    unbounded,
    work_files,
)
from toolablate.experiments.environment.placebo_sources import open_placebo_sources, require_results
from toolablate.experiments.environment.replies import asked_lines, open_sources
from toolablate.experiments.environment.web import OpenedWeb, Tell, guard_for, open_web, silent
from toolablate.experiments.plans.plan import Plan, PlannedTrial
from toolablate.experiments.plans.sections import WebSection
from toolablate.tools import Resources, open_toolset
from toolablate.traces.errors import InputError, ToolablateError
from toolablate.traces.records import Condition, Environment, Event, Model, Price, Question, ServedModel
from toolablate.traces.store.digests import Written

if TYPE_CHECKING:
    from toolablate.agents.batches import Batches
    from toolablate.tools.placebo_sources import PlaceboSources


class RecordEvent(Protocol):
    """Takes the events of a trial, in order, as they happen; `written` is what the store keeps of one, where whoever
    ran the trial has made it already."""

    def __call__(self, event: Event, written: Written | None = None) -> None: ...


class Executor(Protocol):
    """Runs trials somewhere. It has opened the environment of a plan (models, tools, sandbox, web) for all of them."""

    @property
    def environment(self) -> Environment:
        """What trials run on here."""
        ...

    async def run(self, planned: PlannedTrial, record: RecordEvent) -> AgentResult:
        """Runs a trial; its events go to `record` in order, as they happen. Ends soon where it is cancelled.

        Raises ToolablateError where the trial could not be run.
        """
        ...


class RunExecutor(Executor, Protocol):
    """What runs all trials of a run."""

    @property
    def kernels(self) -> int:
        """How many trials with a kernel may run at once."""
        ...

    @property
    def retries(self) -> int:
        """How often a trial whose attempt was lost is tried again."""
        ...

    async def admit(self, planned: PlannedTrial) -> None:
        """Until there is something that can run the trial: no time of the trial's own. Raises ExecutorGoneError."""

    def batched(self, planned: PlannedTrial) -> bool:
        """Whether a trial waits for a batch, so that any number may be in flight, for a day."""
        ...


class Opens(Protocol):
    """As `open_executor`; the trials may run elsewhere."""

    async def __call__(
        self,
        plan: Plan,
        conditions: Sequence[Condition],
        fingerprint: Mapping[str, str],
        stack: AsyncExitStack,
        *,
        lines: Mapping[str, Line],
        tell: Tell,
        warn: Tell,
        batches: "Batches | None",
    ) -> RunExecutor: ...


class AttemptLostError(ToolablateError):
    """What ran the trial is gone, which says nothing of the trial: it can be run again elsewhere."""

    boundary = "runner"


class ExecutorGoneError(ToolablateError):
    """There is nothing any more that could run trials: it ends the run, whose other trials are missing, not failed."""

    boundary = "runner"


# Trials in this process, on its event loop.


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """An `Executor` with everything that the trials of a plan share, opened."""

    sources: Mapping[str, ModelSource]
    resources: Resources
    environment: Environment
    retry: RetryPolicy
    files_folder: Path
    web: WebSection
    placebo_sources: "PlaceboSources | None"
    kernels: int
    agents: Mapping[str, OpenedAgent] = field(default_factory=dict)
    batches: "Batches | None" = None
    retries: int = 0

    async def admit(self, planned: PlannedTrial) -> None:
        """This process can."""

    def batched(self, planned: PlannedTrial) -> bool:
        return self.batches is not None and goes_in_batches(planned.model, planned.condition)

    async def run(self, planned: PlannedTrial, record: Callable[[Event], None]) -> AgentResult:
        question, condition = planned.question, planned.condition
        model = self.sources[planned.model.name].session(question, condition, planned.trial.repeat)
        agent = self.agents.get(planned.model.name)
        opened = open_toolset(
            condition.tools,
            agent.resources(self.resources) if agent else self.resources,
            work_files(question, self.files_folder, condition),
            guard=guard_for(question, self.web),
            interventions=condition.interventions,
            question=question,
            seed=planned.trial.id,
            placebo_sources=self.placebo_sources,
        )
        asked = question_input(question, condition)
        price, retry = _price(planned.model), self.retry
        if self.batched(planned):
            # What a batch refused has waited long enough; there is no line in which more is waited.
            price, retry = batched_price(planned.model), replace(retry, paced=False)
        async with opened as tools:
            return await (agent.run if agent is not None else run_agent)(
                prompt=asked.prompt,
                images=question.images,
                model=model,
                condition=condition,
                tools=tools,
                record=record,
                price=price,
                retry=retry,
                seed=planned.trial.id,
                input_cut=asked.cut,
            )


def _price(model: Model) -> Price | None:
    return model.price if isinstance(model, ServedModel) else None


async def open_executor(
    plan: Plan,
    conditions: Sequence[Condition],
    fingerprint: Mapping[str, str],
    stack: AsyncExitStack,
    *,
    lines: Mapping[str, Line] | None = None,
    tell: Tell = silent,
    warn: Tell = silent,
    batches: "Batches | None" = None,
    lent: OpenedWeb | None = None,
    questions: Sequence[Question] | None = None,
) -> LocalExecutor:
    """Opens what trials under these conditions of the plan need; the stack closes it. `fingerprint` is what the run
    says of itself; requests wait in `lines`, those of `asked_lines`. `tell` hears of what may take a while, `warn` of
    what a user should know. Without `batches`, models that may be asked so are asked directly. What is
    `lent` of the web is open elsewhere, and not opened here; `questions` are all of the plan's file, if they are read.

    Raises ToolablateError for what cannot be had.
    """
    lent = lent or OpenedWeb()
    opened = await open_web(plan, needed(conditions) - lent.parts, stack, servers=servers_needed(conditions), tell=tell)
    web = lent.before(opened)
    for warning in web.warnings:
        warn(warning)
    if "sandbox" in needed(conditions):
        if (roughly := unbounded(plan.sandbox.backend)) is not None:
            warn(f"{roughly.reason}. To bound it: {roughly.remedy or 'run as root'}")
        tell(f"Starting the sandbox ({plan.sandbox.backend}) ...")
    tried = await open_tried_sandbox(plan, conditions, stack)
    documents = open_documents(conditions, stack)
    resources = Resources(tried.sandbox if tried else None, web.search, web.pages, web.mcp, documents)
    placebo_sources = await open_placebo_sources(plan, conditions, resources, questions)
    lines = asked_lines(plan) if lines is None else lines
    sources = await open_sources(plan, fingerprint, stack, lines, warn, batches)
    agents = open_agents(plan, conditions)
    for condition in conditions:
        for model in plan.models:
            agent = agents.get(model.name)
            with _of_model(model, condition, told=bool(agents)):
                _check_tools(condition, agent.resources(resources) if agent else resources, placebo_sources)
    return LocalExecutor(
        sources=sources,
        resources=resources,
        environment=recorded_environment(tried, fingerprint),
        retry=retry_policy(plan),
        files_folder=plan.questions.files_folder,
        web=plan.web,
        placebo_sources=placebo_sources,
        kernels=plan.runner.kernels,
        agents=agents,
        batches=batches,
    )


def retry_policy(plan: Plan) -> RetryPolicy:
    """Of requests that wait in line."""
    return RetryPolicy(attempts=plan.runner.attempts, paced=True)


@contextmanager
def _of_model(model: Model, condition: Condition, *, told: bool) -> Iterator[None]:
    """What is refused inside says of which model, where models have tools of their own."""
    try:
        yield
    except InputError as error:
        if not told:
            raise
        about = f"conditions: {condition.name!r}: model {model.name!r}: {error.message}"
        raise InputError(about, hint=error.hint, code=error.code) from None


def _check_tools(condition: Condition, resources: Resources, placebo_sources: "PlaceboSources | None") -> None:
    """Only a server that has been listed knows its tools; nothing is started by this."""
    tools = open_toolset(condition.tools, resources, interventions=condition.interventions)
    names = [spec.name for spec in tools.specs]
    require_results(condition, names, placebo_sources)
    if condition.tool_choice not in ("auto", "none", "required", *names):
        there_are = f"the condition's tools are {', '.join(names)}" if names else "the condition has no tools"
        raise InputError(
            f"conditions: {condition.name}: tool_choice = {condition.tool_choice!r} names none of its tools",
            hint=f"{there_are}; or write 'auto', 'none' or 'required'",
            code="unknown_tool",
        )


# Who may have a kernel: a plan's kernels are shared out among the models that have trials left which need one.


class KernelShares:
    """`left` is how many trials that need a kernel each model has, `at_once` how many of its trials can run at the same
    time.

    An equal share, rounded down, is kept for each of these models, so that those which hang hold up no other; of it no
    more than the model can use. What is not kept is lent, trial by trial. Where there are fewer kernels than models
    they take turns with one each, and those that hang can hold up the others until their trials end or are given up.
    """

    def __init__(self, kernels: int, left: Mapping[str, int], at_once: Mapping[str, int] | None = None) -> None:
        self._kernels = kernels
        self._at_once = at_once or {}
        self._left = Counter(left)
        self._held: Counter[str] = Counter()
        # The one that was served longest ago comes first.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {model: deque() for model in left}

    @asynccontextmanager
    async def place(self, model: str) -> AsyncIterator[None]:
        """For as long as a trial lasts; a model's trials are served in the order in which they came."""
        called = asyncio.get_running_loop().create_future()
        self._waiting[model].append(called)
        self._serve()
        try:
            await called
        except asyncio.CancelledError:
            if called.done() and not called.cancelled():
                self._held[model] -= 1
            self._serve()
            raise
        try:
            yield
        finally:
            self._held[model] -= 1
            self._serve()

    def done(self, model: str, trials: int = 1) -> None:
        """So many trials of a model ended or were given up; what it does not need is the others'."""
        self._left[model] -= trials
        self._serve()

    def _serve(self) -> None:
        while self._held.total() < self._kernels and (model := self._next()) is not None:
            self._held[model] += 1
            self._waiting[model].popleft().set_result(None)
            self._waiting[model] = self._waiting.pop(model)

    def _next(self) -> str | None:
        """The one that holds the fewest of those that wait and may have a place."""
        for waiting in self._waiting.values():
            while waiting and waiting[0].done():
                waiting.popleft()
        kept = self._kept()
        free = self._kernels - self._held.total()
        may = (
            model for model, waiting in self._waiting.items() if waiting and (kept[model] > 0 or free > kept.total())
        )
        return min(may, key=self._held.__getitem__, default=None)

    def _kept(self) -> Counter[str]:
        """How many kernels are kept for each model that has not got its share."""
        needing = {model: left for model, left in self._left.items() if left > 0}
        share = max(1, self._kernels // max(len(needing), 1))
        lacking = {
            model: min(share, left, self._at_once.get(model, left)) - self._held[model]
            for model, left in needing.items()
        }
        return Counter({model: lacks for model, lacks in lacking.items() if lacks > 0})
