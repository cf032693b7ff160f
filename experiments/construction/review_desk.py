"""What a pipeline has for people to review just now, by person; several people and a build may be at it at once."""

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from toolablate.benchmarks.rows.row_errors import LineError
from toolablate.experiments.construction.approvals import load_reviewed
from toolablate.experiments.construction.building import passed
from toolablate.experiments.construction.kinds import load_items, stages_of
from toolablate.experiments.construction.pipeline import Pipeline
from toolablate.experiments.construction.review import (
    Agreement,
    Review,
    Reviewed,
    SidesError,
    agreement,
    decision_of,
    said_now,
    seen_of,
    sides_digest,
    sides_of,
    still_kept,
    waits_for,
    was_shown_sides,
    words_of,
)
from toolablate.experiments.construction.stages import Content
from toolablate.experiments.construction.workbench import Decision, Workbench, person_key

Task = Literal["review", "adjudication"]


@dataclass(frozen=True)
class ToReview:
    """The items that came to a review as they are now, by id: `seen` are their digests, `said` what people said of
    them, `words` also of who decided between sides that say otherwise by now, and `decisions` all that was ever decided
    and may be kept still. A person is known by name, whatever its capitals."""

    pipeline: Pipeline
    review: Review
    contents: Mapping[str, Content]
    seen: Mapping[str, str]
    said: Mapping[str, Sequence[Decision]]
    words: Mapping[str, Sequence[Decision]]
    decisions: Mapping[str, Sequence[Decision]]

    def with_decisions(self, decisions: Iterable[Decision]) -> "ToReview":
        """Where these are all that were made on their items. Those on other items are not looked at."""
        made: dict[str, list[Decision]] = {}
        for each in decisions:
            made.setdefault(each.item, []).append(each)
        kept = {item: still_kept(each, self.contents, self.seen, self.reviewed) for item, each in made.items()}
        every = list(chain.from_iterable(kept.values()))
        none: dict[str, list[Decision]] = {item: [] for item in made}
        return replace(
            self,
            said={**self.said, **none, **said_now(every, self.seen, self.review.reviewers)},
            words={**self.words, **none, **words_of(every, self.seen)},
            decisions={**self.decisions, **kept},
        )

    @property
    def reviewed(self) -> Reviewed:
        return self.review.reviewed

    @cached_property
    def waiting(self) -> Mapping[str, Task]:
        """What each item waits for that waits."""
        return {item: waits for item in self.contents if (waits := self.waits_for(item))}

    def waits_for(self, item: str) -> Task | Literal[""]:
        number = self.review.reviewers
        return waits_for(self.said.get(item, ()), number) if number else ""

    @cached_property
    def agreement(self) -> Agreement:
        every = list(chain.from_iterable(self.decisions.values()))
        return agreement(every, self.seen, self.review.reviewers)

    def own(self, item: str, person: str) -> Decision | None:
        return next((each for each in self.said.get(item, ()) if _is(each, person)), None)

    def decided(self, person: str) -> Iterator[Decision]:
        """What the person said, by items in their order."""
        return (each for item in self.contents if (each := self.own(item, person)) is not None)

    def tasks(self, person: str, task: Task) -> list[str]:
        """The items that this person may review or decide on: on none has anybody a second word."""
        return [
            item
            for item, waits in self.waiting.items()
            if waits == task
            and self.own(item, person) is None
            and not self.reviewed.is_by(self.contents[item], person)
            and not (task == "review" and self.knows(item, person))
        ]

    def knows(self, item: str, person: str) -> bool:
        """Whether the person has decided between others, and so read what they said: who did reviews it no more."""
        return any(_is(each, person) and was_shown_sides(each) for each in self.words.get(item, ()))

    def sides(self, item: str, person: str) -> Sequence[Decision]:
        """What the first people said who differ, for a person who is none of them; () for all others."""
        sides = sides_of(self.said.get(item, ()), self.review.reviewers)
        return () if any(_is(each, person) for each in sides) else sides


def _is(decision: Decision, person: str) -> bool:
    return person_key(decision.reviewer) == person_key(person)


AT_IT_SECONDS = 900.0
"""For so long whoever opened an item is taken to be at it."""


