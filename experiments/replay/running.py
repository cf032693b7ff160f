"""Opens the environment of replays (tools, sandbox, models, substituted outputs) and runs them."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from toolablate.agents import AgentResult, ChatModel, ModelSource, RetryPolicy, resume_agent
from toolablate.agents.session import Tools
from toolablate.agents.spending import spent
from toolablate.benchmarks.prompt import question_input
from toolablate.experiments.environment.agents import OpenedAgent, TakenUp, open_agents
from toolablate.experiments.environment.environment import (
    TriedSandbox,
    needed,
    open_documents,
    open_tried_sandbox,
    open_untried_sandbox,
    servers_needed,
    work_files,
)
from toolablate.experiments.environment.placebo_sources import (
    open_placebo_sources,
    placebo_fingerprint,
    read_results,
    require_results,
)
from toolablate.experiments.environment.web import OpenedWeb, asks_the_web, guard_for, offline, open_web
from toolablate.experiments.plans.plan import Plan, PlannedTrial
from toolablate.experiments.replay.changes import is_faulty, swapped_call, was_made_to_fail
from toolablate.experiments.replay.replayed_tools import (
    PAGES_OF,
    BarredTools,
    LookupKind,
    PlaceboStandIn,
    RecordedResults,
    ReplayedTools,
    StoredPages,
    StoredSearch,
    UnrecordedPages,
    UnrecordedSearch,
    UnrecordedTool,
    given_results,
    rebuild,
)
from toolablate.experiments.replay.requests import (
    Content,
    ForkedTrial,
    Parent,
    Stage,
    StagedScope,
    joined,
)
from toolablate.experiments.running.execution import Executor, RecordEvent
from toolablate.experiments.running.progress import RunProgress
from toolablate.experiments.running.runner import StopSwitch
from toolablate.tools import (
    TOOLSETS,
    OpenedTool,
    Resources,
    ToolResult,
    Toolset,
    expanded_uses,
    open_archive,
    open_interventions,
    open_tools,
    resource_of,
)
from toolablate.tools.guards.guard import Guard
from toolablate.tools.interventions import InterventionSetting
from toolablate.tools.placebo_sources import PlaceboSource, PlaceboSources
from toolablate.tools.python import no_files
from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError, InternalError
from toolablate.traces.records import (
    Condition,
    Environment,
    Event,
    InterventionUse,
    Repair,
    ReplayChange,
    Rerun,
    ScriptedModel,
    ServedModel,
    Swap,
    ToolCall,
    ToolUse,
    clean_text,
)
from toolablate.traces.store.digests import Written

_LOOKED_UP: Mapping[str | None, LookupKind] = {"search": "search", "pages": "page"}
_BUILT_IN = frozenset(name for names in TOOLSETS.values() for name in names)


@dataclass(frozen=True, slots=True)
class OpenedTools:
    """The tools of one trial, those that can be asked and substitutes for the others.

    `coding` names those that run code, `askable` those that can be asked. `kept_up` are those whose calls are made
    although their results are recorded, since later ones depend on them or nothing is asked of anyone; `rebuilt` those
    of which this is so before the event.
    """

    tools: tuple[OpenedTool, ...]
    setting: InterventionSetting
    coding: frozenset[str]
    askable: frozenset[str]
    kept_up: frozenset[str]
    rebuilt: frozenset[str]

    def toolset(self, interventions: Sequence[InterventionUse]) -> Toolset:
        return Toolset([each.tool for each in self.tools], open_interventions(interventions, self.setting))

    def across(self, before: Sequence[InterventionUse], after: Sequence[InterventionUse]) -> tuple[Toolset, Stage]:
        """With the interventions of the record until the stage is over, and with others from then on. One that is among
        both goes on counting its calls."""
        stage, uses = Stage(), joined(before, after)
        opened = open_interventions(uses, self.setting)
        staged = [
            replace(applied, scope=StagedScope(applied.scope, stage, before=use in before, after=use in after))
            for use, applied in zip(uses, opened, strict=True)
        ]
        return Toolset([each.tool for each in self.tools], staged), stage


@dataclass(frozen=True, slots=True)
class ReplayEnvironment:
    """`asked` are the parts of `Resources` that may be asked for what is not recorded, None among them for functions of
    the user's own; `recorded` those of these that reach nothing outside of this machine; `anew` those that are asked
    for the sake of a placebo, which an archive has nothing for. `own_results` names the tools whose placebos come from
    the store that is replayed. `web` is what of it is open."""

    plan: Plan
    resources: Resources
    tried: TriedSandbox | None
    placebo_sources: PlaceboSources | None
    asked: frozenset[str | None]
    recorded: frozenset[str | None]
    anew: frozenset[str | None]
    own_results: frozenset[str] = frozenset()
    agents: Mapping[str, OpenedAgent] = field(default_factory=dict)
    web: OpenedWeb = field(default_factory=OpenedWeb)

    def open_tools(self, parent: Parent, condition: Condition, swapped: Sequence[InterventionUse] = ()) -> OpenedTools:
        """For a trial that goes on from the parent under a condition; `swapped` are more interventions than it has."""
        # Those that may not be asked still say which calls do not fit them, as they did in the record.
        at_rest = {*self.asked, "search", "pages", "documents", "agent", None}
        agent = self.agents.get(parent.model.name)
        resources = agent.resources(self.resources) if agent else self.resources
        uses = [use for use in expanded_uses(condition.tools) if resource_of(use) in at_rest]
        guard = guard_for(parent.question, self.plan.web)
        files = work_files(parent.question, self.plan.questions.files_folder, condition)
        # What an agent keeps to itself is asked of nobody, and later steps depend on it.
        kept = {each.call.name for each in parent.conversation if isinstance(each, ToolCall) and each.to_state}
        opened = [
            each if each.tool.spec.name in kept else self._as_allowed(each)
            for each in open_tools(uses, resources, files, guard, parent.question)
        ]
        there = {each.tool.spec.name for each in opened}
        opened += [OpenedTool(UnrecordedTool(spec), "mcp") for spec in parent.specs if spec.name not in there]
        by_name = {each.tool.spec.name: each.resource for each in opened}
        stand_ins = self._stand_ins(
            parent, opened, uses, guard, (*parent.condition.interventions, *condition.interventions, *swapped)
        )
        opened = [replace(each, tool=stand_ins.get(each.tool.spec.name, each.tool)) for each in opened]
        at_hand = {name for name in there if by_name[name] in self.recorded}
        paged = {name for name in there if by_name[name] in ("pages", "documents") and by_name[name] in self.asked}
        coding = {name for name in there if by_name[name] == "sandbox"}
        stateful = coding | paged
        return OpenedTools(
            tuple(opened),
            InterventionSetting(
                tuple(each.tool.spec.name for each in opened if each.is_outside),
                parent.question,
                parent.origin.id,
                tuple(by_name),
                placebo_sources=self.placebo_sources.under(parent.question, guard) if self.placebo_sources else None,
            ),
            frozenset(coding),
            askable=frozenset(name for name in there if by_name[name] in self.asked and name not in stand_ins),
            kept_up=frozenset(stateful | at_hand | kept),
            rebuilt=frozenset(stateful | at_hand if condition.interventions else stateful),
        )

    def _stand_ins(
        self,
        parent: Parent,
        opened: Sequence[OpenedTool],
        uses: Sequence[ToolUse],
        guard: Guard,
        interventions: Sequence[InterventionUse],
    ) -> dict[str, PlaceboStandIn]:
        """By name, in place of the tools that a placebo is for and that are not asked for its sake."""
        chosen = [use.options.get("tools") for use in interventions if use.name == "placebo"]
        wanted = [
            each
            for each in opened
            if each.resource not in self.anew
            and any(names is None or (isinstance(names, list) and each.tool.spec.name in names) for names in chosen)
        ]
        if self.placebo_sources is None or not wanted:
            return {}
        given, sources = given_results(parent.conversation), self.placebo_sources.under(parent.question, guard)
        stored = Resources(search=StoredSearch(given, sources), pages=StoredPages(given, sources))
        of_web = [use for use in uses if resource_of(use) in _LOOKED_UP]
        web = {each.tool.spec.name: each.tool for each in open_tools(of_web, stored, no_files, guard)}
        return {
            (name := each.tool.spec.name): PlaceboStandIn(
                UnrecordedTool(each.tool.spec, _LOOKED_UP.get(each.resource, "mcp"), each.tool),
                given,
                sources,
                "this store" if PAGES_OF.get(name, name) in self.own_results else self.plan.placebo.store,
                web.get(name),
            )
            for each in wanted
        }

    def _as_allowed(self, opened: OpenedTool) -> OpenedTool:
        if opened.resource in self.asked:
            return opened
        kind = _LOOKED_UP.get(opened.resource, "mcp")
        return replace(opened, tool=UnrecordedTool(opened.tool.spec, kind, opened.tool))


async def open_replay_environment(
    plan: Plan,
    conditions: Sequence[Condition],
    stack: AsyncExitStack,
    *,
    live: bool,
    tried: bool = True,
    lent: OpenedWeb | None = None,
) -> ReplayEnvironment:
    """Opens what the tools of these conditions need, for no placebos yet; the stack closes it. Without `live` nothing
    is asked that a plan in replay would not ask. The sandbox is `tried` where replays run here. What is `lent` of the
    web is open elsewhere. Raises ToolablateError for what cannot be had."""
    parts = needed(conditions)
    plan, recorded = _at_rest(plan, parts) if not live else (plan, _recorded(plan))
    asked: frozenset[str | None] = (
        frozenset({"sandbox", "search", "pages", "mcp", "documents", "agent", None}) if live else recorded
    )
    servers = servers_needed(conditions) if "mcp" in asked else ()
    lent = lent or OpenedWeb()
    wanted = frozenset(part for part in parts if part in asked)
    web = lent.before(await open_web(plan, wanted - lent.parts, stack, servers=servers))
    sandbox = await open_tried_sandbox(plan, conditions, stack) if tried else None
    resources = Resources(
        sandbox.sandbox if sandbox else None if tried else open_untried_sandbox(plan, conditions, stack),
        web.search or UnrecordedSearch(),
        web.pages or UnrecordedPages(),
        web.mcp,
        open_documents(conditions, stack),
    )
    at_hand = {"sandbox", "documents", *(("search", "pages") if offline(plan) else ())}
    anew = asked if live else frozenset(at_hand)
    return ReplayEnvironment(
        plan, resources, sandbox, None, asked, recorded, anew, agents=open_agents(plan, conditions), web=web
    )


async def with_placebo_sources(
    replay_environment: ReplayEnvironment, conditions: Sequence[Condition]
) -> ReplayEnvironment:
    """For the placebos and adversaries of these conditions. Raises InputError where they can come from nowhere."""
    plan, anew = replay_environment.plan, replay_environment.anew
    sources = await open_placebo_sources(plan, conditions, replay_environment.resources)
    own: Mapping[str, Sequence[PlaceboSource]] = {}
    if sources is not None and any(_swaps_others(each, anew) for each in conditions):
        found = await asyncio.to_thread(_own_results, Path(plan.store), anew)
        own = {tool: results for tool, results in found.items() if tool not in sources.kept}
        sources = replace(sources, kept={**sources.kept, **own})
    return replace(replay_environment, placebo_sources=sources, own_results=frozenset(own))


def _swaps_others(condition: Condition, anew: AbstractSet[str | None]) -> bool:
    """Whether it has placebos, and tools whose placebos come from a store."""
    placebos = any(use.name == "placebo" for use in condition.interventions)
    from_store = {"search", "pages", "mcp", "agent", None} - (anew & {"search", "pages"})
    return placebos and any(resource_of(use) in from_store for use in expanded_uses(condition.tools))


def _own_results(store: Path, anew: AbstractSet[str | None]) -> dict[str, list[PlaceboSource]]:
    """What worked of the results in the store that is replayed, by tool: of the user's own tools, and of searches and
    pages where these are not asked. For what code prints there is a bank."""
    left_out = _BUILT_IN if anew & {"search", "pages"} else {"python"}
    found = {name: [each for each in kept if not each.error] for name, kept in read_results(store).items()}
    return {name: kept for name, kept in found.items() if kept and name not in left_out}


def _recorded(plan: Plan) -> frozenset[str | None]:
    """The parts that need nobody but this machine."""
    looked_up = {"search", "pages"} if offline(plan) or plan.web.mode == "replay" else set[str]()
    return frozenset({"sandbox", "documents", *looked_up, *({"mcp"} if plan.web.mode == "replay" else ())})


def _at_rest(plan: Plan, parts: frozenset[str]) -> tuple[Plan, frozenset[str | None]]:
    """A plan that records replays what it has recorded by now, once that is sealed."""
    if plan.web.mode == "record" and asks_the_web(plan, parts) and _is_sealed(Path(plan.web.archive)):
        plan = plan.model_copy(update={"web": plan.web.model_copy(update={"mode": "replay"})})
    return plan, _recorded(plan)


def _is_sealed(folder: Path) -> bool:
    try:
        with open_archive(folder) as archive:
            return archive.sealed
    except InputError:
        return False


# Runs trials that go on from an event of another one.


_DRAW_DIGITS = 12


@dataclass(frozen=True, slots=True)
class ReplayExecutor:
    """An `Executor` of the trials of counterfactuals, which `forked` has by the ids of their conditions. `missed` takes
    the name of the tool for each call that was not recorded and that nobody may be asked for."""

    forked: Mapping[str, ForkedTrial]
    replay_environment: ReplayEnvironment
    sources: Mapping[str, ModelSource]
    environment: Environment
    retry: RetryPolicy
    missed: list[str] = field(default_factory=list)

    async def run(self, planned: PlannedTrial, record: Callable[[Event], None]) -> AgentResult:
        forked = self.forked.get(planned.trial.condition)
        if forked is None:
            raise InternalError(f"this executor runs no trials of {planned.condition.name!r}")
        if not forked.calls:
            return await self._go_on(forked, planned, BarredTools(forked.parent.specs), record)
        assert forked.resumption is not None
        parent, before, change = forked.parent, forked.start.before, forked.resumption.change
        opened = self.replay_environment.open_tools(parent, forked.condition)
        toolset, stage = opened.across(parent.condition.interventions, forked.condition.interventions)
        async with toolset:
            waiting = forked.start.messages[-1].tool_calls if forked.start.node == "act" else ()
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
            specs = toolset.specs if parent.model.name in self.replay_environment.agents else parent.specs
            tools = ReplayedTools(specs, toolset, recorded, opened.kept_up, swapped)
            try:
                return await self._go_on(forked, planned, tools, record)
            finally:
                self.missed.extend(tools.missed)

    async def _go_on(
        self, forked: ForkedTrial, planned: PlannedTrial, tools: Tools, record: Callable[[Event], None]
    ) -> AgentResult:
        parent, model = forked.parent, forked.parent.model
        price = model.price if isinstance(model, ServedModel) else None
        agent = self.replay_environment.agents.get(model.name)
        if agent is not None:
            assert forked.resumption is not None
            return await agent.run(
                prompt=question_input(parent.question, parent.condition).prompt,
                images=parent.question.images,
                taken_up=TakenUp(forked.start, parent.conversation, forked.resumption.change),
                model=self._chat(forked, planned),
                condition=forked.condition,
                tools=tools,
                record=record,
                price=price,
                retry=self.retry,
                seed=planned.trial.id,
            )
        return await resume_agent(
            start=forked.start,
            model=self._chat(forked, planned),
            condition=forked.condition,
            tools=tools,
            record=record,
            price=price,
            retry=self.retry,
            seed=planned.trial.id,
        )

    def _chat(self, forked: ForkedTrial, planned: PlannedTrial) -> ChatModel:
        """A script has its replies under the names of the trial of a plan. Recorded replies are found by
        the number of the draw: that of a trial of a plan would give its reply again, where another is wanted."""
        parent, source = forked.parent, self.sources[forked.parent.model.name]
        if isinstance(parent.model, ScriptedModel):
            return source.session(parent.question, parent.arm, parent.origin.repeat)
        if isinstance(parent.model, ServedModel):
            return source.session(parent.question, forked.condition, int(planned.trial.id[:_DRAW_DIGITS], 16))
        return source.session(parent.question, forked.condition, planned.trial.repeat)


def _is_unwanted(change: ReplayChange, opened: OpenedTools, recorded: ToolCall) -> bool:
    """Whether the change wants this result from the tool itself, or from what stands in for it."""
    if not isinstance(change, Rerun):
        return False
    name = recorded.call.name
    if name in change.tools:
        return True
    may_work = name in opened.askable or was_made_to_fail(recorded)
    return change.sound and may_work and is_faulty(recorded, opened.coding)


# Keeps what replays really cost within what is allowed: an estimate goes by what was recorded, and may be wrong.


@dataclass(slots=True)
class Cap:
    """Asks for a stop once trials have cost more than `max_cost`, in US dollars; those in flight end in their own time.
    What is of unknown cost is not counted."""

    max_cost: float | None
    progress: RunProgress
    stop: StopSwitch = field(default_factory=StopSwitch)
    spent: float = 0.0

    def note(self, cost: float | None) -> None:
        self.spent += cost or 0.0
        if self.max_cost is None or self.spent <= self.max_cost or self.stop.stopped:
            return
        self.stop.stop()
        self.progress.warn(
            f"--max-cost: ${self.spent:.4g} spent, more than estimated, of ${self.max_cost:.4g} allowed: no more trials"
            " are started"
        )


@dataclass(frozen=True, slots=True)
class CappedExecutor:
    """An `Executor` whose trials are paid from what is allowed."""

    inner: Executor
    cap: Cap

    @property
    def environment(self) -> Environment:
        return self.inner.environment

    async def run(self, planned: PlannedTrial, record: RecordEvent) -> AgentResult:
        events: list[Event] = []

        def noted(event: Event, written: Written | None = None) -> None:
            events.append(event)
            record(event, written)

        try:
            result = await self.inner.run(planned, noted)
        except BaseException:
            # What it asked for until then was paid for.
            self.cap.note(spent(events)[1])
            raise
        self.cap.note(result.cost_usd)
        return result


# What is shown in place of a result: nothing, the right answer, a wrong one, or a result of another question.


SUBSTITUTES = {"null": "sham", "placebo": "placebo", "gold": "oracle", "adversarial": "adversarial"}
"""The interventions that say it, by what a swap calls it."""


async def swap_of(content: Content, recorded: ToolCall, before: tuple[Event, ...], opened: OpenedTools) -> Swap:
    """The swap of a recorded call's result for what the substitute of this name gives. A placebo is made from the real
    result: the recorded one, or, of a tool that may be asked, that of the call made again. Raises InputError;
    ToolError, SandboxError."""
    if content == "placebo":
        async with opened.toolset(()) as toolset:
            await rebuild(toolset, before, opened.rebuilt)
            result = await _substituted(content, recorded, opened)
    else:
        result = await _substituted(content, recorded, opened)
    if result.status == "invalid":
        raise InputError(
            f"--swap {content}: the call does not fit its tool, which never gave a result: {result.output}",
            hint="--swap FILE shows any text",
            code="invalid_call",
        )
    return Swap(content=content, text=clean_text(result.output))


async def _substituted(content: Content, recorded: ToolCall, opened: OpenedTools) -> ToolResult:
    return await opened.toolset((InterventionUse(name=SUBSTITUTES[content]),)).call(recorded.call)


# Whether placebos can be had for the tools of a trial that is forked.


def refuse_without_placebo(forked: ForkedTrial, replay_environment: ReplayEnvironment) -> None:
    """Raises InputError where a `Rerun` wants placebos of a tool of which nobody has results under other questions."""
    change = forked.resumption.change if forked.resumption else None
    if not isinstance(change, Rerun) or change.substitute != "placebo" or not forked.calls:
        return
    opened, sources = replay_environment.open_tools(forked.parent, forked.condition), replay_environment.placebo_sources
    asked = [name for name in change.tools if name in _BUILT_IN and name in opened.askable]
    if sources is not None:
        require_results(forked.condition, asked, replace(sources, asked=(forked.parent.question,)))
    _require_source(replay_environment.plan, forked.condition, asked)
    gave = {each.call.name for each in given_results(forked.parent.conversation) if each.reply.status == "ok"}
    for name in change.tools:
        if name in gave and name not in asked:
            refuse_without_other_result(name, forked.parent, replay_environment)


def refuse_without_other_result(tool: str, parent: Parent, replay_environment: ReplayEnvironment) -> None:
    """Raises InputError where nothing is kept that the tool gave under a question that is another one."""
    sources = replay_environment.placebo_sources
    name = PAGES_OF.get(tool, tool)
    if sources is None or replace(sources, asked=(parent.question,)).without(name, from_questions=False) is None:
        return
    raise InputError(
        f"placebo: no result of {one_line(name, 80)!r} for another question than {one_line(parent.question.id, 80)!r}:"
        " the store has none that worked under other words and of another cluster",
        hint="run more questions with this tool into this store; or name an earlier run's store in the plan, [placebo]"
        ' with store = "pilot.sqlite", and run the plan once more: the store keeps the plan of the last run',
        code="no_placebo_source",
    )


def _require_source(plan: Plan, condition: Condition, tools: Collection[str]) -> None:
    """Of the built-in tools that are asked; others have their results from a store alone."""
    uses = (use for use in expanded_uses(condition.tools) if resource_of(use) not in ("mcp", None))
    named = tuple(use for use in uses if use.name in tools or (tools and resource_of(use) == "search"))
    placebo_fingerprint(plan, [condition.model_copy(update={"tools": named})])
