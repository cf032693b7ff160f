"""What all exports share: which trials go out, what is known of each, files that are whole or not there, Ctrl-C."""

import signal
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from pydantic_core import PydanticSerializationError
from rich.console import Console
from rich.progress import Progress

from toolablate.analysis.attribution.evidence import Outlined
from toolablate.analysis.from_store import chosen_run
from toolablate.experiments.attribution.cases import scorers_of
from toolablate.experiments.attribution.explained import outlined
from toolablate.experiments.attribution.readings_cache import readings_of
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    Attribution,
    Condition,
    Diagnosis,
    Label,
    Model,
    Question,
    Record,
    ReplayDesign,
    Score,
    TaggedRecord,
    Trace,
)
from toolablate.traces.store import Store, TrialSummary

# What goes out of a store of one trial: its trace with everything that is known of it.


class Called(Record):
    """What question, model and condition are called in tables: by their names, and where records of the store share a
    name, by that and the beginning of their ids (`cot@1a2b3c4d`)."""

    question: str
    model: str
    condition: str


class Reasons(Record):
    """Why a trial went as it did: the attribution to go by, None for a trial that is right or that nobody explains, and
    what other methods say."""

    attribution: Attribution | None = None
    hypotheses: tuple[Attribution, ...] = ()


class Exported(TaggedRecord):
    """The current trace of one trial. A counterfactual's holds its own events only; `condition.resumed` says which
    trial it goes on from, at which event and with what change.

    `scores` are all that the trace has, by scorer and version; `diagnoses` are judges' words on a wrong trial, `labels`
    those of people, in the order in which they were said.
    """

    version: Literal[1] = 1
    trial: str
    called: Called
    trace: Trace
    question: Question
    model: Model
    condition: Condition
    scores: tuple[Score, ...] = ()
    reasons: Reasons = Reasons()
    diagnoses: tuple[Diagnosis, ...] = ()
    labels: tuple[Label, ...] = ()

    @property
    def parent(self) -> str | None:
        """The trial that a counterfactual goes on from."""
        return None if self.condition.resumed is None else self.condition.resumed.trial


def reasons(explained: Iterable[Outlined]) -> Mapping[str, Reasons]:
    """By trial, without the evidence."""
    return {
        each.evidence.inputs.trial: Reasons(attribution=each.attribution, hypotheses=each.hypotheses)
        for each in explained
        if each.attribution is not None or each.hypotheses
    }


# Which trials go out of a store.


@dataclass(frozen=True, slots=True)
class ExportChoice:
    """The ended trials that one `run` called for (the beginning of its id, or `latest`), or `all` that a store holds;
    of all models and conditions, or of those of these names; with `replays` the counterfactuals of these as well."""

    run: str = "all"
    models: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    replays: bool = False


@dataclass(frozen=True, slots=True)
class NamedTrial:
    """A trial by its id, and what its question, model and condition are called; of a counterfactual the condition is
    that of its parent."""

    trial: str
    called: Called
    replay: bool = False


def chosen(store: Store, choice: ExportChoice) -> tuple[NamedTrial, ...]:
    """In the order of the store, each trial before its counterfactuals. Raises InputError for a run, model or condition
    that is not there, StoreError."""
    seen = store.summaries(scorers=store.scorers(), run=_run(store, choice.run))
    _require_known("model", choice.models, [each.model for each in seen])
    _require_known("condition", choice.conditions, [each.condition for each in seen])
    wanted = [each for each in seen if _fits(each.model, choice.models) and _fits(each.condition, choice.conditions)]
    return tuple(_with_replays(store, wanted) if choice.replays else map(_chosen, wanted))


def _with_replays(store: Store, wanted: Sequence[TrialSummary]) -> Iterator[NamedTrial]:
    replays = store.counterfactuals(scorers=store.scorers())

    def of(parent: NamedTrial) -> Iterator[NamedTrial]:
        yield parent
        for each in replays.get(parent.trial, ()):
            if each.outcome is not None:
                # Which may have been gone on from in its turn.
                yield from of(NamedTrial(each.trial, parent.called, replay=True))

    for seen in wanted:
        yield from of(_chosen(seen))


def _chosen(seen: TrialSummary) -> NamedTrial:
    return NamedTrial(seen.trial, Called(question=seen.question, model=seen.model, condition=seen.condition))


def _run(store: Store, said: str) -> str | None:
    """The id of the run, None for all."""
    return None if said == "all" else chosen_run(store, said).id


def _fits(label: str, names: Sequence[str]) -> bool:
    """Records that share a name are labelled `name@digest`, and the name alone means all of them."""
    return not names or label in names or label.rpartition("@")[0] in names


def _require_known(key: Literal["model", "condition"], names: Sequence[str], labels: Sequence[str]) -> None:
    known = dict.fromkeys(labels)
    for name in names:
        if not any(_fits(label, [name]) for label in known):
            raise InputError(
                f"--{key}: no ended trial has the {key} {name!r}",
                hint=f"there are {', '.join(known) or 'none'}",
                code=f"unknown_{key}",
            )


# Reads out of a store what goes out of it, one trial after the other.


