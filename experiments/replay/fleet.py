"""The driver's side of replays on a cluster: one fleet for all batches of a command, whatever plans they are of."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.agents import AgentResult, Line
from toolablate.benchmarks.question_files import require_content
from toolablate.experiments.cluster.messages import Shared
from toolablate.experiments.cluster.opening import absolute, files_of, open_fleet
from toolablate.experiments.environment.environment import needed, recorded_environment
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
from toolablate.experiments.replay.running import ReplayEnvironment
from toolablate.experiments.running.execution import RecordEvent
from toolablate.experiments.running.progress import RunProgress
from toolablate.tools import intervention_sources
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Environment, Model, QuestionFile, canonical_json

if TYPE_CHECKING:
    from toolablate.experiments.cluster.fleet import FleetExecutor
    from toolablate.experiments.cluster.services import Services, Turns


@dataclass(frozen=True, slots=True)
class _Need:
    """Of the plan at `place`: a model that is asked, or a condition whose tools are called."""

    place: int
    plan: Plan
    of: Model | Condition


class ReplayFleet:
    """Workers that are started where a batch first has something to run, and serve those after it. The store is this
    process's own by then."""

    def __init__(self, section: ClusterSection, store: Path, progress: RunProgress, *, live: bool) -> None:
        self._section = section
        self._store = store
        self._progress = progress
        self._live = live
        # Each plan is read once, and told apart by that.
        self._places: dict[int, int] = {}
        self._lines: dict[str, Line] = {}
        # By place what the driver has open of the plan.
        self._environments: dict[int, ReplayEnvironment] = {}
        self._turns: dict[int, Turns | None] = {}
        # By place of the batch for which workers are started: later ones bring few others, and start none anew.
        self._files: dict[int, tuple[QuestionFile, ...]] = {}
        self._needed: set[str] = set()
        self._fleet = KeptOpen(self._open)

    @property
    def is_open(self) -> bool:
        return bool(self._fleet.opened)

    async def fit_for(
        self, groups: Sequence[tuple[Group, Sequence[Condition], ReplayEnvironment]]
    ) -> "dict[int, PlanOnFleet]":
        """What runs the replays of each group; the conditions are those whose needs are to be opened, and the
        environment what the driver has open for them. Raises ToolablateError."""
        needs: dict[str, _Need] = {}
        self._needed.clear()
        for group, conditions, environment in groups:
            place = self._place(group)
            self._environments[place] = environment
            if "sandbox" in needed(conditions):
                self._files[place] = files_of(each.parent.question for each in group.forked)
            needs |= {f"{place} model {each.name}": _Need(place, group.plan, each) for each in group.plan.models}
            needs |= {f"{place} {_opened_for(each)}": _Need(place, group.plan, each) for each in conditions}
        if not needs:
            return {}
        fleet = await self._fleet.fit_for(needs)
        return {id(group): PlanOnFleet(fleet, self._place(group), self._lines, self._needed) for group, *_ in groups}

    def forget_other_batches(self) -> None:
        """Once the groups of a batch are opened: workers have no placebos but theirs."""
        for fleet in self._fleet.opened:
            fleet.forget_all_but(self._needed)

    async def close(self) -> None:
        await self._fleet.close()

    def _place(self, group: Group) -> int:
        return self._places.setdefault(id(group.whole), len(self._places))

    async def _open(self, needs: Sequence[_Need], stack: AsyncExitStack) -> "FleetExecutor":
        wanted = sorted({each.place for each in needs})
        from toolablate.experiments.cluster.services import open_turns

        plans: dict[int, PlanOfReplays] = {}
        for place in wanted:
            plan, conditions = _plan_of([each for each in needs if each.place == place])
            self._lines |= {line_of(place, name): line for name, line in asked_lines(plan).items()}
            self._turns[place] = await open_turns(plan, stack)
            lent, fingerprint = self._services(place).lent(), replays_fingerprint(plan, conditions)
            plans[place] = PlanOfReplays(
                plan, conditions, fingerprint, absolute(plan.file), lent, self._files_here(place, plan)
            )
        return await open_fleet(
            self._section,
            self._store,
            ReplayOpener(plans, self._live),
            self._lines,
            stack,
            tell=self._progress.tell,
            warn=self._progress.warn,
            codes=lambda planned: isinstance(planned, SentReplay) and planned.codes,
            services=self._services_of,
        )

    def _files_here(self, place: int, plan: Plan) -> tuple[QuestionFile, ...]:
        """What has gone since its trials ran costs those replays that read it, on one machine too."""
        here = []
        for file in self._files.get(place, ()):
            with suppress(InputError):
                require_content(file, plan.questions.files_folder)
                here.append(file)
        return tuple(here)

    def _services_of(self, planned: PlannedTrial) -> "Services":
        assert isinstance(planned, SentReplay)
        return self._services(planned.place)

    def _services(self, place: int) -> "Services":
        from toolablate.experiments.cluster.services import Services, of_one_owner

        there = self._environments[place]
        web, parts = there.web, of_one_owner(there.plan)
        return Services(
            web.search if "search" in parts else None,
            web.pages if "pages" in parts else None,
            web.mcp if "mcp" in parts else {},
            self._turns[place],
        )


def _plan_of(needs: Sequence[_Need]) -> tuple[Plan, tuple[Condition, ...]]:
    conditions = tuple(each.of for each in needs if isinstance(each.of, Condition))
    models = tuple(each.of for each in needs if not isinstance(each.of, Condition))
    return needs[-1].plan.model_copy(update={"models": models}), conditions


def _opened_for(condition: Condition) -> str:
    """Workers are started anew for other tools and for other code of the user's own, not for what is built in."""
    tools = [use.model_dump(mode="json") for use in condition.tools]
    return canonical_json([tools, sorted(intervention_sources(condition.interventions))])


@dataclass(frozen=True, slots=True)
class PlanOnFleet:
    """What runs replays of one plan's trials. Requests of workers wait in `lines`, those of the last batch; what this
    batch needs of what trials share goes into `needed`."""

    fleet: "FleetExecutor"
    place: int
    lines: dict[str, Line]
    needed: set[str]

    def executor(
        self,
        forked: Mapping[str, ForkedTrial],
        coding: frozenset[str],
        placebos: Shared | None,
        fingerprint: Mapping[str, str],
        lines: Mapping[str, Line],
        *,
        sandboxed: bool,
    ) -> "SendingExecutor":
        """`forked` and `coding` are by the ids of conditions, `lines` those of the plan; `sandboxed` tells whether any
        of these replays stands on the sandbox."""
        if placebos is not None:
            self.needed.add(placebos.digest)
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
    placebos: Shared | None
    environment: Environment
    missed: list[str] = field(default_factory=list)

    async def run(self, planned: PlannedTrial, record: RecordEvent) -> AgentResult:
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
