"""Where a plan's trials run: here, or on a cluster whose workers stand on the same world."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.agents import Line
from toolablate.experiments.cluster.for_others import backed_up, require_backup_of, told_to_others
from toolablate.experiments.cluster.lent import Lent
from toolablate.experiments.environment.environment import fingerprint_of, recorded_versions
from toolablate.experiments.environment.web import Tell
from toolablate.experiments.plans.conditions import starts_kernel
from toolablate.experiments.plans.plan import Plan, PlannedTrial, find_modules_beside, with_source
from toolablate.experiments.plans.sections import ClusterSection
from toolablate.experiments.plans.written import take_env
from toolablate.experiments.running.execution import Executor, Opens, RunExecutor, open_executor
from toolablate.reports.numbers import counted
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Model
from toolablate.traces.store import DriverLock

if TYPE_CHECKING:
    from toolablate.agents.batches import Batches
    from toolablate.experiments.cluster.fleet import FleetExecutor
    from toolablate.experiments.cluster.services import Services
    from toolablate.experiments.cluster.worker import Opener


def opens_of(plan: Plan) -> Opens:
    return open_executor if plan.cluster is None else partial(_open_fleet, plan.cluster)


KEYS_OF_NODES = (
    "set it where `ray start` is called on that node, or in a .env beside the plan there: none is sent to nodes"
)


@dataclass(frozen=True, slots=True)
class PlanOpener:
    """An `Opener` of a plan's executor. `file` is the plan's, whose folder is the same on each node; `lent` is what the
    driver has for all workers, `versions` are those of the driver."""

    plan: Plan
    conditions: tuple[Condition, ...]
    fingerprint: Mapping[str, str]
    file: Path | None
    lent: Lent = field(default_factory=Lent)
    versions: Mapping[str, str] = field(default_factory=recorded_versions)

    async def open(self, stack: AsyncExitStack, lines: Mapping[str, Line]) -> Executor:
        """Raises InputError where the world is another here, and what `open_executor` raises."""
        refuse_other_environment(self.plan, self.conditions, self.fingerprint, self.file)
        refuse_other_versions(self.versions)
        plan, web = self.lent.unrecorded(self.plan), await self.lent.web(self.plan)
        try:
            executor = await open_executor(plan, self.conditions, self.fingerprint, stack, lines=lines, lent=web)
        except InputError as error:
            if error.code == "missing_key":
                error.hint = KEYS_OF_NODES
            raise
        return replace(executor, sources=self.lent.recording(executor.sources, self.plan.models))


def refuse_other_environment(
    plan: Plan, conditions: Sequence[Condition], fingerprint: Mapping[str, str], file: Path | None
) -> None:
    """On a worker, which takes the plan's own modules and `.env` from where the plan's `file` is. Raises InputError
    where models or `fingerprint` are not those of the driver."""
    try:
        models = plan.models if file is None else _models_there(plan, file)
        there = fingerprint_of(plan, conditions)
    except InputError as error:
        # The driver has it, so what would mend the plan is no help here.
        raise _other(f"it has not what the driver has: {error.message}", _SAME_FILES) from None
    for model, found in zip(plan.models, models, strict=True):
        if found != model:
            raise _other(f"the file or code of the model {model.name!r} is another", _SAME_FILES)
    if told := _difference(there, fingerprint):
        raise _other(f"its environment is another: {told}", _SAME_FILES)


def refuse_other_versions(driver: Mapping[str, str]) -> None:
    """On a worker. Raises InputError where Python or a package that every trace names is not that of the driver."""
    if told := _difference(recorded_versions(), driver):
        raise _other(f"its versions are others: {told}", INSTALL_ALIKE)


def _models_there(plan: Plan, file: Path) -> tuple[Model, ...]:
    find_modules_beside(file)
    take_env(file.parent)
    return tuple(with_source(model, file.parent.resolve(), "models") for model in plan.models)


def _difference(there: Mapping[str, str], driver: Mapping[str, str]) -> str:
    return "; ".join(
        f"{name}: {there.get(name, 'nothing')} there, {driver.get(name, 'nothing')} at the driver"
        for name in sorted({**there, **driver})
        if there.get(name) != driver.get(name)
    )


INSTALL_ALIKE = "install the same Python and packages on each node as at the driver"
_SAME_FILES = "give each node the same files, archives and versions of your own tools"


def _other(told: str, hint: str) -> InputError:
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
    """As `open_executor`. Where nothing is left to run, no worker is started, and the store is still backed up. Raises
    InputError for a plan that needs one process for all its trials, StoreError where another process drives a cluster
    on its store."""
    store = Path(plan.store)
    if not conditions:
        if section.backup:
            own_store(section, store, stack)
            await stack.enter_async_context(backed_up(store, Path(section.backup), tell, warn))
        return await open_executor(plan, conditions, fingerprint, stack, lines=lines, tell=tell, warn=warn)
    if batches is not None:
        raise InputError(
            "cluster: models that are asked in batches cannot be on a cluster yet",
            hint="run on one machine (--cluster none), or take batch = true out of the plan",
            code="not_on_cluster",
        )
    from toolablate.experiments.cluster.services import open_services

    own_store(section, store, stack)
    services = await open_services(plan, conditions, stack, tell=tell, warn=warn)
    opener = PlanOpener(plan, tuple(conditions), dict(fingerprint), absolute(plan.file), services.lent())
    return await open_fleet(section, store, opener, lines, stack, tell=tell, warn=warn, services=lambda _: services)


def own_store(section: ClusterSection, store: Path, stack: AsyncExitStack) -> None:
    """Before anything is started. Raises StoreError where another process drives a cluster on the store, InputError for
    a backup that cannot be made there."""
    stack.enter_context(DriverLock(store))
    if section.backup:
        require_backup_of(store, Path(section.backup))


async def open_fleet(
    section: ClusterSection,
    store: Path,
    opener: "Opener",
    lines: Mapping[str, Line],
    stack: AsyncExitStack,
    *,
    tell: Tell,
    warn: Tell,
    services: "Callable[[PlannedTrial], Services]",
    codes: Callable[[PlannedTrial], bool] = lambda planned: starts_kernel(planned.condition),
) -> "FleetExecutor":
    """Workers that run trials for this store, which this process owns by now; the stack ends them. Raises InputError
    where the cluster or its workers cannot be had."""
    from toolablate.experiments.cluster import on_ray
    from toolablate.experiments.cluster.fleet import FleetExecutor

    counting = {name: line.counts_tokens for name, line in lines.items()}
    engine = on_ray.open_ray(section, opener, counting, stack, tell)
    tell(f"Starting {counted(engine.workers, 'worker')} ...")
    fleet = FleetExecutor(
        engine,
        lines,
        workers=engine.workers,
        kernels=section.kernels,
        retries=section.retries,
        warn=warn,
        services=services,
        codes=codes,
    )
    stack.push_async_callback(fleet.close)
    await fleet.open()
    await stack.enter_async_context(told_to_others(store, lambda: (fleet.workers, fleet.no_worker)))
    if section.backup:
        await stack.enter_async_context(backed_up(store, Path(section.backup), tell, warn))
    return fleet


def absolute(file: Path | None) -> Path | None:
    return file and Path.cwd() / file
