"""Writes logs of other harnesses into a store."""

import asyncio
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import islice
from pathlib import Path

from toolablate.formats.imports.arms import Arm, log_key, place_arms, read_arm
from toolablate.formats.imports.log import Imported, Log, Sample
from toolablate.formats.imports.questions import Questions
from toolablate.formats.imports.scorers import choose_scorers, mixed_scorers, shown_scorers
from toolablate.traces.errors import InputError
from toolablate.traces.plain import one_line
from toolablate.traces.records import Condition, ImportedLog, Label, Question, Run, Trial
from toolablate.traces.store import Recorder, Store

WORLD = {"imported": "logs of other harnesses"}

BATCH = 32
"""Samples that are held and written at a time."""

Advance = Callable[[int], None]
"""Is told how many samples were written since the last time."""


@dataclass(frozen=True, slots=True)
class _Before:
    """What the store has: its latest run, the trials that it called for, its questions, its conditions, and who has
    scored."""

    run: Run | None = None
    trials: tuple[Trial, ...] = ()
    questions: tuple[Question, ...] = ()
    conditions: tuple[Condition, ...] = ()
    scored_by: tuple[str, ...] = ()

    @property
    def scorers(self) -> tuple[str, ...]:
        return self.run.scorers if self.run else ()

    @property
    def imported(self) -> tuple[ImportedLog, ...]:
        return self.run.imported if self.run else ()


def import_logs(
    logs: Sequence[Log], store: Path, *, scorer: str | None = None, advance: Advance = lambda _: None
) -> list[Imported]:
    """Enters logs into a store of imports, which is made where there is none; what it holds already stays.

    All logs are read through before anything is written. The trials of earlier imports stay in the latest run, so that
    tables show them together. Raises InputError for a log that cannot be taken and for a store that plans ran into;
    then nothing was written. Raises StoreError.
    """
    before = _before(store)
    questions = Questions(before.questions)
    arms = [read_arm(log, questions) for log in logs]
    _refuse_one_name_for_two(arms)
    chosen = choose_scorers(arms, scorer, before.scorers, set(before.scored_by))
    place_arms(arms, before.imported, before.trials)
    mixed = mixed_scorers(arms, chosen, before.scorers)
    with Recorder(store) as recorder:
        run = _run(arms, before, shown_scorers(arms, chosen, scorer, before.scorers))
        trials = list(dict.fromkeys([*before.trials, *(trial for arm in arms for trial in arm.trials())]))
        if _is_new(run, trials, arms, before):
            asked = {id(question): question for arm in arms for question in arm.questions}
            recorder.plan(
                run,
                list(asked.values()),
                [arm.log.model for arm in sorted(arms, key=lambda arm: arm.log.place[0])],
                [arm.log.condition for arm in _by_condition(arms)],
                trials,
            )
        entered = [_write(arm, recorder, advance) for arm in arms]
    return [_told(*each) for each in zip(arms, entered, chosen, mixed, strict=True)]


def _before(path: Path) -> _Before:
    if not path.exists():
        return _Before()
    with Store(path) as store, store.at_one_moment():
        runs = store.runs()
        if any(not run.imported for run in runs):
            raise InputError(
                f"{path} holds trials that a plan ran: what others measured cannot be compared with those as one world",
                hint="Import into a store of its own (--store).",
                code="not_imported",
            )
        if not runs:
            return _Before()
        of_run = store.trials_of(runs[-1].id)
        return _Before(runs[-1], of_run, store.questions(), store.conditions(), tuple(store.scorers()))


def _refuse_one_name_for_two(arms: Sequence[Arm]) -> None:
    called: dict[str, Arm] = {}
    for arm in arms:
        condition = arm.log.condition
        other = called.setdefault(condition.name, arm)
        if other.log.condition.identity() != condition.identity() and other.log.model == arm.log.model:
            raise InputError(
                f"{arm.log.file} and {other.log.file} are different conditions of one name,"
                f" {one_line(condition.name, max_chars=80)!r}",
                hint="Import them one after the other, each with a --condition NAME of its own.",
                code="one_name",
            )


def _run(arms: Sequence[Arm], before: _Before, scorers: tuple[str, ...]) -> Run:
    listed = {log_key(each): each for each in before.imported}
    listed |= {log_key(each): each for each in (arm.listed() for arm in arms)}
    return Run(
        id=uuid.uuid4().hex,
        started_at=datetime.now(UTC),
        plan="",
        toolablate=version("toolablate"),
        baseline=(before.run.baseline if before.run else "") or _baseline(arms),
        scorers=scorers,
        world=WORLD,
        imported=tuple(listed.values()),
    )


