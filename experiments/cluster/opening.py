"""Where a plan's trials run: here, or on a cluster whose workers stand on the same world."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.agents import Line
from toolablate.experiments.cluster.lent import Lent
from toolablate.experiments.environment.environment import fingerprint_of
from toolablate.experiments.environment.web import Tell
from toolablate.experiments.plans.plan import Plan, find_modules_beside, with_source
from toolablate.experiments.plans.sections import ClusterSection, RepliesSection
from toolablate.experiments.plans.written import take_env
from toolablate.experiments.running.execution import Executor, Opens, RunExecutor, open_executor
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition
from toolablate.traces.store import DriverLock

if TYPE_CHECKING:
    from toolablate.agents.batches import Batches


def opens_of(plan: Plan) -> Opens:
    return open_executor if plan.cluster is None else partial(_open_fleet, plan.cluster)


@dataclass(frozen=True, slots=True)
class PlanOpener:
    """An `Opener` of a plan's executor. `file` is the plan's, whose folder is the same on each node; `lent` is what the
    driver has for all workers."""

    plan: Plan
    conditions: tuple[Condition, ...]
    fingerprint: Mapping[str, str]
    file: Path | None
    lent: Lent = field(default_factory=Lent)

    async def open(self, stack: AsyncExitStack, lines: Mapping[str, Line]) -> Executor:
        """Raises InputError where the world is another here, and what `open_executor` raises."""
        if self.file is not None:
            find_modules_beside(self.file)
            take_env(self.file.parent)
            for model in self.plan.models:
                if with_source(model, self.file.parent.resolve(), "models") != model:
                    raise _other_environment(f"the file or code of the model {model.name!r} is another")
        found = fingerprint_of(self.plan, self.conditions)
        if found != self.fingerprint:
            differing = [
                f"{name}: {found.get(name, 'nothing')} there, {self.fingerprint.get(name, 'nothing')} at the driver"
                for name in sorted({**found, **self.fingerprint})
                if found.get(name) != self.fingerprint.get(name)
            ]
            raise _other_environment(f"its environment is another: {'; '.join(differing)}")
        # What the driver records is asked here as if nothing did.
        plan = self.plan.model_copy(update={"replies": RepliesSection()}) if self.lent.replies else self.plan
        lent = await self.lent.web(self.plan)
        executor = await open_executor(plan, self.conditions, self.fingerprint, stack, lines=lines, lent=lent)
        return self.lent.recording(executor, self.plan.models)


def _other_environment(told: str) -> InputError:
    hint = "give each node the same files, archives and versions of your own tools"
    return InputError(told, hint=hint, code="other_environment")


async def _open_fleet(
    section: ClusterSection,
    plan: Plan,
    conditions: Sequence[Condition],
    fingerprint: Mapping[str, str],
    stack: AsyncExitStack,
    *,
    lines: Mapping[str, Line],
    tell: Tell,
    warn: Tell,
    batches: "Batches | None",
) -> RunExecutor:
    """As `open_executor`. Raises InputError for a plan that needs one process for all its trials, StoreError where
    another process drives a cluster on its store."""
    if batches is not None:
        raise InputError(
            "cluster: models that are asked in batches cannot be on a cluster yet",
            hint="run on one machine (--cluster none), or take batch = true out of the plan",
            code="not_on_cluster",
        )
    from toolablate.experiments.cluster.fleet import FleetExecutor
    from toolablate.experiments.cluster.on_ray import open_ray
    from toolablate.experiments.cluster.services import open_services

    store = Path(plan.store)
    store.parent.mkdir(parents=True, exist_ok=True)
    stack.enter_context(DriverLock(store))
    services = await open_services(plan, conditions, stack, tell=tell, warn=warn)
    file = plan.file and _absolute(plan.file)
    opener = PlanOpener(plan, tuple(conditions), dict(fingerprint), file, services.lent())
    counting = {name: line.counts_tokens for name, line in lines.items()}
    engine = open_ray(section, opener, counting, stack, tell)
    tell(f"Starting {engine.workers} workers ...")
    fleet = FleetExecutor(
        engine,
        lines,
        workers=engine.workers,
        kernels=section.kernels,
        retries=section.retries,
        warn=warn,
        services=services,
    )
    stack.push_async_callback(fleet.close)
    await fleet.open()
    return fleet


def _absolute(file: Path) -> Path:
    return Path.cwd() / file