class Desk:
    """Of one workbench, which is open `beside` others. Any thread may use it.

    What came to review is read anew when the pipeline's files or what others wrote have changed: the stages that this
    touches are gone through, without asking a model. Raises InputError and StoreError."""

    def __init__(self, path: Path, bench: Workbench) -> None:
        self._path, self._bench = path, bench
        self._lock = threading.Lock()
        self._of: object = None
        self._kept: ToReview | None = None
        self._stages: dict[str, tuple[object, Mapping[str, Content]]] = {}
        self._until = 0.0
        self._at: dict[str, tuple[str, float]] = {}
        self._places = threading.Lock()

    def look(self, *, fresh: bool = True) -> ToReview:
        """Where that is not to be `fresh`, a build that writes all the time takes a tenth of the time for reading."""
        with self._lock:
            if not fresh and self._kept is not None and time.monotonic() < self._until:
                return self._kept
            return self._look()

    def decide(self, row: Mapping[str, Any]) -> ToReview:
        """Keeps one decision as `build decide` does, of who was shown these `sides`. Raises LineError (see
        `decision_of`): SidesError where they are others by now."""
        with self._lock:
            now = self._look()
            decision = decision_of(row, now.contents, now.reviewed)
            item, then = decision.item, now

            def require_shown(before: Sequence[Decision]) -> None:
                # Others may have decided since the look, also in another process.
                nonlocal then
                shown = now.with_decisions(before)
                if decision.sides != sides_digest(shown.sides(item, decision.reviewer)):
                    raise SidesError("sides: others have decided meanwhile")
                if shown.waits_for(item) == "review" and shown.knows(item, decision.reviewer):
                    raise LineError(
                        f"reviewer: {decision.reviewer} has read what others said; others have to review it"
                    )
                then = now.with_decisions([*before, decision])

            self._bench.decide([decision], require_shown)
            self._kept = then
            if not self._kept.waiting and now.review.name != Review.name:
                # The next review may have items that wait, and the last one has no next.
                self._of, self._until = None, 0.0
            return self._kept

    def history(self, now: ToReview, item: str, person: str) -> list[tuple[Decision, float]]:
        """All that was said of an item, with the time of each; while any item waits, what this person said alone."""
        with self._lock:
            said = self._bench.history(item)
        return [each for each in said if not now.waiting or _is(each[0], person)]

    def opened(self, item: str, person: str) -> None:
        """This person is at the item from now on, and at no other."""
        with self._places:
            self._at[person_key(person)] = item, time.monotonic()

    def give(self, now: ToReview, person: str, task: Task, here: str = "") -> str | None:
        """The next item after `here`, then the first, that waits for this person, who is at it from now on: one that
        nobody is at before others, and last those for which there are people enough. None where none waits."""
        needed = now.review.reviewers + (task == "adjudication")
        places = {item: place for place, item in enumerate(now.contents)}
        with self._places:
            people = self._people(person_key(person))

            def rank(item: str) -> tuple[bool, bool, bool, int]:
                said = {person_key(each.reviewer) for each in now.said.get(item, ())}
                others = people.get(item, set()) - said
                late = places[item] <= places.get(here, -1)
                return len(said) + len(others) >= needed, bool(others), late, places[item]

            found = min((item for item in now.tasks(person, task) if item != here), key=rank, default=None)
            if found is None:
                self._at.pop(person_key(person), None)
            else:
                self._at[person_key(person)] = found, time.monotonic()
        return found

    def _people(self, beside: str) -> dict[str, set[str]]:
        """Who is at each item, but for one person."""
        since = time.monotonic() - AT_IT_SECONDS
        found: dict[str, set[str]] = {}
        for person, (item, at) in self._at.items():
            if person != beside and at > since:
                found.setdefault(item, set()).add(person)
        return found

    def _look(self) -> ToReview:
        if self._kept is None or self._as_it_is(self._kept.pipeline) != self._of:
            began = time.monotonic()
            pipeline = load_reviewed(self._path)
            # What is written while this reads is seen the next time.
            of = self._as_it_is(pipeline)
            self._kept = self._arrived(pipeline)
            self._of = of
            self._until = (ended := time.monotonic()) + 9 * (ended - began)
        return self._kept

    def _as_it_is(self, pipeline: Pipeline) -> object:
        return self._bench.others_wrote(), *map(_stamp, (str(self._path), *_read(pipeline)))

    def _arrived(self, pipeline: Pipeline) -> ToReview:
        """At the first review at which any item waits, else at the last one to which any came. A stage is gone through
        again where its steps, its settings or what comes to it have changed."""
        contents: Mapping[str, Content] = load_items(pipeline)
        files = [*map(_stamp, _read(pipeline))]
        found: ToReview | None = None
        for stage in stages_of(pipeline, self._bench):
            if isinstance(stage, Review):
                if contents or found is None:
                    found = _to_review(pipeline, stage, contents, self._bench.decisions())
                if found.waiting or stage.name == Review.name:
                    break
                contents = passed(pipeline, self._bench, stage, contents).kept
                continue
            model = pipeline.model_of(stage.role).identity() if stage.role else ""
            of = (self._bench.step_count(stage.name), stage.settings(), model, pipeline.request_chars, files, contents)
            known, kept = self._stages.get(stage.name, (None, {}))
            if known != of:
                kept = passed(pipeline, self._bench, stage, contents).kept
                self._stages[stage.name] = of, kept
            contents = kept
        assert found is not None
        return found


def _to_review(
    pipeline: Pipeline, review: Review, contents: Mapping[str, Content], decisions: Iterable[Decision]
) -> ToReview:
    return ToReview(pipeline, review, contents, seen_of(contents), {}, {}, {}).with_decisions(decisions)


def _read(pipeline: Pipeline) -> tuple[str, ...]:
    return (pipeline.items, *pipeline.duplicates.against, *pipeline.prompts.values())


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
