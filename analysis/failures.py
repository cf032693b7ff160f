"""The wrong answers of a store: each beside the right one, in groups by what they have in common."""

import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from toolablate.analysis.answer_relation import relation_of
from toolablate.analysis.clusters import Cluster, clustered, tokens_of
from toolablate.analysis.comparison import METADATA
from toolablate.analysis.event_texts import texts_of
from toolablate.analysis.from_store import paired
from toolablate.analysis.pairing import RIGHT, Unit, counts, mean, unit
from toolablate.analysis.statistics.intervals import Interval, share_over_units
from toolablate.traces.errors import InputError
from toolablate.traces.records import Mechanism, Question, Score
from toolablate.traces.store import Outlines, Store, TrialSummary

KEYS = (
    *("relation", "mechanism", "cluster", "flip", "model", "condition", "question", "domain", "difficulty"),
    *("language", "kind", "verdict"),
)
"""What failures are grouped and chosen by, beside `metadata.KEY`."""

Metadata = tuple[tuple[str, tuple[str, ...]], ...]


class Keyed(Protocol):
    """What is chosen by keys: see `Failure.values`."""

    def values(self, key: str) -> tuple[str, ...]: ...


class Failed(Keyed, Protocol):
    """A wrong trial, as far as it is grouped."""

    @property
    def trial(self) -> str: ...
    @property
    def condition(self) -> str: ...
    @property
    def unit(self) -> Unit: ...
    @property
    def metadata(self) -> Metadata: ...


Chosen = TypeVar("Chosen", bound=Keyed)
One = TypeVar("One", bound=Failed)


@dataclass(frozen=True, slots=True)
class Failure:
    """A trial that is scored wrong (below one half).

    `relation` is that of its answer to the right one (`answer_relation.RELATIONS`, or a scorer's own name). `flip` is
    `right` where the question is mostly right under the baseline, `wrong` where it is not, and empty where no trial of
    it counts there, and for the baseline itself. `mechanism` is None where it was not asked for, or has none;
    `turned_at` is the event where it turned, None where that is not known. `said` are the texts of that event, or what
    the model wrote last; "" where they were not asked for. `cluster` names that of what it says.
    """

    seen: TrialSummary
    relation: str
    answer: str
    expected: str
    flip: str
    mechanism: Mechanism | None = None
    turned_at: int | None = None
    said: str = ""
    cluster: str = ""

    @property
    def trial(self) -> str:
        return self.seen.trial

    @property
    def condition(self) -> str:
        return self.seen.condition

    @property
    def unit(self) -> Unit:
        return unit(self.seen)

    @property
    def metadata(self) -> Metadata:
        return self.seen.metadata

    def values(self, key: str) -> tuple[str, ...]:
        """Of one of `KEYS`, or of `metadata.KEY`: several where the question's metadata has a list."""
        if key.startswith(METADATA):
            return dict(self.seen.metadata).get(key.removeprefix(METADATA), ("",))
        if key in ("relation", "flip", "cluster"):
            return (getattr(self, key),)
        return (self.mechanism or "",) if key == "mechanism" else (str(getattr(self.seen, key) or ""),)


@dataclass(frozen=True, slots=True)
class Failures(Generic[One]):
    """`trials` are those that count, wrong or not, of which so many are `wrong`: `failures` are these, or those of them
    that were chosen; `conditions` are in the order of the plan; `unscored` trials failed, or have no score. `clusters`
    are those of what they say, None where nobody asked."""

    failures: tuple[One, ...]
    trials: int
    conditions: tuple[str, ...]
    baseline: str
    unscored: int
    simulated: bool
    wrong: int
    clusters: tuple[Cluster, ...] | None = None


@dataclass(frozen=True, slots=True)
class FailureGroup(Generic[One]):
    """Failures that have the same `values` of the keys that they are grouped by; `by_condition` counts them. `share` is
    of all that were grouped, in [0, 1], with its 95 % interval over questions (by their clusters)."""

    values: tuple[str, ...]
    failures: tuple[One, ...]
    by_condition: Mapping[str, int]
    share: float
    ci95: Interval


def read_failures(
    path: Path,
    *,
    run: str = "latest",
    scorer: str | None = None,
    baseline: str | None = None,
    turned: Mapping[str, int | None] | None = None,
) -> Failures[Failure]:
    """Of the trials that `run` stands for as in `read_paired`, with the scores of one scorer; with what they say where
    `turned` has the events at which trials turned. Raises InputError and StoreError."""
    with Store(path) as store, Outlines(path) as outlines, store.at_one_moment():
        asked = {each.trial: each.question for each in outlines.trials()}
        found = paired(store, baseline=baseline, run=run, scorer=scorer)
        counting = [seen for seen in found.summaries if counts(seen)]
        wrong = [seen for seen in counting if is_wrong(seen)]
        flips = baseline_sides(counting, found.baseline)
        failures = tuple(
            replace(each, flip=flips.get((each.seen.model, each.seen.question), ""))
            if each.condition != found.baseline
            else each
            for each in described(store, outlines, wrong, asked, turned)
        )
    return Failures(
        failures,
        len(counting),
        tuple(sorted({seen.condition for seen in counting}, key=lambda name: _place(name, found.order))),
        found.baseline,
        len(found.summaries) - len(counting),
        any(seen.simulated for seen in counting),
        len(failures),
    )


