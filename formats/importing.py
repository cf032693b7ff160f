"""Brings logs of other harnesses into a store, and says what came of it."""

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from toolablate.experiments.environment.environment import require_store_or_none
from toolablate.formats.imported import (
    Imported,
    ImportedArm,
    Log,
    Questions,
    Sample,
    log_key,
    name_of,
    place_arms,
    read_arm,
)
from toolablate.reports.numbers import counted
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, ImportedLog, Label, Question, Run, Trial
from toolablate.traces.store import Recorder, Store
from toolablate.traces.terminal_text import one_line


def choose_scorers(
    arms: Sequence[ImportedArm], named: str | None, earlier: Sequence[str], scored_by: Set[str] = frozenset()
) -> list[tuple[str, ...]]:
    """Of each log the scorers whose scores tables show: the one that is named, else those that are shown already, else
    those that the log shows first.

    Where the log goes by several, one that is shown brings the others with it: a log may have questions of one kind
    alone. Of those that have `scored_by` now in the store, none comes back that is not shown.
    """
    shown: tuple[str, ...] = tuple(earlier)
    hidden = scored_by - set(earlier)
    chosen: list[tuple[str, ...]] = []
    for arm in arms:
        usable = [name for name in arm.scorers if name not in arm.left_out]
        preferred = arm.log.preferred
        together = [] if set(preferred).isdisjoint(shown) else [name for name in preferred if name not in hidden]
        if named is not None:
            taken: tuple[str, ...] = (_named(arm, named),)
        else:
            taken = tuple(
                [name for name in usable if name in shown or name in together]
                or [name for name in preferred if name in usable]
                or usable[:1]
            )
        shown = tuple(dict.fromkeys([*shown, *taken]))
        chosen.append(taken)
    return chosen


def mixed_scorers(arms: Sequence[ImportedArm], chosen: Sequence[tuple[str, ...]], earlier: Sequence[str]) -> list[str]:
    """Of each log, once its repeats are placed, what is to be told where other scorers judged the repeats of its
    questions before; else ""."""
    shown, told = set(earlier), []
    for arm, taken in zip(arms, chosen, strict=True):
        mixed = arm.first_repeat > 0 and taken and shown and shown.isdisjoint(taken)
        told.append(
            "another log has the same model, condition and questions, and none of these scorers: tables show both in"
            " one mean, unless --condition NAME tells them apart"
            if mixed
            else ""
        )
        shown.update(taken)
    return told


def _named(arm: ImportedArm, name: str) -> str:
    if name not in arm.scorers:
        raise InputError(
            f"{arm.log.file} has no scores by {name!r}",
            hint=f"It has: {', '.join(one_line(each, max_chars=80) for each in arm.scorers) or 'none'}.",
            code="unknown_scorer",
        )
    if name in arm.left_out:
        where, reason = arm.left_out[name]
        raise InputError(
            f"{where}: {name}: {reason}",
            hint="A score has to be a number from 0 to 1, or to say whether the answer is right.",
            code="no_score",
        )
    return name


def shown_scorers(
    arms: Sequence[ImportedArm], chosen: Sequence[tuple[str, ...]], named: str | None, earlier: Sequence[str]
) -> tuple[str, ...]:
    """Those of all logs of a store, in the order in which a log that goes by several has them, since the first that has
    scored a trial counts; the one that is named stands in the place of others that its logs have."""
    if named is not None:
        others = {name for arm in arms for name in arm.scorers}
        earlier = [name for name in earlier if name not in others]
    found = dict.fromkeys([*earlier, *(name for names in chosen for name in names)])
    preferred = dict.fromkeys(name for arm in arms if len(arm.log.preferred) > 1 for name in arm.log.preferred)
    in_turn = iter([name for name in preferred if name in found])
    return tuple(next(in_turn) if name in preferred else name for name in found)


# Writes logs of other harnesses into a store.


FINGERPRINT = {"imported": "logs of other harnesses"}

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
                f"{path} has trials that a plan ran; imported trials cannot be compared with these",
                hint="Import into a store of its own (--store).",
                code="not_imported",
            )
        if not runs:
            return _Before()
        of_run = store.trials_of(runs[-1].id)
        return _Before(runs[-1], of_run, store.questions(), store.conditions(), tuple(store.scorers()))


