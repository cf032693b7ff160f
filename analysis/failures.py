"""The wrong answers of a store: each beside the right one, in groups by what they have in common."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Protocol, TypeVar

from toolablate.analysis.answer_relation import relation_of
from toolablate.analysis.comparison import METADATA
from toolablate.analysis.from_store import paired
from toolablate.analysis.pairing import RIGHT, counts, mean, unit
from toolablate.analysis.statistics.intervals import Interval, clustered_share
from toolablate.traces.errors import InputError
from toolablate.traces.records import Answer, Mechanism, Question, Score
from toolablate.traces.store import Outlines, Store, TrialSummary

KEYS = (
    *("relation", "mechanism", "flip", "model", "condition", "question", "domain", "difficulty", "language", "kind"),
    "verdict",
)
"""What failures are grouped and chosen by, beside `metadata.KEY`."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A trial that is scored wrong (below one half).

    `relation` is that of its answer to the right one (`answer_relation.RELATIONS`, or a scorer's own name). `flip` is
    `right` where the question is mostly right under the baseline, `wrong` where it is not, and empty where no trial of
    it counts there, and for the baseline itself. `mechanism` is None where it was not asked for, or has none.
    """

    seen: TrialSummary
    relation: str
    answer: str
    expected: str
    flip: str
    mechanism: Mechanism | None = None

    def values(self, key: str) -> tuple[str, ...]:
        """Of one of `KEYS`, or of `metadata.KEY`: several where the question's metadata has a list."""
        if key.startswith(METADATA):
            return dict(self.seen.metadata).get(key.removeprefix(METADATA), ("",))
        if key in ("relation", "flip"):
            return (getattr(self, key),)
        return (self.mechanism or "",) if key == "mechanism" else (str(getattr(self.seen, key) or ""),)


@dataclass(frozen=True, slots=True)
class Failures:
    """`trials` are those that count, wrong or not, of which so many are `wrong`: `failures` are these, or those of them
    that were chosen; `conditions` are in the order of the plan; `unscored` trials failed, or have no score."""

    failures: tuple[Failure, ...]
    trials: int
    conditions: tuple[str, ...]
    baseline: str
    unscored: int
    simulated: bool
    wrong: int


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Failures that have the same `values` of the keys that they are grouped by; `by_condition` counts them. `share` is
    of all wrong trials, in [0, 1], with its 95 % interval over questions (by their clusters)."""

    values: tuple[str, ...]
    failures: tuple[Failure, ...]
    by_condition: Mapping[str, int]
    share: float
    ci95: Interval


def read_failures(
    path: Path, *, run: str = "latest", scorer: str | None = None, baseline: str | None = None
) -> Failures:
    """Of the trials that `run` stands for as in `read_paired`, with the scores of one scorer. Raises InputError and
    StoreError."""
    with Outlines(path) as outlines:
        asked = {each.trial: each.question for each in outlines.trials()}
    with Store(path) as store, store.at_one_moment():
        found = paired(store, baseline=baseline, run=run, scorer=scorer)
        counting = [seen for seen in found.summaries if counts(seen)]
        wrong = [seen for seen in counting if (seen.value or 0.0) < RIGHT]
        scores = store.scores_of([seen.trial for seen in wrong])
        questions = {question.identity(): question for question in store.questions()}
        flips = baseline_sides(counting, found.baseline)
        failures = []
        for seen in wrong:
            question, score = questions[asked[seen.trial]], _score(seen, scores[seen.trial])
            reply = "" if score.extracted else _reply(store, seen.trial)
            failures.append(
                Failure(
                    seen,
                    relation_of(question, score, reply),
                    "; ".join(score.extracted) or ("" if score.verdict == "unparsed" else reply),
                    _expected(question),
                    "" if seen.condition == found.baseline else flips.get((seen.model, seen.question), ""),
                )
            )
    return Failures(
        tuple(failures),
        len(counting),
        tuple(sorted({seen.condition for seen in counting}, key=lambda name: _place(name, found.order))),
        found.baseline,
        len(found.summaries) - len(counting),
        any(seen.simulated for seen in counting),
        len(failures),
    )


def with_mechanisms(found: Failures, mechanisms: Mapping[str, Mechanism]) -> Failures:
    """By trial."""
    named = (replace(each, mechanism=mechanisms.get(each.seen.trial)) for each in found.failures)
    return replace(found, failures=tuple(named))


class Keyed(Protocol):
    """What is chosen by keys: see `Failure.values`."""

    def values(self, key: str) -> tuple[str, ...]: ...


Chosen = TypeVar("Chosen", bound=Keyed)


def chosen(found: Failures, wanted: Mapping[str, str]) -> Failures:
    """Those with these values of keys. Raises InputError for a key that there is not, and for a value that no failure
    has."""
    metadata = _metadata(found.failures)
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


def grouped(found: Failures, by: Sequence[str]) -> list[FailureGroup]:
    """By the values of these keys, crossed; the largest group first. A failure whose question's metadata has several
    values is in several groups. Raises InputError for a key that there is not."""
    metadata = _metadata(found.failures)
    for key in by:
        _require(key, KEYS, metadata, "Failures")
    groups: dict[tuple[str, ...], list[Failure]] = {}
    for failure in found.failures:
        for values in product(*(failure.values(key) for key in by)):
            groups.setdefault(values, []).append(failure)
    units = [unit(failure.seen) for failure in found.failures]

    def group(values: tuple[str, ...], own: Sequence[Failure]) -> FailureGroup:
        within = {each.seen.trial for each in own}
        share, ci95 = clustered_share([each.seen.trial in within for each in found.failures], units)
        return FailureGroup(values, tuple(own), Counter(each.seen.condition for each in own), share, ci95)

    made = (group(values, own) for values, own in groups.items())
    return sorted(made, key=lambda group: (-len(group.failures), group.values))


def sampled(found: Failures, by: Sequence[str], size: int, seed: int) -> tuple[Failures, dict[str, float]]:
    """At most `size` of each group, drawn at random; and of each drawn trial the probability that it is, for weights. A
    trial of several groups is taken for one of the first."""
    rng = random.Random(seed)  # noqa: S311 - a draw that can be repeated, not a secret
    chances: dict[str, float] = {}
    seen = set[str]()
    for group in sorted(grouped(found, by), key=lambda group: group.values):
        own = sorted({each.seen.trial for each in group.failures} - seen)
        seen.update(own)
        drawn = rng.sample(own, min(size, len(own)))
        chances |= dict.fromkeys(drawn, len(drawn) / max(1, len(own)))
    of_drawn = tuple(each for each in found.failures if each.seen.trial in chances)
    return replace(found, failures=of_drawn), chances


def _metadata(failures: Sequence[Failure]) -> list[str]:
    return sorted({name for failure in failures for name, _ in failure.seen.metadata})


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
    """The one that the summary has: of several scorers another may say otherwise."""
    return next(score for score in scores if (score.value, score.verdict) == (seen.value, seen.verdict))


def _reply(store: Store, trial: str) -> str:
    events = store.trace(trial).events
    return next((event.text for event in reversed(events) if isinstance(event, Answer)), "")


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
