"""What a log of another harness says, in our records."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from toolablate.traces.records import Condition, Environment, Event, Model, Outcome, Question, Score, Usage


@dataclass(frozen=True, slots=True)
class Sample:
    """One attempt at a question, as a log has it.

    `name` is what the log calls the question, unique in it; `where` says which sample of which file it is. `scores`
    name no trial and no answer key yet: those are known once it is known which question of the store it is. `left_out`
    has, by scorer, why a value is no score.
    """

    name: str
    where: str
    question: Question
    repeat: int
    outcome: Outcome
    started_at: datetime
    seconds: float
    events: tuple[Event, ...]
    usage: Usage
    cost_usd: float | None
    environment: Environment
    scores: tuple[Score, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Log:
    """One arm: what one model did under one condition.

    `id` tells the log from others of its harness. `samples` reads them anew each time that it is called, one at a time,
    and raises InputError for one that cannot be taken. `preferred` are the scorers whose scores the log shows first;
    `baseline` is "" where it names none.
    """

    harness: str
    file: Path
    id: str
    model: Model
    condition: Condition
    samples: Callable[[], Iterator[Sample]]
    preferred: tuple[str, ...] = ()
    baseline: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of one log: `added` of its samples are new to the store, `failed` ended without an answer. Tables show
    the scores of `scorers`; `others` are kept beside them, and `left_out` says what could not be taken, and why."""

    file: Path
    model: str
    condition: str
    samples: int
    added: int
    failed: int
    scorers: tuple[str, ...]
    others: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