REMEMBERED = 1_000
"""Questions, models and conditions that are kept at hand."""

_NOTHING = Reasons()


def read_exported(
    store: Store, wanted: Iterable[NamedTrial], reasons: Mapping[str, Reasons] | None = None
) -> Iterator[Exported]:
    """The current traces of these trials, each with what belongs to it at one moment, also while a recorder writes.
    Holds one trial at a time. Raises StoreError."""
    known = reasons or {}
    labels: dict[str, list[Label]] = defaultdict(list)
    for label in store.labels():
        labels[label.trial].append(label)
    question, model = lru_cache(REMEMBERED)(store.question), lru_cache(REMEMBERED)(store.model)
    condition = lru_cache(REMEMBERED)(store.condition)
    for each in wanted:
        with store.at_one_moment():
            trace = store.trace(each.trial)
            scores, diagnoses = store.scores(each.trial), store.diagnoses(each.trial)
        under = condition(trace.trial.condition)
        called = each.called.model_copy(update={"condition": under.name}) if each.replay else each.called
        yield Exported(
            trial=each.trial,
            called=called,
            trace=trace,
            question=question(trace.trial.question),
            model=model(trace.trial.model),
            condition=under,
            scores=tuple(sorted(scores, key=lambda score: (score.scorer, score.scorer_version))),
            reasons=known.get(each.trial, _NOTHING),
            diagnoses=diagnoses,
            labels=tuple(labels.get(each.trial, ())),
        )


# Ctrl-C, also while pydantic works.


@contextmanager
def heeding_interrupts() -> Iterator[Callable[[], None]]:
    """Raises KeyboardInterrupt at once, and again where what is yielded is called, and at the end.

    Whatever is raised while pydantic calls back, it may take for an error of its own, or for a union's member that does
    not fit, and go on with the next.
    """
    pressed = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.default_int_handler(number, frame)

    def heed() -> None:
        if pressed:
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, note)
    try:
        yield heed
        heed()
    except PydanticSerializationError:
        heed()
        raise
    finally:
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, before)


# The trials of a store as a command's options choose them.


@dataclass(frozen=True, slots=True)
class Export:
    """`trials` are read one after the other, `count` in all; `scorers` are those whose scores count."""

    trials: Iterator[Exported]
    count: int
    scorers: Sequence[str]


@contextmanager
def exporting(path: Path, given: Mapping[str, Any]) -> Iterator[Export]:
    """By the options of `choosing`. Ends the program after Ctrl-C. Raises InputError where there is no such trial, or
    what was chosen is not there, StoreError."""
    choice = ExportChoice(
        run=given["run"],
        models=tuple(given["models"]),
        conditions=tuple(given["conditions"]),
        replays=given.get("replays", False),
    )
    try:
        with heeding_interrupts() as heed, Store(path) as store:
            wanted = chosen(store, choice)
            if not wanted:
                raise InputError(
                    f"{path} has no ended trial to export",
                    hint="run its plan, or choose other trials",
                    code="empty_store",
                )
            scorers = _scorers(store, given)
            known = _reasons(path, given, wanted, heed) if given["attributions"] and scorers else {}
            yield Export(_told(read_exported(store, wanted, known), len(wanted), heed), len(wanted), scorers)
    except KeyboardInterrupt:
        Console(stderr=True).print("Stopped.")
        raise SystemExit(1) from None


def _scorers(store: Store, given: Mapping[str, Any]) -> Sequence[str]:
    """Those of the run, or the only one that there is; raises InputError where one has to be named."""
    known = store.scorers()
    if given["scorer"] is None and len(known) < 2:
        return known
    found = scorers_of(store, ReplayDesign(scorer=given["scorer"] or ""), given["run"])
    if not found or set(found) - set(known):
        raise InputError(
            f"--scorer: scorers of {store.path}: {', '.join(known) or 'none'}",
            hint="name one of them",
            code="several_scorers" if given["scorer"] is None else "unknown_scorer",
        )
    return found


def _reasons(
    path: Path, given: Mapping[str, Any], wanted: Sequence[NamedTrial], heed: Callable[[], None]
) -> Mapping[str, Reasons]:
    def told(done: int, total: int) -> None:
        heed()
        progress.update(task, completed=done, total=total)

    with _bar() as progress:
        task = progress.add_task("why trials went as they did", total=None)
        found = outlined(
            path,
            run=given["run"],
            models=tuple({each.called.model for each in wanted}),
            conditions=tuple({each.called.condition for each in wanted}),
            scorer=given["scorer"],
            told=told,
            kept=readings_of(path),
        )
    return reasons(found.explained)


def _told(trials: Iterable[Exported], total: int, heed: Callable[[], None]) -> Iterator[Exported]:
    """With a bar beside them."""
    with _bar() as progress:
        for each in progress.track(trials, total=total, description="trials"):
            heed()
            yield each
            heed()


def _bar() -> Progress:
    """On a terminal's standard error, which goes when all is done."""
    console = Console(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Says on a terminal's standard error what takes its time and cannot say how far it is."""
    console = Console(stderr=True)
    with console.status(what) if console.is_terminal else nullcontext():
        yield
