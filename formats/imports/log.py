"""What a log of another harness says, in our records."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from toolablate.traces.records import Condition, Environment, Event, Label, Model, Outcome, Question, Score, Usage


@dataclass(frozen=True, slots=True)
class Sample:
    """One attempt at a question, as a log has it.

    `name` is what the log calls the question, unique in it; `where` says which sample of which file it is. `scores`
    name no trial and no answer key yet: those are known once it is known which question of the store it is; `labels`,
    in the order in which people gave them, name none either. `left_out` has, by scorer, why a value is no score.
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
    labels: tuple[Label, ...] = ()


@dataclass(frozen=True, slots=True)
class Log:
    """One arm: what one model did under one condition.

    `id` tells the log from others of its harness. `samples` reads them anew each time that it is called, one at a time,
    and raises InputError for one that cannot be taken. `preferred` are the scorers whose scores the log shows first;
    several count together, each for its kind of question. `baseline` is "" where it names none; `place` is that of
    model and condition among those of the study that the log was written of.
    """

    harness: str
    file: Path
    id: str
    model: Model
    condition: Condition
    samples: Callable[[], Iterator[Sample]]
    preferred: tuple[str, ...] = ()
    baseline: str = ""
    place: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of one log: `added` of its samples and `labels` of people are new to the store, `failed` samples ended
    without an answer. Tables show the scores of `scorers`; `others` are kept beside them, and `left_out` says what
    could not be taken, and why."""

    file: Path
    model: str
    condition: str
    samples: int
    added: int
    failed: int
    labels: int
    scorers: tuple[str, ...]
    others: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
