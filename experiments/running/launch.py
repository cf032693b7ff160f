"""Opens what a plan needs, runs what is missing, shows it going, and says how it went."""

import asyncio
import signal
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.agents import EndpointLine, ModelSource, RetryPolicy, require_capabilities, require_images
from toolablate.agents.pacing import Pressure, pressures
from toolablate.agents.spending import goes_in_batches
from toolablate.analysis.from_store import changed_kernels, environments
from toolablate.benchmarks.questions import told_of_alike
from toolablate.experiments.environment.environment import (
    fingerprint_of,
    finished_trials,
    left_out_of_parts,
    refuse_too_large,
    refuse_without_documents,
    require_same_environment,
)
from toolablate.experiments.environment.replies import JudgeCosts, asked_lines, is_replayed, open_judges
from toolablate.experiments.plans.conditions import default_baseline
from toolablate.experiments.plans.plan import Design, Only, Plan, PlannedTrial, design
from toolablate.experiments.plans.prices import unpriced_calls
from toolablate.experiments.plans.written import keeping_env
from toolablate.experiments.running.execution import Opens, RunExecutor, open_executor, retry_policy
from toolablate.experiments.running.grading import Gradings, JudgeWork, left_unscored, ungraded
from toolablate.experiments.running.progress import RunProgress
from toolablate.experiments.running.runner import Failures, GivenUp, Setting, StopSwitch, run_trials
from toolablate.experiments.scoring import Scorers, Unscored, idle_judges, judges_of_their_own, score_unscored
from toolablate.reports.numbers import counted
from toolablate.traces.database import beside
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import Condition, Run
from toolablate.traces.store import FailureCount, Recorder

if TYPE_CHECKING:
    from toolablate.agents.batches import Batches


def batches_beside(store: Path) -> Path:
    """Where the batches of a store's runs are kept until their replies are in the store."""
    return beside(store, "-batches")


# As an endpoint says them; a body of status 200 that says the same counts as well.
_STATUS = {"rate_limited": "429", "overloaded": "503"}


def waits(pressures: Iterable[Pressure], now: datetime) -> tuple[str, ...]:
    """What is waited for at this moment; `now` is local time."""
    return tuple(_wait(each, now) for each in pressures if each.rests > 0 or each.lately)


def _wait(pressure: Pressure, now: datetime) -> str:
    if pressure.rests > 0:
        until = (now + timedelta(seconds=pressure.rests)).strftime("%H:%M:%S")
        asked = pressure.asked
        why = f"it refuses: {_codes(pressure.refused)}" if asked is None else f"it asked for {asked:.3g} s"
        return f"waiting for {pressure.name} until {until} ({why})"
    places = counted(pressure.places, "request")
    return f"slowed down by {pressure.name} ({_codes(pressure.refused)}): {places} in flight allowed"


def told_at_the_end(pressures: Iterable[Pressure]) -> tuple[str, ...]:
    """What the refusals of the whole run came to."""
    return tuple(
        f"{each.name} refused {counted(sum(each.refused.values()), 'request')} ({_codes(each.refused)});"
        f" it was left alone for {each.rested:.3g} s in all"
        for each in pressures
    )


def _codes(refused: Mapping[str, int]) -> str:
    return ", ".join(_STATUS.get(code, code) for code in refused)


# What goes on beside a run: beats that show it, and Ctrl-C.


@asynccontextmanager
async def beating(
    progress: RunProgress,
    lines: Mapping[str, EndpointLine],
    recorder: Recorder | None,
    standing: Callable[[], Sequence[str]],
    batches: "Batches | None" = None,
) -> AsyncIterator[None]:
    """Every second the progress is told what is waited for, and the store, where there is one, how far it is, by what
    `standing` gives."""
    beats = asyncio.create_task(_beat(progress, lines, recorder, standing, batches))
    try:
        yield
    finally:
        beats.cancel()