def _by_condition(arms: Sequence[Arm]) -> list[Arm]:
    """In the order in which tables show them: that of the study that the logs were written of, else that of files."""
    return sorted(arms, key=lambda arm: arm.log.place[1])


def _baseline(arms: Sequence[Arm]) -> str:
    named = [arm.log.baseline for arm in arms if arm.log.baseline]
    without = [arm.log.condition.name for arm in _by_condition(arms) if not arm.log.condition.tools]
    return (named or without or [""])[0]


def _is_new(run: Run, trials: Sequence[Trial], arms: Sequence[Arm], before: _Before) -> bool:
    """Whether there is anything to enter: the same logs imported again are no other run."""
    if before.run is None or len(trials) != len(before.trials):
        return True
    if any(getattr(run, part) != getattr(before.run, part) for part in ("imported", "scorers", "baseline")):
        return True
    # One that was given another name since.
    return any(arm.log.condition not in before.conditions for arm in arms)


@dataclass(frozen=True, slots=True)
class _Entered:
    """How many samples and labels were new."""

    samples: int = 0
    labels: int = 0

    def __add__(self, other: "_Entered") -> "_Entered":
        return _Entered(self.samples + other.samples, self.labels + other.labels)


def _write(arm: Arm, recorder: Recorder, advance: Advance) -> _Entered:
    with ExitStack() as stack:
        runner = stack.enter_context(asyncio.Runner())
        store = stack.enter_context(Store(recorder.path))
        entered, samples = _Entered(), _again(arm)
        while batch := list(islice(samples, BATCH)):
            entered += runner.run(_enter_all(batch, recorder, store))
            advance(len(batch))
    return entered


async def _enter_all(batch: Sequence[tuple[Trial, Question, Sample]], recorder: Recorder, store: Store) -> _Entered:
    """Side by side, since each waits for the disk."""
    return sum(await asyncio.gather(*(_enter(*each, recorder, store) for each in batch)), _Entered())


def _again(arm: Arm) -> Iterator[tuple[Trial, Question, Sample]]:
    """Raises InputError where the log is not what it was when it was read through."""
    samples, trials = arm.log.samples(), arm.trials()
    try:
        for trial, question, sample in zip(trials, arm.questions, samples, strict=True):
            if trial.repeat != arm.first_repeat + sample.repeat:
                raise ValueError
            yield trial, question, sample
    except ValueError:
        raise InputError(
            f"{arm.log.file} was changed while it was read", hint="Import it again.", code="changed_file"
        ) from None


async def _enter(trial: Trial, question: Question, sample: Sample, recorder: Recorder, store: Store) -> _Entered:
    if sample.outcome == "failed" and _is_known(trial, sample, store):
        return _Entered()
    recording = await recorder.begin(trial, started_at=sample.started_at, environment=sample.environment)
    if recording is not None:
        for event in sample.events:
            recording.record(event)
        await recording.finish(sample.outcome, sample.seconds, sample.usage, sample.cost_usd)
    if sample.outcome != "failed":
        known = store.scores(trial.id) if recording is None else ()
        update = {"trial": trial.id, "target": question.key_identity()}
        scores = [score.model_copy(update=update) for score in sample.scores]
        if new := [score for score in scores if score not in known]:
            await recorder.score(new)
    labels = _new_labels(trial, sample, store)
    for label in labels:
        recorder.label(label)
    return _Entered(int(recording is not None), len(labels))


def _new_labels(trial: Trial, sample: Sample, store: Store) -> list[Label]:
    """Without those that their person has said something after: the last that is entered counts."""
    if not sample.labels:
        return []
    known = store.labels(trial.id)
    last = {label.person: label.at for label in sorted(known, key=lambda label: label.at)}
    labels = dict.fromkeys(label.model_copy(update={"trial": trial.id}) for label in sample.labels)
    for label in known:
        labels.pop(label, None)
    return [each for each in labels if each.at >= last.get(each.person, each.at)]


def _is_known(trial: Trial, sample: Sample, store: Store) -> bool:
    """Whether the store has this very attempt: what failed may be tried again, so that it alone would not tell."""
    return any(trace.started_at == sample.started_at for trace in store.attempts(trial.id))


def _told(arm: Arm, entered: _Entered, scorers: tuple[str, ...], mixed: str) -> Imported:
    return Imported(
        file=arm.log.file,
        model=arm.log.model.name,
        condition=arm.log.condition.name,
        samples=len(arm.questions),
        added=entered.samples,
        failed=arm.failed,
        labels=entered.labels,
        scorers=scorers,
        others=tuple(name for name in arm.scorers if name not in scorers and name not in arm.left_out),
        left_out=tuple(f"{name}: {reason} ({where})" for name, (where, reason) in arm.left_out.items()),
        notes=(*arm.log.notes, *([mixed] if mixed else [])),
    )