def _refuse_one_name_for_two(arms: Sequence[ImportedArm]) -> None:
    called: dict[str, ImportedArm] = {}
    for arm in arms:
        condition = arm.log.condition
        other = called.setdefault(condition.name, arm)
        if other.log.condition.identity() != condition.identity() and other.log.model == arm.log.model:
            raise InputError(
                f"{arm.log.file} and {other.log.file} have different conditions named"
                f" {one_line(condition.name, max_chars=80)!r}",
                hint="Import them one after the other, each with a --condition NAME of its own.",
                code="one_name",
            )


def _run(arms: Sequence[ImportedArm], before: _Before, scorers: tuple[str, ...]) -> Run:
    listed = {log_key(each): each for each in before.imported}
    listed |= {log_key(each): each for each in (arm.listed() for arm in arms)}
    return Run(
        id=uuid.uuid4().hex,
        started_at=datetime.now(UTC),
        plan="",
        toolablate=version("toolablate"),
        baseline=(before.run.baseline if before.run else "") or _baseline(arms),
        scorers=scorers,
        fingerprint=FINGERPRINT,
        imported=tuple(listed.values()),
    )


def _by_condition(arms: Sequence[ImportedArm]) -> list[ImportedArm]:
    """In the order in which tables show them: that of the study that the logs were written of, else that of files."""
    return sorted(arms, key=lambda arm: arm.log.place[1])


def _baseline(arms: Sequence[ImportedArm]) -> str:
    named = [arm.log.baseline for arm in arms if arm.log.baseline]
    without = [arm.log.condition.name for arm in _by_condition(arms) if not arm.log.condition.tools]
    return (named or without or [""])[0]


def _is_new(run: Run, trials: Sequence[Trial], arms: Sequence[ImportedArm], before: _Before) -> bool:
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


def _write(arm: ImportedArm, recorder: Recorder, advance: Advance) -> _Entered:
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


def _again(arm: ImportedArm) -> Iterator[tuple[Trial, Question, Sample]]:
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


def _told(arm: ImportedArm, entered: _Entered, scorers: tuple[str, ...], mixed: str) -> Imported:
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


# Brings logs of other harnesses into a store, and says what came of it.


Read = Callable[[Path], Log]


def import_and_tell(
    read: Read,
    files: Sequence[Path],
    store: Path,
    *,
    condition: str | None = None,
    scorer: str | None = None,
    as_json: bool = False,
) -> str:
    """What to print. Raises InputError for a file that cannot be taken, then nothing was written; StoreError."""
    if not files:
        raise InputError("there is nothing to import", hint="Name the files of samples.", code="no_files")
    if condition is not None and name_of(condition, "") != condition:
        raise InputError(f"--condition: {one_line(condition)!r} is no name", code="bad_name")
    require_store_or_none(store)
    logs = [_with_condition(read(path), condition) for path in dict.fromkeys(files)]
    with _advancing() as advance:
        imported = import_logs(logs, store, scorer=scorer, advance=advance)
    return _json(imported) if as_json else "\n".join(_lines(imported, store))


def _with_condition(log: Log, condition: str | None) -> Log:
    if condition is None:
        return log
    return replace(log, condition=log.condition.model_copy(update={"name": condition}))


@contextmanager
def _advancing() -> Iterator[Callable[[int], None]]:
    """A bar on a terminal's standard error, which goes when all is done."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("samples", total=None)
        yield lambda count: progress.advance(task, count)


def _json(imported: Sequence[Imported]) -> str:
    told = [asdict(each) | {"file": str(each.file)} for each in imported]
    return json.dumps({"imported": told}, indent=2, ensure_ascii=False)


def _lines(imported: Sequence[Imported], store: Path) -> Iterator[str]:
    for each in imported:
        yield f"{one_line(str(each.file))}: {one_line(each.model)}, {one_line(each.condition)}"
        failed = f", {each.failed} failed" if each.failed else ""
        labels = f"; {counted(each.labels, 'label')} new" if each.labels else ""
        yield f"  {counted(each.samples, 'sample')}, {each.added} new{failed}{labels}"
        others = f"; also there: {', '.join(each.others)}" if each.others else ""
        yield f"  scored by {', '.join(each.scorers) or 'nobody'}{others}"
        yield from (f"  left out: {said}" for said in each.left_out)
        yield from (f"  {said}" for said in each.notes)
    yield f"Compare: toolablate compare {one_line(str(store))}"
