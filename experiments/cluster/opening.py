"""Where a plan's trials run: here, or on a cluster whose workers stand on the same world."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.agents import Line
from toolablate.benchmarks.question_files import require_content
from toolablate.experiments.cluster.for_others import backed_up, require_backup_of, told_to_others
from toolablate.experiments.cluster.lent import Lent
from toolablate.experiments.environment.environment import fingerprint_of, needed, recorded_versions
from toolablate.experiments.environment.placebo_sources import draws_from_questions
from toolablate.experiments.environment.web import Tell
from toolablate.experiments.plans.conditions import starts_kernel
from toolablate.experiments.plans.plan import (
    Plan,
    PlannedTrial,
    all_questions,
    find_modules_beside,
    with_source,
)
from toolablate.experiments.plans.sections import ClusterSection
from toolablate.experiments.plans.written import take_env
from toolablate.experiments.running.execution import Executor, Opens, RunExecutor, open_executor
from toolablate.reports.numbers import counted
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Model, Question, QuestionFile, digest_json
from toolablate.traces.store import DriverLock

if TYPE_CHECKING:
    from toolablate.agents.batches import Batches
    from toolablate.experiments.cluster.fleet import FleetExecutor
    from toolablate.experiments.cluster.on_ray import RayEngine
    from toolablate.experiments.cluster.services import Services
    from toolablate.experiments.cluster.worker import Opener


def opens_of(plan: Plan) -> Opens:
    return open_executor if plan.cluster is None else partial(_open_fleet, plan.cluster)


KEYS_OF_NODES = (
    "set it where `ray start` is called on that node, or in a .env beside the plan there: none is sent to nodes"
)


@dataclass(frozen=True, slots=True)
class QuestionsRead:
    """What trials read of questions' files where they run: `files` are those that kernels have, and `drawn_from` is a
    digest of all questions with their answer keys, where placebos or wrong answers are drawn from them, else ""."""

    files: tuple[QuestionFile, ...] = ()
    drawn_from: str = ""


def questions_read(plan: Plan, conditions: Sequence[Condition]) -> QuestionsRead:
    """Reads the plan's questions where trials do. Raises InputError as `all_questions` does."""
    draws, kernels = draws_from_questions(conditions), "sandbox" in needed(conditions)
    # Questions of the Hub have files only where the plan names their folder.
    with_files = kernels and (plan.questions.folder != "" or not plan.questions.file.startswith("hf:"))
    if not draws and not with_files:
        return QuestionsRead()
    questions = all_questions(plan)
    files = files_of(questions[: plan.questions.limit]) if with_files else ()
    return QuestionsRead(files, _digest_of(questions) if draws else "")


def files_of(questions: Iterable[Question]) -> tuple[QuestionFile, ...]:
    """Each once."""
    return tuple({file.path: file for question in questions for file in question.files}.values())


def _digest_of(questions: Sequence[Question]) -> str:
    return digest_json([(question.identity(), question.key_identity()) for question in questions])


@dataclass(frozen=True, slots=True)
class PlanOpener:
    """An `Opener` of a plan's executor. `file` is the plan's, whose folder is the same on each node; `lent` is what the
    driver has for all workers, `versions` are those of the driver and `folder` is where it works, and `read` is what
    these trials read of questions' files."""

    plan: Plan
    conditions: tuple[Condition, ...]
    fingerprint: Mapping[str, str]
    file: Path | None
    lent: Lent = field(default_factory=Lent)
    versions: Mapping[str, str] = field(default_factory=recorded_versions)
    read: QuestionsRead = QuestionsRead()
    folder: Path = field(default_factory=Path.cwd)

    async def open(self, stack: AsyncExitStack, lines: Mapping[str, Line]) -> Executor:
        """Raises InputError where the world is another here, and what `open_executor` raises."""
        work_in(self.folder)
        refuse_other_environment(self.plan, self.conditions, self.fingerprint, self.file)
        refuse_other_versions(self.versions)
        questions = await refuse_other_questions(self.plan, self.read)
        plan, web = self.lent.unrecorded(self.plan), await self.lent.web(self.plan)
        try:
            executor = await open_executor(
                plan, self.conditions, self.fingerprint, stack, lines=lines, lent=web, questions=questions
            )
        except InputError as error:
            if error.code == "missing_key":
                error.hint = KEYS_OF_NODES
            raise
        return replace(executor, sources=self.lent.recording(executor.sources, self.plan.models))