def is_wrong(seen: TrialSummary) -> bool:
    return counts(seen) and (seen.value or 0.0) < RIGHT


AT_ONCE = 500
MOST_ALIKE = 100


def described(
    store: Store,
    outlines: Outlines,
    wrong: Sequence[TrialSummary],
    asked: Mapping[str, str],
    turned: Mapping[str, int | None] | None,
) -> Iterator[Failure]:
    """Each of these wrong trials, without flip and mechanism; `asked` has the ids of their questions. Traces are read
    of those of which nothing was extracted, and of all where `turned` asks for what they say. Raises StoreError."""
    questions: dict[str, Question] = {}
    for start in range(0, len(wrong), AT_ONCE):
        some = wrong[start : start + AT_ONCE]
        scores = store.scores_of([seen.trial for seen in some])
        scored = [(seen, _score(seen, scores[seen.trial])) for seen in some]
        to_read = [seen.trial for seen, score in scored if turned is not None or not score.extracted]
        events = dict(outlines.events(to_read)) if to_read else {}
        for seen, score in scored:
            identity = asked[seen.trial]
            if identity not in questions:
                questions[identity] = store.question(identity)
            own = events.get(seen.trial, ())
            yield _failure(seen, questions[identity], score, own, turned)


def _failure(
    seen: TrialSummary,
    question: Question,
    score: Score,
    events: Sequence[Mapping[str, Any]],
    turned: Mapping[str, int | None] | None,
) -> Failure:
    reply = "" if score.extracted else next((each["text"] for each in reversed(events) if each["kind"] == "answer"), "")
    at = (turned or {}).get(seen.trial)
    return Failure(
        seen,
        relation_of(question, score, reply),
        "; ".join(score.extracted) or ("" if score.verdict == "unparsed" else reply),
        _expected(question),
        "",
        turned_at=at,
        said="" if turned is None else said_at(events, at),
    )


SAID_CHARS = 400


def said_at(events: Sequence[Mapping[str, Any]], turned_at: int | None) -> str:
    """The texts of an event, or where it has none, or none is named, of the last one before with some: code with its
    output, or what the model wrote. Of long texts the beginning, of what the model wrote the end, where it concludes.
    """
    texts = [each for each in texts_of(events) if turned_at is None or each.event <= turned_at]
    if not texts:
        return ""
    last = texts[-1].event
    own = [each for each in texts if each.event == last]
    return "\n".join(
        each.text[-SAID_CHARS:] if each.column in ("reply", "answer") else each.text[:SAID_CHARS] for each in own
    )


def with_mechanisms(found: Failures[Failure], mechanisms: Mapping[str, Mechanism]) -> Failures[Failure]:
    """By trial."""
    named = (replace(each, mechanism=mechanisms.get(each.seen.trial)) for each in found.failures)
    return replace(found, failures=tuple(named))


def with_clusters(
    found: Failures[Failure], prompts: Mapping[str, str], vectors: Mapping[str, Sequence[float]] | None = None
) -> Failures[Failure]:
    """By what they say; `prompts` are those of their questions, by name, `vectors` those of an endpoint, by trial."""
    known = {name: frozenset(tokens_of(text)) for name, text in prompts.items()}
    words = {each.trial: words_of(each.said, each.answer, known.get(each.seen.question, ())) for each in found.failures}
    made = clustered(words, vectors=vectors)
    named = (replace(each, cluster=made.of[each.trial]) for each in found.failures)
    return replace(found, failures=tuple(named), clusters=made.clusters)


def most_alike(
    found: Failures[One], trial: str, alike: Mapping[str, float], *, most: int = MOST_ALIKE
) -> Failures[One]:
    """Those that say what a trial says, the most alike first; without the trial itself. `alike` has how much, by
    trial."""
    there = {each.trial: each for each in found.failures if each.trial != trial}
    nearest = sorted((name for name in alike if name in there), key=lambda name: (-alike[name], name))[:most]
    return replace(found, failures=tuple(there[name] for name in nearest))


def words_of(said: str, answer: str, asked: Collection[str]) -> list[str]:
    """Of a failure, as clusters are made of them: without the words of its question, which tell what it is about."""
    return tokens_of(f"{said}\n{answer[:SAID_CHARS]}", without=asked)


def chosen(found: Failures[One], wanted: Mapping[str, str]) -> Failures[One]:
    """Those with these values of keys. Raises InputError for a key that there is not, and for a value that no failure
    has."""
    metadata = metadata_keys(found.failures)
    left = chosen_among(found.failures, wanted, keys=KEYS, metadata=metadata, what="Failures", one="wrong trial")
    return replace(found, failures=tuple(left))


