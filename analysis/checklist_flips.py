"""Items of checklists that change between a condition and its baseline, beside those that change by chance."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Literal

from toolablate.analysis.checklist_measures import NA_RULES, NaRule, mean_of, sample_values, silenced
from toolablate.analysis.checklists import Figure
from toolablate.analysis.statistics.intervals import RESAMPLES, Interval, bootstrap_intervals
from toolablate.traces.errors import InputError
from toolablate.traces.records import ItemScore

Event = Literal["gained", "lost", "falsified", "newly_silent", "newly_filled", "overfilled"]
"""What became of an item from a run of the baseline to a run of the condition.

gained, lost     it became right (each text contains the other), or was right
falsified        both answers fill it; the reference contained the baseline's text, and does not contain the condition's
newly_silent     only the baseline fills it
newly_filled     only the condition fills it
overfilled       the reference leaves it "N/A", and only the condition fills it
"""
Change = Callable[[ItemScore, ItemScore], bool]


def _right(item: ItemScore) -> bool:
    return item.precision and item.recall


CHANGES: Mapping[Event, Change] = {
    "gained": lambda old, new: new.expected and _right(new) and not _right(old),
    "lost": lambda old, new: new.expected and _right(old) and not _right(new),
    "falsified": lambda old, new: new.expected and old.filled and new.filled and old.precision and not new.precision,
    "newly_silent": lambda old, new: new.expected and old.filled and not new.filled,
    "newly_filled": lambda old, new: new.expected and new.filled and not old.filled,
    "overfilled": lambda old, new: not new.expected and new.filled and not old.filled,
}


@dataclass(frozen=True, slots=True)
class CheckedTrial:
    """A trial with the table of its checklist. `unit` is what is independent: its cluster, else its question; `trial`
    its id, where somebody wants it."""

    model: str
    condition: str
    question: str
    unit: object
    items: tuple[ItemScore, ...]
    trial: str = ""


@dataclass(frozen=True, slots=True)
class ItemChange:
    """An event between single runs, in shares of the items that it can befall (those that the reference has; for
    `overfilled` those that it has not).

    share       expected over the choice of the runs
    noise       the same between two runs of the baseline, over the questions that have several; None without any
    excess      the share less the noise over those questions, with a 95 % interval over clusters: what chance leaves
    """

    event: Event
    items: int
    share: float | None
    noise: float | None
    excess: Figure


@dataclass(frozen=True, slots=True)
class RuleEffect:
    """The difference of mean F1 under one rule, and what an answer that says nothing has under it."""

    na: NaRule
    baseline: float | None
    condition: float | None
    difference: Figure
    silent: float | None


@dataclass(frozen=True, slots=True)
class ChecklistEffect:
    """One model and condition against its baseline, over the questions that have a scored checklist on both sides.

    coverage        the difference of the share of items filled, of those that the reference has
    accuracy        the difference of the share of right items, over those that both answers fill: so a condition that
                    fills more and harder items does not look less accurate for it
    signature       of retrieval distraction: coverage is up and accuracy down, both beyond their intervals; None where
                    either has none
    sign_depends    the differences of F1 under `published` and under `out` have opposite signs
    repeated        questions with several runs of the baseline, on which noise is measured
    """

    model: str
    baseline: str
    condition: str
    questions: int
    repeated: int
    changes: tuple[ItemChange, ...]
    by_item: Mapping[str, tuple[ItemChange, ...]]
    coverage: Figure
    accuracy: Figure
    signature: bool | None
    rules: tuple[RuleEffect, ...]
    sign_depends: bool


Runs = Sequence[Mapping[str, ItemScore]]
"""The runs of one question under one condition."""


@dataclass(frozen=True, slots=True)
class _Both:
    """One question on both sides."""

    unit: object
    before: Runs
    after: Runs

    def shared(self) -> list[str]:
        """The items that all runs have: of a mended key old tables may lack some."""
        names = [set(run) for run in (*self.before, *self.after)]
        return [name for name in self.before[0] if all(name in each for each in names)]


def checklist_effects(
    trials: Iterable[CheckedTrial],
    baseline: str,
    *,
    order: Sequence[str] = (),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[ChecklistEffect]:
    """Each model and condition other than the baseline, conditions in `order`, others by name. Raises InputError where
    no trial of the baseline has a checklist."""
    arms: dict[str, dict[str, dict[str, list[CheckedTrial]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for trial in trials:
        arms[trial.model][trial.condition][trial.question].append(trial)
    names = {name for conditions in arms.values() for name in conditions}
    if baseline not in names:
        known = ", ".join(sorted(names)) or "none yet"
        raise InputError(
            f"There is no condition {baseline!r} to compare with",
            hint=f"Conditions with scored checklists: {known}.",
            code="unknown_baseline",
        )
    places = {name: place for place, name in enumerate(order)}
    ordered = sorted(names - {baseline}, key=lambda name: (places.get(name, len(places)), name))
    found = []
    for model in sorted(arms):
        for condition in ordered:
            before, after = arms[model].get(baseline, {}), arms[model].get(condition, {})
            both = [_both(before[name], after[name]) for name in sorted(before.keys() & after.keys())]
            if both:
                found.append(_effect(model, baseline, condition, both, seed, resamples))
    return found


def _both(before: Sequence[CheckedTrial], after: Sequence[CheckedTrial]) -> _Both:
    runs = [[{item.item: item for item in trial.items} for trial in side] for side in (before, after)]
    return _Both(before[0].unit, *runs)


def _effect(
    model: str, baseline: str, condition: str, both: Sequence[_Both], seed: int, resamples: int
) -> ChecklistEffect:
    estimate = _Estimates([each.unit for each in both], seed, resamples)
    items = dict.fromkeys(name for each in both for name in each.shared())
    plans: list[tuple[str | None, Event]] = [(None, event) for event in CHANGES]
    plans += [(item, event) for item in items for event in CHANGES]
    counted = {plan: _counted(both, *plan) for plan in plans}
    for counts in counted.values():
        estimate.add(counts.excess)
    estimate.add([_coverage(each) for each in both])
    estimate.add([_accuracy(each) for each in both])
    values = {rule: [_f1(each, rule) for each in both] for rule in NA_RULES}
    for rule in NA_RULES:
        estimate.add([(new - old, 1.0) if known else (0.0, 0.0) for old, new, known in values[rule]])
    *excesses, coverage, accuracy = (made := estimate.made())[: len(plans) + 2]
    changes = {plan: counted[plan].change(plan[1], excess) for plan, excess in zip(plans, excesses, strict=True)}
    rules = tuple(
        _rule(rule, values[rule], difference, both)
        for rule, difference in zip(NA_RULES, made[len(plans) + 2 :], strict=True)
    )
    paid, out = (next(each.difference.value for each in rules if each.na == na) for na in ("published", "out"))
    return ChecklistEffect(
        model=model,
        baseline=baseline,
        condition=condition,
        questions=len(both),
        repeated=sum(len(each.before) > 1 for each in both),
        changes=tuple(changes[None, event] for event in CHANGES),
        by_item={item: tuple(changes[item, event] for event in CHANGES) for item in items},
        coverage=coverage,
        accuracy=accuracy,
        signature=_signature(coverage, accuracy),
        rules=rules,
        sign_depends=paid is not None and out is not None and paid * out < 0,
    )


def _signature(coverage: Figure, accuracy: Figure) -> bool | None:
    """Two one-sided tests at 2.5 % that both have to hold, so that together they err no more often."""
    if coverage.ci95 is None or accuracy.ci95 is None:
        return None
    return coverage.ci95[0] > 0 and accuracy.ci95[1] < 0


@dataclass(frozen=True, slots=True)
class _Counts:
    """`excess` has by question the surplus of events over noise, and the items that it is of."""

    items: int
    share: float | None
    noise: float | None
    excess: list[tuple[float, float]]

    def change(self, event: Event, excess: Figure) -> ItemChange:
        return ItemChange(event, self.items, self.share, self.noise, excess)


def _counted(both: Sequence[_Both], item: str | None, event: Event) -> _Counts:
    change, expected = CHANGES[event], event != "overfilled"
    excess, events, noises = [], list[tuple[float, float]](), list[tuple[float, float]]()
    for each in both:
        names = [
            name
            for name in (each.shared() if item is None else [item])
            if name in each.before[0] and name in each.after[0] and each.after[0][name].expected == expected
        ]
        size = float(len(names))
        happened = math.fsum(_rate(product(each.before, each.after), name, change) for name in names)
        events.append((happened, size))
        if len(each.before) > 1:
            by_chance = math.fsum(_rate(permutations(each.before, 2), name, change) for name in names)
            noises.append((by_chance, size))
            excess.append((happened - by_chance, size))
        else:
            excess.append((0.0, 0.0))
    return _Counts(round(sum(size for _, size in events)), _ratio(events), _ratio(noises), excess)


def _rate(pairs: Iterable[tuple[Mapping[str, ItemScore], Mapping[str, ItemScore]]], name: str, change: Change) -> float:
    seen = [change(old[name], new[name]) for old, new in pairs]
    return sum(seen) / len(seen)


def _ratio(parts: Sequence[tuple[float, float]]) -> float | None:
    size = math.fsum(size for _, size in parts)
    return math.fsum(value for value, _ in parts) / size if size else None


def _coverage(both: _Both) -> tuple[float, float]:
    names = [name for name in both.shared() if both.after[0][name].expected]
    filled = [math.fsum(_share(runs, name) for name in names) for runs in (both.before, both.after)]
    return filled[1] - filled[0], float(len(names))


def _share(runs: Runs, name: str) -> float:
    return sum(run[name].filled for run in runs) / len(runs)


def _accuracy(both: _Both) -> tuple[float, float]:
    """Over pairs of runs, one of each side, that both fill an item."""
    difference, size = 0.0, 0.0
    pairs = [*product(both.before, both.after)]
    for name in both.shared():
        for old, new in ((one[name], other[name]) for one, other in pairs):
            if new.expected and old.filled and new.filled:
                difference += (_right(new) - _right(old)) / len(pairs)
                size += 1 / len(pairs)
    return difference, size


def _f1(both: _Both, rule: NaRule) -> tuple[float, float, bool]:
    """The means over runs of both sides, and whether there are any."""
    means = [
        mean_of(values["f1"] for run in runs if "f1" in (values := sample_values(list(run.values()), rule)))
        for runs in (both.before, both.after)
    ]
    return means[0] or 0.0, means[1] or 0.0, None not in means


def _rule(
    rule: NaRule, values: Sequence[tuple[float, float, bool]], difference: Figure, both: Sequence[_Both]
) -> RuleEffect:
    silent = [sample_values(silenced(each.before[0].values()), rule).get("f1") for each in both]
    return RuleEffect(
        na=rule,
        baseline=mean_of(old for old, _, known in values if known),
        condition=mean_of(new for _, new, known in values if known),
        difference=difference,
        silent=mean_of(value for value in silent if value is not None),
    )


class _Estimates:
    """Ratios of sums over questions, with intervals over clusters that all come from the same resamples."""

    def __init__(self, units: Sequence[object], seed: int, resamples: int) -> None:
        self._places: dict[object, int] = {}
        self._of = [self._places.setdefault(unit, len(self._places)) for unit in units]
        self._seed, self._resamples = seed, resamples
        self._ratios: list[tuple[list[float], list[float]]] = []

    def add(self, parts: Sequence[tuple[float, float]]) -> None:
        sums, sizes = [0.0] * len(self._places), [0.0] * len(self._places)
        for place, (value, size) in zip(self._of, parts, strict=True):
            sums[place] += value
            sizes[place] += size
        self._ratios.append((sums, sizes))

    def made(self) -> list[Figure]:
        known = [place for place, (_, sizes) in enumerate(self._ratios) if math.fsum(sizes) > 0]
        intervals: dict[int, Interval | None] = {}
        if self._resamples and known:
            ratios = [self._ratios[place] for place in known]
            made = bootstrap_intervals(ratios, seed=self._seed, resamples=self._resamples)
            intervals = dict(zip(known, made, strict=True))
        return [
            Figure(math.fsum(sums) / math.fsum(sizes) if place in known else None, intervals.get(place))
            for place, (sums, sizes) in enumerate(self._ratios)
        ]