def work_in(folder: Path) -> None:
    """On a worker: users' tools may read files from where the driver works. Raises InputError where it is not there."""
    try:
        os.chdir(folder)
    except OSError as error:
        told = f"the folder in which the command works, {folder}, cannot be entered: {error.strerror}"
        raise _other(told, f"make {folder} on each node, with what your tools read there") from None


def refuse_other_environment(
    plan: Plan, conditions: Sequence[Condition], fingerprint: Mapping[str, str], file: Path | None
) -> None:
    """On a worker, which takes the plan's own modules and `.env` from where the plan's `file` is. Raises InputError
    where models or `fingerprint` are not those of the driver."""
    try:
        models = plan.models if file is None else _models_there(plan, file)
        there = fingerprint_of(plan, conditions)
    except InputError as error:
        raise _lacking(error) from None
    for model, found in zip(plan.models, models, strict=True):
        if found != model:
            raise _other(f"the file or code of the model {model.name!r} is another", _SAME_FILES)
    if told := _difference(there, fingerprint):
        raise _other(f"its environment is another: {told}{_own_files(there, fingerprint)}", _SAME_FILES)


async def refuse_other_questions(plan: Plan, read: QuestionsRead) -> Sequence[Question] | None:
    """On a worker. All questions of the plan's file where placebos or wrong answers are drawn from them. Raises
    InputError where what trials read of questions' files is not there, or another."""
    try:
        questions = await asyncio.to_thread(_questions_there, plan, read)
    except InputError as error:
        raise _lacking(error) from None
    if questions is None or _digest_of(questions) == read.drawn_from:
        return questions
    told = f"the questions of {plan.questions.file} are others there"
    there = {file.path: file.sha256 for file in files_of(questions)}
    for file in read.files:
        if there.get(file.path, file.sha256) != file.sha256:
            told = f"the question's file {file.path} is another there"
    raise _other(told, _SAME_FILES)


def _questions_there(plan: Plan, read: QuestionsRead) -> Sequence[Question] | None:
    """Each file is read once: to read the questions is to read their files."""
    if read.drawn_from:
        return all_questions(plan)
    for file in read.files:
        require_content(file, plan.questions.files_folder)
    return None


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


def _own_files(there: Mapping[str, str], driver: Mapping[str, str]) -> str:
    """Of users' tools and interventions that are others, where they lie: a digest says it to nobody."""
    names = [name.partition(" ")[2].partition(":")[0] for name in there if there[name] != driver.get(name)]
    files = {getattr(sys.modules.get(name), "__file__", None) for name in names}
    return "".join(f"; look at {file}" for file in sorted(filter(None, files)))


INSTALL_ALIKE = "install the same Python and packages on each node as at the driver"
_SAME_FILES = (
    "copy the plan's folder, and what else the plan names, to the same path on each node, or keep them on a file system"
    " that all nodes share"
)


def _lacking(error: InputError) -> InputError:
    """The driver has it, so what would mend the plan is no help here."""
    return _other(f"it has not what the driver has: {error.message}", _SAME_FILES)


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
        raise in_batches()
    from toolablate.experiments.cluster.services import open_services

    own_store(section, store, stack)
    read = await asyncio.to_thread(questions_read, plan, conditions)
    services = await open_services(plan, conditions, stack, tell=tell, warn=warn)
    opener = PlanOpener(plan, tuple(conditions), dict(fingerprint), absolute(plan.file), services.lent(), read=read)
    return await open_fleet(section, store, opener, lines, stack, tell=tell, warn=warn, services=lambda _: services)


def in_batches() -> InputError:
    return InputError(
        "cluster: models that are asked in batches cannot be on a cluster yet",
        hint="run on one machine (--cluster none), or take batch = true out of the plan",
        code="not_on_cluster",
    )


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
    engine = await _once_nodes_are_there(lambda: on_ray.open_ray(section, opener, counting, stack, tell), tell)
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


async def _once_nodes_are_there(opened: Callable[[], "RayEngine"], tell: Tell) -> "RayEngine":
    """For as long as a run waits whose workers are all lost: one may begin when only the head is up."""
    from toolablate.experiments.cluster.fleet import LOOK_SECONDS, PATIENCE_SECONDS

    until, told = time.monotonic() + PATIENCE_SECONDS, False
    while True:
        try:
            return opened()
        except InputError as error:
            if error.code != "too_few_cpus" or time.monotonic() >= until:
                raise
            if not told:
                told = True
                tell(f"{error.message}. Waiting {PATIENCE_SECONDS:.0f} s for nodes ...")
        await asyncio.sleep(LOOK_SECONDS)


def absolute(file: Path | None) -> Path | None:
    return file and Path.cwd() / file
