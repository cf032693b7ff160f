"""Queues: which wrong trials people label, drawn by chance, and who labels which."""

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, ValidationError, model_validator

from toolablate.analysis.failures import Failure, Failures, sampled
from toolablate.traces.errors import InputError
from toolablate.traces.records._base import Record
from toolablate.traces.validation import explain, why_unreadable


class QueueItem(Record):
    """A trial that `people` label. It was drawn of its `group` with `inclusion_probability`."""

    trial: str
    group: tuple[str, ...] = ()
    inclusion_probability: float = Field(gt=0, le=1)
    people: tuple[str, ...] = Field(min_length=1)


class LabelQueue(Record):
    """Trials in the order in which they are labelled. `store` is the id of its first run, which copies share; `by` are
    the keys of groups."""

    version: Literal[1] = 1
    store: str
    by: tuple[str, ...]
    seed: int
    items: tuple[QueueItem, ...]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        for trial, count in Counter(item.trial for item in self.items).items():
            if count > 1:
                raise ValueError(f"items: trial {trial!r} is there {count} times")
        return self

    @property
    def people(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(person for item in self.items for person in item.people))

    def of(self, person: str) -> tuple[str, ...]:
        """The trials that a person labels, in their order."""
        return tuple(item.trial for item in self.items if person in item.people)


def drawn_queue(
    found: Failures[Failure],
    by: Sequence[str],
    *,
    store: str,
    each: int,
    people: Sequence[str],
    double: float,
    seed: int,
) -> LabelQueue:
    """At most `each` failures of a group, and who labels them: so many trials each, within one. A share of `double` is
    labelled by two, by every two people about as often. The order is random, so that who stops early has labelled a
    random part. Raises InputError for a key that there is not."""
    chosen, chances = sampled(found, by, each, seed)
    rng = random.Random(seed + 1)  # noqa: S311 - a draw that can be repeated, not a secret
    failures = {failure.seen.trial: failure for failure in chosen.failures}
    trials = sorted(failures)
    rng.shuffle(trials)
    twice = set(rng.sample(trials, round(double * len(trials)))) if len(people) > 1 else set[str]()
    load, pairs = Counter[str](), Counter[frozenset[str]]()
    who: dict[str, tuple[str, ...]] = {}
    for trial in sorted(twice) + [trial for trial in trials if trial not in twice]:
        first = min(people, key=lambda person: (load[person], rng.random()))
        own = [first]
        if trial in twice:
            others = [person for person in people if person != first]
            own.append(min(others, key=lambda other: (pairs[frozenset((first, other))], load[other], rng.random())))
            pairs[frozenset(own)] += 1
        load.update(own)
        who[trial] = tuple(sorted(own))
    items = (
        QueueItem(
            trial=trial,
            group=tuple(", ".join(failures[trial].values(key)) for key in by),
            inclusion_probability=chances[trial],
            people=who[trial],
        )
        for trial in trials
    )
    return LabelQueue(store=store, by=tuple(by), seed=seed, items=tuple(items))


def queue_text(queue: LabelQueue) -> str:
    return json.dumps(queue.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"


def read_queue(path: Path) -> LabelQueue:
    """Raises InputError for what is no queue."""
    hint = "it is the file that `toolablate labels queue STORE -o queue.json` writes"
    try:
        return LabelQueue.model_validate(json.loads(path.read_text(encoding="utf-8-sig")))
    except (OSError, UnicodeDecodeError) as error:
        said = f"cannot read {path}: {why_unreadable(error)}"
    except ValidationError as error:
        said = f"{path}: {explain(error, LabelQueue)}"
    except (ValueError, RecursionError) as error:
        said = f"{path} is no JSON: {error}"
    raise InputError(f"--queue: {said}", hint=hint, code="bad_queue")


def require_reader(queue: LabelQueue, person: str, store: str) -> None:
    """Raises InputError where the queue is of another store, or has nothing for this person."""
    if queue.store != store:
        raise InputError("--queue: it is of another store", hint="draw one of this store", code="other_store")
    if person not in queue.people:
        raise InputError(
            f"--queue: nothing in it is for {person!r}",
            hint=f"--person NAME, one of: {', '.join(queue.people) or 'nobody'}",
            code="unknown_person",
        )
