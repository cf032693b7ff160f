"""CLEAR's figures of many checklists: means with intervals, by item, by task, and how far judges agree."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from toolablate.analysis.agreement.kappa import Pair, cohens_kappa, kappa_interval, margins
from toolablate.analysis.checklist_measures import (
    MEASURES,
    PER_ITEM,
    NaRule,
    item_values,
    mean_of,
    sample_values,
    silenced,
)
from toolablate.analysis.statistics.intervals import (
    RESAMPLES,
    Interval,
    bootstrap_intervals,
    by_unit,
    jackknife_standard_error,
)
from toolablate.traces.records import ItemScore

_OF_SOME = ("coverage", "overfill")
"""Shares of one kind of items, which a task may be without."""

_NORMAL_95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over samples, None where no sample has it, with its 95 % interval."""

    value: float | None
    ci95: Interval | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer's checklist as each judge judged it. `task` groups samples that share a checklist; it may be "".
    `cluster` groups samples that are not independent, as repeats of a question are; "" for one that stands alone."""

    name: str
    judged: Mapping[str, tuple[ItemScore, ...]]
    task: str = ""
    cluster: str = ""

    @property
    def unit(self) -> tuple[str, str]:
        """What is independent; a sample never meets a cluster of the same name."""
        return ("cluster", self.cluster) if self.cluster else ("sample", self.name)

    def values(self, na: NaRule) -> dict[str, float]:
        """The mean over judges of each measure."""
        each = [sample_values(items, na) for items in self.judged.values()]
        return {name: math.fsum(one[name] for one in each) / len(each) for name in each[0]}

    def item_values(self, na: NaRule) -> dict[tuple[str, str], float]:
        """The mean over judges, by measure and item."""
        sums: dict[tuple[str, str], float] = {}
        for items in self.judged.values():
            for item in items:
                for measure, value in item_values(item, na).items():
                    sums[measure, item.item] = sums.get((measure, item.item), 0.0) + value
        return {key: value / len(self.judged) for key, value in sums.items()}


@dataclass(frozen=True, slots=True)
class JudgePair:
    """How far two judges agree, over all items of all samples, on accuracy (0, 1) or on ternary (0, .5, 1). `kappa` is
    None where it is undefined: both say one and the same of all items."""

    judges: tuple[str, str]
    on: Literal["accuracy", "ternary"]
    items: int
    agreement: float | None
    kappa: float | None
    kappa_ci95: Interval | None


@dataclass(frozen=True, slots=True)
class Checklists:
    """The figures of some samples. `silent` is what an answer that says nothing would have."""

    samples: int
    figures: Mapping[str, Figure]
    by_item: Mapping[str, Mapping[str, Figure]]
    silent: Mapping[str, float | None]
    pairs: tuple[JudgePair, ...]


def summarised(
    samples: Sequence[Sample], na: NaRule, *, tasks: Iterable[str] = (), seed: int = 0, resamples: int = RESAMPLES
) -> Checklists:
    """Means over samples with bootstrap intervals by samples; without intervals where `resamples` is 0.

    Of several tasks the figures are unweighted means over tasks, as the benchmark's are, and items are told apart by
    task ("T07: Origin"). `tasks` names those that may have no sample left: then the means over tasks are unknown.
    Coverage and overfill are means over the tasks whose references have, or leave "N/A", an item.
    """
    tasks = list(dict.fromkeys((*tasks, *(sample.task for sample in samples))))
    if len(tasks) > 1:
        by_task = {task: [each for each in samples if each.task == task] for task in tasks}
        return _of_tasks({task: summarised(some, na, seed=seed, resamples=resamples) for task, some in by_task.items()},
                         by_task, na, seed, resamples)  # fmt: skip
    overall = [sample.values(na) for sample in samples]
    single = [sample.item_values(na) for sample in samples]
    keys = [
        (measure, item)
        for measure in PER_ITEM
        for item in dict.fromkeys(each.item for sample in samples for items in sample.judged.values() for each in items)
    ]
    columns = [[each.get(name) for each in overall] for name in MEASURES]
    columns += [[each.get(key) for each in single] for key in keys]
    found = _figures(columns, [sample.unit for sample in samples], seed, resamples)
    by_item: dict[str, dict[str, Figure]] = {measure: {} for measure in PER_ITEM}
    for (measure, item), figure in zip(keys, found[len(MEASURES) :], strict=True):
        by_item[measure][item] = figure
    silent = [sample_values(silenced(next(iter(sample.judged.values()))), na) for sample in samples]
    return Checklists(
        samples=len(samples),
        figures=dict(zip(MEASURES, found, strict=False)),
        by_item=by_item,
        silent={name: mean_of(each[name] for each in silent if name in each) for name in MEASURES},
        pairs=judge_pairs(samples, na, seed=seed, resamples=resamples),
    )


def _of_tasks(
    found: Mapping[str, Checklists], samples: Mapping[str, Sequence[Sample]], na: NaRule, seed: int, resamples: int
) -> Checklists:
    figures = {}
    for name in MEASURES:
        value = _over_tasks(name, {task: each.figures[name].value for task, each in found.items()}, samples)
        having = [samples[task] for task, each in found.items() if each.figures[name].value is not None]
        figures[name] = Figure(value, _of_means(value, name, having, na) if resamples else None)
    every = [sample for some in samples.values() for sample in some]
    return Checklists(
        samples=len(every),
        figures=figures,
        by_item={
            measure: {
                f"{task}: {item}" if task else item: figure
                for task, each in found.items()
                for item, figure in each.by_item[measure].items()
            }
            for measure in PER_ITEM
        },
        silent={
            name: _over_tasks(name, {task: each.silent[name] for task, each in found.items()}, samples)
            for name in MEASURES
        },
        pairs=judge_pairs(every, na, seed=seed, resamples=resamples),
    )


def _over_tasks(name: str, values: Mapping[str, float | None], samples: Mapping[str, Sequence[Sample]]) -> float | None:
    if not all(samples.values()) or (None in values.values() and name not in _OF_SOME):
        return None
    return mean_of(value for value in values.values() if value is not None)


def _of_means(value: float | None, name: str, tasks: Iterable[Sequence[Sample]], na: NaRule) -> Interval | None:
    """Of the unweighted mean of independent means: their variances add up."""
    if value is None:
        return None
    errors = []
    for samples in tasks:
        column = [sample.values(na).get(name) for sample in samples]
        error = jackknife_standard_error(*_summed(column, [sample.unit for sample in samples]))
        if error is None:
            return None
        errors.append(error)
    half = _NORMAL_95 * math.hypot(*errors) / len(errors)
    return (max(0.0, value - half), min(1.0, value + half)) if half else None


def _figures(
    columns: Sequence[Sequence[float | None]], units: Sequence[tuple[str, str]], seed: int, resamples: int
) -> list[Figure]:
    means = [mean_of(value for value in column if value is not None) for column in columns]
    if not resamples or not columns or not columns[0]:
        return [Figure(mean) for mean in means]
    known = [place for place, mean in enumerate(means) if mean is not None]
    ratios = [_summed(columns[place], units) for place in known]
    intervals = dict(zip(known, bootstrap_intervals(ratios, seed=seed, resamples=resamples), strict=True))
    return [Figure(mean, intervals.get(place)) for place, mean in enumerate(means)]


def _summed(column: Sequence[float | None], units: Sequence[tuple[str, str]]) -> tuple[list[float], list[float]]:
    sums, sizes = by_unit(units, [value or 0.0 for value in column], [float(value is not None) for value in column])
    return sums, sizes


def judge_pairs(
    samples: Sequence[Sample], na: NaRule, *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[JudgePair, ...]:
    """Of every two judges, on accuracy and on ternary, over the items that count for both."""
    judges = list(dict.fromkeys(judge for sample in samples for judge in sample.judged))
    kinds: tuple[Literal["accuracy"], Literal["ternary"]] = ("accuracy", "ternary")
    found = []
    for one, other in combinations(judges, 2):
        for on in kinds:
            by_cluster: dict[tuple[str, str], list[Pair]] = {}
            for sample in samples:
                by_cluster.setdefault(sample.unit, []).extend(_said(sample, one, other, on, na))
            units = list(by_cluster.values())
            counted = margins([unit for unit in units if unit])
            items = sum(map(len, units))
            same = sum(first == second for unit in units for first, second in unit)
            kappa = cohens_kappa(counted)
            ci95 = kappa_interval(counted, seed=seed, resamples=resamples) if resamples and kappa is not None else None
            found.append(JudgePair((one, other), on, items, same / items if items else None, kappa, ci95))
    return tuple(found)


def _said(sample: Sample, one: str, other: str, on: str, na: NaRule) -> list[Pair]:
    if one not in sample.judged or other not in sample.judged:
        return []
    second = {item.item: item_values(item, na).get(on) for item in sample.judged[other]}
    first = {item.item: item_values(item, na).get(on) for item in sample.judged[one]}
    return [(str(value), str(second[item])) for item, value in first.items() if value is not None]
