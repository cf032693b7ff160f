"""The driver's side of replays on a cluster: one fleet for all batches of a command, whatever plans they are of."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.agents import AgentResult, Line
from toolablate.experiments.cluster.messages import Keep
from toolablate.experiments.cluster.opening import absolute, open_fleet, own_store
from toolablate.experiments.environment.environment import recorded_environment
from toolablate.experiments.environment.replies import asked_lines
from toolablate.experiments.plans.plan import Plan, PlannedTrial
from toolablate.experiments.plans.sections import ClusterSection
from toolablate.experiments.replay.kept_open import KeptOpen
from toolablate.experiments.replay.on_workers import (
    EndedReplay,
    PlanOfReplays,
    ReplayOpener,
    SentReplay,
    WorkersEnvironment,
    line_of,
    replays_fingerprint,
)
from toolablate.experiments.replay.requests import ForkedTrial, Group
from toolablate.experiments.running.progress import RunProgress
from toolablate.tools import intervention_sources
from toolablate.traces.errors import InputError
from toolablate.traces.records import REPLIES, Condition, Environment, Event, Model, canonical_json

if TYPE_CHECKING:
    from toolablate.experiments.cluster.fleet import FleetExecutor


@dataclass(frozen=True, slots=True)
class _Need:
    """Of the plan at `place`: a model that is asked, or a condition whose tools are called."""

    place: int
    plan: Plan
    of: Model | Condition


class ReplayFleet:
    """Workers that are started where a batch first has something to run, and serve those after it."""

    def __init__(self, section: ClusterSection, store: Path, progress: RunProgress, *, live: bool) -> None:
        self._section = section
        self._store = store
        self._progress = progress
        self._live = live
        # Each plan is read once, and told apart by that.
        self._places: dict[int, int] = {}
        self._lines: dict[str, Line] = {}
        self._fleet = KeptOpen(self._open)

    @property
    def is_open(self) -> bool:
        return bool(self._fleet.opened)

    async def fit_for(self, groups: Sequence[tuple[Group, Sequence[Condition]]]) -> "dict[int, PlanOnFleet]":
        """What runs the replays of each group, in their order; the conditions are those whose needs are to be opened.
        Raises ToolablateError."""
        needs: dict[str, _Need] = {}
        for group, conditions in groups:
            _refuse_what_has_one_owner(group.fingerprint, live=self._live)
            place = self._place(group)
            needs |= {f"{place} model {each.name}": _Need(place, group.plan, each) for each in group.plan.models}
            needs |= {f"{place} {_opened_for(each)}": _Need(place, group.plan, each) for each in conditions}
        if not needs:
            return {}
        fleet = await self._fleet.fit_for(needs)
        return {id(group): PlanOnFleet(fleet, self._place(group), self._lines) for group, _ in groups}

    async def close(self) -> None:
        await self._fleet.close()

    def _place(self, group: Group) -> int:
        return self._places.setdefault(id(group.whole), len(self._places))

    async def _open(self, needs: Sequence[_Need], stack: AsyncExitStack) -> "FleetExecutor":
        wanted = sorted({each.place for each in needs})
        plans = {place: _plan_of([each for each in needs if each.place == place]) for place in wanted}
        for place, each in plans.items():
            self._lines |= {line_of(place, name): line for name, line in asked_lines(each.plan).items()}
        own_store(self._section, self._store, stack)
        return await open_fleet(
            self._section,
            self._store,
            ReplayOpener(plans, self._live),
            self._lines,
            stack,
            tell=self._progress.tell,
            warn=self._progress.warn,
            codes=lambda planned: isinstance(planned, SentReplay) and planned.codes,
        )


def _plan_of(needs: Sequence[_Need]) -> PlanOfReplays:
    conditions = tuple(each.of for each in needs if isinstance(each.of, Condition))
    models = tuple(each.of for each in needs if not isinstance(each.of, Condition))
    plan = needs[-1].plan.model_copy(update={"models": models})
    return PlanOfReplays(plan, conditions, replays_fingerprint(plan, conditions), absolute(plan.file))


def _opened_for(condition: Condition) -> str:
    """Workers are started anew for other tools and for other code of the user's own, not for what is built in."""
    tools = [use.model_dump(mode="json") for use in condition.tools]
    return canonical_json([tools, sorted(intervention_sources(condition.interventions))])


def _refuse_what_has_one_owner(fingerprint: Mapping[str, str], *, live: bool) -> None:
    """As of trials. Nothing of the web is live or recorded but where replays may ask it."""
    web = fingerprint.get("web", "")
    refused = {
        "a recording of replies": fingerprint.get(REPLIES, "").startswith("record"),
        "the live web (--live)": live and web.startswith(("record", "live")),
        "MCP servers (--live)": live and any(name.startswith("mcp ") for name in fingerprint) and web[:6] != "replay",
    }
    if found := [what for what, is_there in refused.items() if is_there]:
        raise InputError(
            f"cluster: {' and '.join(found)} cannot be on a cluster yet",
            hint="replay on one machine: --cluster none",
            code="not_on_cluster",
        )


@dataclass(frozen=True, slots=True)
class PlanOnFleet:
    """What runs replays of one plan's trials. Requests of workers wait in `lines`, those of the last batch."""

    fleet: "FleetExecutor"
    place: int
    lines: dict[str, Line]

    def executor(
        self,
        forked: Mapping[str, ForkedTrial],
        coding: frozenset[str],
        placebos: Keep | None,
        fingerprint: Mapping[str, str],
        lines: Mapping[str, Line],
        *,
        sandboxed: bool,
    ) -> "SendingExecutor":
        """`forked` and `coding` are by the ids of conditions, `lines` those of the plan; `sandboxed` tells whether any
        of these replays stands on the sandbox."""
        self.lines.update({line_of(self.place, name): line for name, line in lines.items()})
        found = self.fleet.environment
        assert isinstance(found, WorkersEnvironment)
        there, here = found.of(self.place), recorded_environment(None, fingerprint)
        environment = Environment(**{**there.model_dump(exclude={"others"}), "search": here.search})
        if not sandboxed:
            environment = environment.model_copy(update={name: getattr(Environment(), name) for name in _OF_SANDBOX})
        return SendingExecutor(self.fleet, self.place, forked, coding, placebos, environment)


_OF_SANDBOX = ("sandbox", "sandbox_limits", "kernel_versions", "kernel_environment")


@dataclass(frozen=True, slots=True)
class SendingExecutor:
    """An `Executor` of replays that sends each with what the store has of its parent. `missed` is as of a
    `ReplayExecutor`."""

    fleet: "FleetExecutor"
    place: int
    forked: Mapping[str, ForkedTrial]
    coding: frozenset[str]
    placebos: Keep | None
    environment: Environment
    missed: list[str] = field(default_factory=list)

    async def run(self, planned: PlannedTrial, record: Callable[[Event], None]) -> AgentResult:
        condition, placebos = planned.trial.condition, self.placebos
        sent = SentReplay(
            planned.trial,
            planned.question,
            planned.model,
            planned.condition,
            self.place,
            self.forked[condition],
            placebos.digest if placebos else "",
            condition in self.coding,
        )
        ended = await self.fleet.run(sent, record, needs=(placebos,) if placebos else ())
        if isinstance(ended, EndedReplay):
            self.missed.extend(ended.missed)
        return ended