async def _beat(
    progress: RunProgress,
    lines: Mapping[str, EndpointLine],
    recorder: Recorder | None,
    standing: Callable[[], Sequence[str]],
    batches: "Batches | None",
) -> None:
    told: tuple[str, ...] = ()
    while True:
        await asyncio.sleep(1)
        slow = (*waits(pressures(lines.values()), datetime.now()), *(batches.standing if batches else ()))
        progress.slowed(slow)
        now = (*standing(), *slow)
        if recorder is not None and now != told:
            # A store that cannot be written ends the run by itself.
            with suppress(StoreError):
                recorder.waits_for(told := now)
        progress.beat()


_PRESSES: ContextVar["Presses"] = ContextVar("presses")


class Presses:
    """Ctrl-C for what runs in another thread than the main one: `press` does there, from any thread, what the signal
    does in a terminal. What nobody heeds yet waits for who does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._heed: Callable[[], object] | None = None
        self._waiting = 0

    @classmethod
    def of_this_context(cls) -> "Presses":
        """Those that `taken` gave to this context, or else such as nobody presses."""
        return _PRESSES.get(None) or cls()

    def taken(self) -> None:
        """What is begun in this context from now on heeds these."""
        _PRESSES.set(self)

    def press(self) -> None:
        with self._lock:
            if self._heed is None:
                self._waiting += 1
            else:
                self._heed()

    @contextmanager
    def heeded(self, heed: Callable[[], object]) -> Iterator[None]:
        with self._lock:
            self._heed = heed
            for _ in range(self._waiting):
                heed()
            self._waiting = 0
        try:
            yield
        finally:
            with self._lock:
                self._heed = None


@contextmanager
def interruptible(
    stop: StopSwitch, progress: RunProgress, lines: Mapping[str, EndpointLine], batches: "Batches | None" = None
) -> Iterator[None]:
    """Ctrl-C once: no new trial or grading is started, and none waits for its first reply's turn. Ctrl-C again, or
    SIGTERM: those in flight are cancelled too; they are not finished, so the next run does them again."""
    loop = asyncio.get_running_loop()
    running = asyncio.current_task()
    assert running is not None
    presses = Presses.of_this_context()

    def interrupt() -> None:
        if stop.stopped:
            progress.cancelling()
            running.cancel()
        else:
            progress.stopping()
            for line in lines.values():
                line.let_go()
            if batches is not None:
                batches.let_go()
        stop.stop()

    def terminate() -> None:
        stop.stop()
        running.cancel()

    # Signals reach the main thread alone.
    signals = (
        ((signal.SIGINT, interrupt), (signal.SIGTERM, terminate))
        if threading.current_thread() is threading.main_thread()
        else ()
    )
    for number, heed in signals:
        loop.add_signal_handler(number, heed)
    try:
        with presses.heeded(lambda: loop.call_soon_threadsafe(interrupt)):
            yield
    except asyncio.CancelledError:
        if not stop.stopped:
            raise
    finally:
        for number, _ in signals:
            loop.remove_signal_handler(number)


@dataclass(frozen=True, slots=True)
class Launched:
    """How a run went. `missing` counts the trials that have no answer yet: those that failed, and those that were not
    begun or not ended; of these, `elsewhere` are just being run by another process, the rest is left to the next run of
    the plan. `failures` are those of this run; `slowed` says what endpoints refused, and how long they were waited
    for; `given_up` are the models of which no more was asked, and why. `run` is "" for trials that no plan called for.
    `unscored` are answers that the plan's scorer could not score, `ungraded` counts the grades that answers lack,
    `left_unscored` those that none of a judge's replies had, of which no more are asked; `judges` says what each judge
    did in this run."""

    run: str
    store: Path
    planned: int
    done_before: int
    missing: int
    elsewhere: int
    unscored: tuple[Unscored, ...]
    ungraded: int
    stopped: bool
    failures: tuple[FailureCount, ...]
    judges: tuple[JudgeWork, ...]
    slowed: tuple[str, ...]
    given_up: Mapping[str, GivenUp] = field(default_factory=dict)
    left_unscored: int = 0


@dataclass(frozen=True, slots=True)
class Opened:
    """What a run stands on besides the executor of its trials: by name the models of its `judges` and what they cost,
    the `lines` in which requests wait, and how often they are made; the `batches` of its models, where one is asked
    so."""

    judges: Mapping[str, ModelSource]
    costs: Mapping[str, JudgeCosts]
    lines: Mapping[str, EndpointLine]
    retry: RetryPolicy
    batches: "Batches | None" = None


def launch(
    plan: Plan,
    plan_text: str,
    progress: RunProgress,
    only: Only = Only(),  # noqa: B008 - frozen
    opens: Opens = open_executor,
    tags: Sequence[str] = (),
) -> Launched:
    """Runs the missing trials of a plan, or of a part of it, into its store, and has judges grade what they are to;
    `opens` says where trials run, by default here; `tags` name the run. Raises ToolablateError; what was finished stays
    finished."""
    for tag in tags:
        if not tag.strip() or tag in ("latest", "all"):
            raise InputError(
                f"--tag: {tag!r} is no name for a run", hint="latest and all name runs already", code="bad_tag"
            )
    if plan.sandbox.backend == "none":
        progress.warn('sandbox = "none": code that models write runs unprotected.')
    with keeping_env(plan.file.parent) if plan.file else nullcontext():
        return asyncio.run(_launch(plan, plan_text, design(plan, only), progress, opens, tuple(tags)))


async def _launch(
    plan: Plan, plan_text: str, planned: Design, progress: RunProgress, opens: Opens, tags: tuple[str, ...]
) -> Launched:
    store, scorers = Path(plan.store), Scorers(plan, progress.warn)
    run = Run(
        id=uuid.uuid4().hex,
        started_at=datetime.now(UTC),
        plan=plan_text,
        toolablate=version("toolablate"),
        baseline=plan.baseline or default_baseline(plan.resolved_conditions()),
        scorers=scorers.names(planned.questions),
        fingerprint=fingerprint_of(plan, planned.conditions),
        tagged=tags,
    )
    require_same_environment(store, run.fingerprint)
    refuse_too_large(plan, planned)
    refuse_without_documents(planned)
    for told in (
        *left_out_of_parts(planned),
        told_of_alike(planned.questions),
        idle_judges(plan, planned.questions),
        judges_of_their_own(plan, planned.questions),
    ):
        if told:
            progress.warn(told)
    for told in unpriced_calls(planned.models, planned.conditions):
        progress.warn(told)
    async with AsyncExitStack() as stack:
        # All that can be refused comes before the store is opened for writing: a refused run leaves nothing there.
        await stack.enter_async_context(scorers)
        missing = _without(planned.trials, finished_trials(store))
        executor, opened = await _open(plan, planned, missing, scorers, progress, run, stack, opens)
        await scorers.open(entry.question for entry in missing)
        failures = Failures()
        setting = Setting(
            executor,
            scorers,
            progress,
            failures,
            executor.kernels,
            plan.runner.trial_seconds,
            batched=executor.batched,
            admit=executor.admit,
            retries=executor.retries,
        )
        recorder = stack.enter_context(Recorder(store))
        trials = [entry.trial for entry in planned.trials]
        recorder.plan(run, planned.questions, planned.models, planned.conditions, trials)
        launched = await carry_out(planned, setting, opened, recorder, missing=missing, run=run.id)
        if not launched.missing:
            _tidy_batches(store)
        return launched


async def carry_out(
    planned: Design,
    setting: Setting,
    opened: Opened,
    recorder: Recorder,
    *,
    missing: Sequence[PlannedTrial] | None = None,
    run: str = "",
    stop: StopSwitch | None = None,
) -> Launched:
    """Runs what is missing of trials that the store knows, then has judges grade what they have not graded yet, until a
    `stop` is asked for. `missing` are those that were a moment ago, by default all. Raises ToolablateError; what was
    finished stays finished."""
    store, stop, progress, scorers = recorder.path, stop or StopSwitch(), setting.progress, setting.scorers
    missing = _still_missing(planned.trials if missing is None else missing, recorder)
    progress.begin(len(planned.trials), missing)
    gradings = Gradings(recorder, opened.judges, opened.costs, opened.retry, progress, stop)
    async with beating(progress, opened.lines, recorder, lambda: gradings.standing, opened.batches):
        with interruptible(stop, progress, opened.lines, opened.batches):
            await _run_missing(missing, setting, recorder, stop)
        with interruptible(stop, progress, opened.lines):
            unscored = await score_unscored(store, planned, scorers, recorder, lambda: stop.stopped)
        with interruptible(stop, progress, opened.lines):
            await gradings.run(lambda: ungraded(store, planned, scorers))
    left, taken = [entry.trial.id for entry in _still_missing(missing, recorder)], await recorder.taken()
    return Launched(
        run=run,
        store=store,
        planned=len(planned.trials),
        done_before=len(planned.trials) - len(missing),
        missing=len(left),
        elsewhere=len(taken.intersection(left)),
        unscored=unscored,
        ungraded=len(ungraded(store, planned, scorers)),
        left_unscored=left_unscored(store, planned, scorers),
        stopped=stop.stopped,
        failures=setting.failures.counts(),
        judges=gradings.work,
        slowed=told_at_the_end(pressures(opened.lines.values())),
        given_up=setting.failures.given_up,
    )


def _without(entries: Sequence[PlannedTrial], finished: Set[str]) -> list[PlannedTrial]:
    return [entry for entry in entries if entry.trial.id not in finished]


def _still_missing(entries: Sequence[PlannedTrial], recorder: Recorder) -> list[PlannedTrial]:
    """Of a million trials that are all there nothing is looked up."""
    return _without(entries, recorder.finished_trials()) if entries else []


async def _open(
    plan: Plan,
    planned: Design,
    missing: Sequence[PlannedTrial],
    scorers: Scorers,
    progress: RunProgress,
    run: Run,
    stack: AsyncExitStack,
    opens: Opens,
) -> tuple[RunExecutor, Opened]:
    lacking = {entry.trial.condition for entry in missing}
    left = [condition for condition in planned.conditions if condition.identity() in lacking]
    for condition in left:
        for model in planned.models:
            require_capabilities(model, condition)
    for model in planned.models if left else ():
        require_images(model, planned.questions)
    # What only grades needs no key but its judges'.
    asked = plan if left else plan.model_copy(update={"models": ()})
    batches = _batches(asked, left, progress)
    lines = asked_lines(plan)
    executor = await opens(
        asked, left, run.fingerprint, stack, lines=lines, tell=progress.tell, warn=progress.warn, batches=batches
    )
    if changed := changed_kernels([*environments(Path(plan.store)), executor.environment]):
        progress.warn(f"{changed}. To keep such trials apart, name another store (--store)")
    judged = any(map(scorers.is_judged, planned.questions))
    costs = {judge.name: JudgeCosts() for judge in plan.judges}
    judges = await open_judges(plan, stack, lines, costs, progress.warn) if judged else {}
    return executor, Opened(judges, costs, lines, retry_policy(plan), batches)


def _batches(plan: Plan, conditions: Sequence[Condition], progress: RunProgress) -> "Batches | None":
    """For the models of the plan that are asked in batches under any of these conditions."""
    models = [model for model in plan.models if not is_replayed(plan, model)]
    if not any(goes_in_batches(model, condition) for model in models for condition in conditions):
        return None
    from toolablate.agents.batches import Batches

    return Batches(batches_beside(Path(plan.store)), progress.tell)


def _tidy_batches(store: Path) -> None:
    """What was asked in batches is in the store."""
    path = batches_beside(store)
    if path.exists():
        from toolablate.agents.batches import KeptBatches

        KeptBatches(path).tidy()


async def _run_missing(missing: Sequence[PlannedTrial], setting: Setting, recorder: Recorder, stop: StopSwitch) -> None:
    """Runs what is missing, then what another run had and left: one that was killed. What it still has is its own."""
    while missing and not stop.stopped:
        skipped = await run_trials(missing, setting, recorder, stop)
        others = recorder.finished_trials() | await recorder.taken() if skipped else frozenset()
        missing = [entry for entry in skipped if entry.trial.id not in others]