def chosen_among(
    items: Sequence[Chosen],
    wanted: Mapping[str, str],
    *,
    keys: Sequence[str],
    metadata: Sequence[str],
    what: str,
    one: str,
) -> Sequence[Chosen]:
    """Those with all of these values, of `keys` and of these keys of metadata; errors call them `what`, one of them
    `one`. Raises InputError as `chosen` does."""
    left = items
    for key, value in wanted.items():
        _require(key, keys, metadata, what)
        if not any(value in item.values(key) for item in items):
            there = {each for item in items for each in item.values(key)}
            raise InputError(
                f"--where {key}={value}: no {one} has that",
                hint=f"there are {', '.join(sorted(filter(None, there))) or 'none'}",
                code="unknown_value",
            )
        left = [item for item in left if value in item.values(key)]
    return left


def grouped(found: Failures[One], by: Sequence[str], *, most: int | None = None) -> list[FailureGroup[One]]:
    """By the values of these keys, crossed; the largest group first, at most so many. A failure whose question's
    metadata has several values is in several groups. Raises InputError for a key that there is not."""
    metadata = metadata_keys(found.failures)
    for key in by:
        _require(key, KEYS, metadata, "Failures")
    groups: dict[tuple[str, ...], list[int]] = {}
    for place, failure in enumerate(found.failures):
        for values in dict.fromkeys(product(*(failure.values(key) for key in by))):
            groups.setdefault(values, []).append(place)
    numbers: dict[Unit, int] = {}
    units = np.array([numbers.setdefault(failure.unit, len(numbers)) for failure in found.failures], dtype=np.int64)
    sizes = np.bincount(units).astype(float).tolist()

    def group(values: tuple[str, ...], places: Sequence[int]) -> FailureGroup[One]:
        share, ci95 = share_over_units(np.bincount(units[places], minlength=len(sizes)).astype(float).tolist(), sizes)
        own = tuple(found.failures[place] for place in places)
        return FailureGroup(values, own, Counter(each.condition for each in own), share, ci95)

    largest = sorted(groups, key=lambda values: (-len(groups[values]), values))
    return [group(values, groups[values]) for values in largest[:most]]


def sampled(found: Failures[One], by: Sequence[str], size: int, seed: int) -> tuple[Failures[One], dict[str, float]]:
    """At most `size` of each group, drawn at random; and of each drawn trial the probability that it is, for weights. A
    trial of several groups is taken for one of the first."""
    rng = random.Random(seed)  # noqa: S311 - a draw that can be repeated, not a secret
    chances: dict[str, float] = {}
    seen = set[str]()
    for group in sorted(grouped(found, by), key=lambda group: group.values):
        own = sorted({each.trial for each in group.failures} - seen)
        seen.update(own)
        drawn = rng.sample(own, min(size, len(own)))
        chances |= dict.fromkeys(drawn, len(drawn) / max(1, len(own)))
    of_drawn = tuple(each for each in found.failures if each.trial in chances)
    return replace(found, failures=of_drawn), chances


def metadata_keys(failures: Sequence[Failed]) -> list[str]:
    return sorted({name for metadata in {each.metadata for each in failures} for name, _ in metadata})


def _require(key: str, keys: Sequence[str], metadata: Sequence[str], what: str) -> None:
    if key in keys or (key.startswith(METADATA) and key.removeprefix(METADATA) in metadata):
        return
    there_are = [*keys, *(f"{METADATA}{name}" for name in metadata)]
    raise InputError(f"{what} have no {key!r}", hint=f"one of: {', '.join(there_are)}", code="unknown_key")


def baseline_sides(counting: Iterable[TrialSummary], baseline: str) -> dict[tuple[str, str], str]:
    """Of each model and question whether it is mostly right under the baseline: `right` or `wrong`; of trials that
    count."""
    values: dict[tuple[str, str], list[float]] = {}
    for seen in counting:
        if seen.condition == baseline:
            values.setdefault((seen.model, seen.question), []).append(seen.value or 0.0)
    return {of: "right" if mean(each) >= RIGHT else "wrong" for of, each in values.items()}


def _place(name: str, order: Sequence[str]) -> tuple[int, str]:
    return (order.index(name) if name in order else len(order), name)


def _score(seen: TrialSummary, scores: Sequence[Score]) -> Score:
    """The newest that the summary may have: of several scorers another may say otherwise. Where it was scored again
    since the summary was read, the newest of all."""
    return next(
        (score for score in reversed(scores) if (score.value, score.verdict) == (seen.value, seen.verdict)), scores[-1]
    )


def _expected(question: Question) -> str:
    target = question.target
    match target.kind:
        case "choice":
            return ", ".join(target.letters)
        case "number":
            return f"{target.value:g}"
        case "spans":
            return "; ".join(target.stated)
        case "text" | "math":
            return target.answers[0]
        case "regex":
            return target.pattern
        case "reference":
            return target.answer
        case _:
            return ""
