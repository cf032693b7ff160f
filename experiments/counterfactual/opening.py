"""What the tools of a trial that is taken up again stand on: the plan's world, as far as it may be asked."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from toolablate.experiments.counterfactual.parent import Parent
from toolablate.experiments.counterfactual.staging import Stage, StagedScope, joined
from toolablate.experiments.counterfactual.unrecorded import (
    LookupKind,
    UnrecordedPages,
    UnrecordedSearch,
    UnrecordedTool,
)
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.world.donors import open_donors
from toolablate.experiments.world.guarding import guard_for
from toolablate.experiments.world.question_files import work_files
from toolablate.experiments.world.web import asks_the_web, offline, open_web
from toolablate.experiments.world.world import TriedSandbox, needed, open_tried_sandbox, servers_needed
from toolablate.tools import (
    OpenedTool,
    Resources,
    Toolset,
    expanded_uses,
    open_archive,
    open_interventions,
    open_tools,
    resource_of,
)
from toolablate.tools.donors import Donors
from toolablate.tools.interventions import Setting as InterventionSetting
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, InterventionUse

_LOOKED_UP: Mapping[str | None, LookupKind] = {"search": "search", "pages": "page"}


@dataclass(frozen=True, slots=True)
class OpenedTools:
    """The tools of one trial, those that can be asked and stand-ins for the others.

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
class ReplayWorld:
    """`asked` are the parts of `Resources` that may be asked for what is not recorded, None among them for functions of
    the user's own; `recorded` those of these that reach nothing outside of this machine."""

    plan: Plan
    resources: Resources
    tried: TriedSandbox | None
    donors: Donors | None
    asked: frozenset[str | None]
    recorded: frozenset[str | None]

    def open_tools(self, parent: Parent, condition: Condition) -> OpenedTools:
        # Those that may not be asked still say which calls do not fit them, as they did in the record.
        at_rest = {*self.asked, "search", "pages", None}
        uses = [use for use in expanded_uses(condition.tools) if resource_of(use) in at_rest]
        guard = guard_for(parent.question, self.plan.web)
        files = work_files(parent.question, self.plan.questions.files_folder)
        opened = [self._as_allowed(each) for each in open_tools(uses, self.resources, files, guard)]
        there = {each.tool.spec.name for each in opened}
        opened += [OpenedTool(UnrecordedTool(spec), "mcp") for spec in parent.specs if spec.name not in there]
        by_name = {each.tool.spec.name: each.resource for each in opened}
        at_hand = {name for name in there if by_name[name] in self.recorded}
        paged = {name for name in there if by_name[name] == "pages" and "pages" in self.asked}
        coding = {name for name in there if by_name[name] == "sandbox"}
        stateful = coding | paged
        return OpenedTools(
            tuple(opened),
            InterventionSetting(
                tuple(each.tool.spec.name for each in opened if each.is_outside),
                parent.question,
                parent.origin.id,
                tuple(by_name),
                donors=self.donors.under(parent.question, guard) if self.donors else None,
            ),
            frozenset(coding),
            askable=frozenset(name for name in there if by_name[name] in self.asked),
            kept_up=frozenset(stateful | at_hand),
            rebuilt=frozenset(stateful | at_hand if condition.interventions else stateful),
        )

    def _as_allowed(self, opened: OpenedTool) -> OpenedTool:
        if opened.resource in self.asked:
            return opened
        kind = _LOOKED_UP.get(opened.resource, "mcp")
        return replace(opened, tool=UnrecordedTool(opened.tool.spec, kind, opened.tool))


async def open_replay_world(
    plan: Plan, conditions: Sequence[Condition], stack: AsyncExitStack, *, live: bool
) -> ReplayWorld:
    """Opens what these conditions need; the stack closes it. Without `live` nothing is asked that a plan in replay
    would not ask. Raises ToolablateError for what cannot be had."""
    parts = needed(conditions)
    plan, recorded = _at_rest(plan, parts) if not live else (plan, _recorded(plan))
    asked: frozenset[str | None] = frozenset({"sandbox", "search", "pages", "mcp", None}) if live else recorded
    servers = servers_needed(conditions) if "mcp" in asked else ()
    web = await open_web(plan, frozenset(part for part in parts if part in asked), stack, servers=servers)
    tried = await open_tried_sandbox(plan, conditions, stack)
    resources = Resources(
        tried.sandbox if tried else None, web.search or UnrecordedSearch(), web.pages or UnrecordedPages(), web.mcp
    )
    donors = await open_donors(plan, conditions, resources)
    return ReplayWorld(plan, resources, tried, donors, asked, recorded)


def _recorded(plan: Plan) -> frozenset[str | None]:
    """The parts that need nobody but this machine."""
    looked_up = {"search", "pages"} if offline(plan) or plan.web.mode == "replay" else set[str]()
    return frozenset({"sandbox", *looked_up, *({"mcp"} if plan.web.mode == "replay" else ())})


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
