"""How far metrics agree with experts on LFQA-E: accuracy, macro-F1, ties and kappa, by language, setting and topic."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from toolablate.analysis.agreement.kappa import cohens_kappa
from toolablate.analysis.effect import FEW_CLUSTERS
from toolablate.analysis.statistics.intervals import (
    RESAMPLES,
    Figures,
    Floats,
    Interval,
    bootstrap_intervals,
    effective_clusters,
    pseudo_values,
)
from toolablate.benchmarks.lfqa_e.comparisons import SETTINGS, VERDICTS, Comparison, Triples, triples
from toolablate.benchmarks.lfqa_e.metrics import FAILED, UNREAD, MetricVerdicts, baselines, labels_of, static_metrics

ALL = "all"
KINDS = len(VERDICTS)
CELLS = KINDS * (KINDS + 1)
"""Of a table of labels by verdicts, the last of which is UNREAD."""


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """In percent. `recall` is the accuracy where this verdict is right; `precision` None where it is never given."""

    precision: float | None
    recall: float | None
    f1: float


@dataclass(frozen=True, slots=True)
class MetricFigures:
    """One metric on one group of comparisons; shares are in percent, kappa is a number up to 1.

    n              comparisons with a verdict, `unread` replies among them, which are wrong; `failed` have none
    clusters       questions, which the intervals resample
    small          they are worth fewer than FEW_CLUSTERS of one size: do not rely on the intervals
    acc            share of verdicts that are the expert's
    macro_f1       mean F1 of a, b and same; a precision or recall that is undefined counts as 0
    micro_f1       as the official script has it: an unread reply lowers recall only
    ties_predicted of comparisons (expected ones of a random draw)
    tie_acc        share of the experts' ties that are found; None without any
    tie_precision  share of predicted ties that are the experts'
    kappa          with the experts (Cohen, unweighted); None where undefined
    classes        by a, b and same
    turned         share of comparisons that were read in both orders whose verdict turned with it; a tie then
    tau            the lowest and highest difference of scores up to which two are the same
    ..._ci95       95 % intervals by a bootstrap over questions; None where the data cannot tell
    """

    n: int
    clusters: int
    small: bool
    unread: int
    failed: int
    acc: float | None
    acc_ci95: Interval | None
    macro_f1: float | None
    macro_f1_ci95: Interval | None
    micro_f1: float | None
    ties_predicted: float
    tie_acc: float | None
    tie_acc_ci95: Interval | None
    tie_precision: float | None
    kappa: float | None
    kappa_ci95: Interval | None
    classes: dict[str, ClassFigures]
    tau: tuple[float, float] | None
    turned: float | None


@dataclass(frozen=True, slots=True)
class KappaFigure:
    kappa: float | None
    ci95: Interval | None


@dataclass(frozen=True, slots=True)
class Average:
    """The paper does not say over what it averages: the unweighted mean over cells of language and setting, and the
    figure of all comparisons in one, both in percent."""

    acc_of_cells: float | None
    acc_pooled: float | None
    macro_f1_of_cells: float | None
    macro_f1_pooled: float | None


@dataclass(frozen=True, slots=True)
class LfqaTables:
    """`groups`: by all, language, setting, and LANGUAGE/SETTING, then by metric; `topics` likewise. `between` is kappa
    of two metrics on all comparisons, both ways round. `missing` says how what is left out is installed."""

    groups: dict[str, dict[str, MetricFigures]]
    topics: dict[str, dict[str, MetricFigures]]
    averages: dict[str, Average]
    between: dict[str, dict[str, KappaFigure]]
    labels: dict[str, int]
    triples: Triples
    missing: str


def lfqa_tables(
    comparisons: Sequence[Comparison],
    judged: Sequence[MetricVerdicts] = (),
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> LfqaTables:
    """Of `judged` metrics, those that need no model, and baselines."""
    static, missing = static_metrics(comparisons)
    constant = baselines(comparisons)
    metrics = [*judged, *static, *constant]
    figures = _Figures(comparisons, seed, resamples)
    groups = {name: figures.of(metrics, rows) for name, rows in group_rows(comparisons)}
    topics = {name: figures.of(metrics, rows) for name, rows in _by(comparisons, lambda each: each.topic) if name}
    cells = [name for name in groups if "/" in name]
    compared = [*judged, *(each for each in static if not each.name.endswith("_tau"))]
    return LfqaTables(
        groups=groups,
        topics=topics,
        averages={each.name: _average(each.name, groups, cells) for each in metrics},
        between=figures.between(compared),
        labels={verdict: sum(each.label == verdict for each in comparisons) for verdict in VERDICTS},
        triples=triples(comparisons),
        missing=missing,
    )


def group_rows(comparisons: Sequence[Comparison]) -> Iterator[tuple[str, list[int]]]:
    """All, each language, each setting, and each cell of both as LANGUAGE/SETTING: the places of its comparisons."""
    yield ALL, list(range(len(comparisons)))
    yield from _by(comparisons, lambda each: each.language)
    settings = dict(_by(comparisons, lambda each: each.setting))
    yield from ((name, settings[name]) for name in SETTINGS if name in settings)
    yield from _by(comparisons, lambda each: f"{each.language}/{each.setting}")


def lfqa_json(found: LfqaTables) -> dict[str, Any]:
    """Groups stand at the top; what is unknown is null."""
    whole = asdict(found)
    return {**whole.pop("groups"), **whole}


def _by(comparisons: Sequence[Comparison], key: Callable[[Comparison], str]) -> list[tuple[str, list[int]]]:
    found: dict[str, list[int]] = {}
    for place, each in enumerate(comparisons):
        found.setdefault(key(each), []).append(place)
    return sorted(found.items())


def _average(metric: str, groups: dict[str, dict[str, MetricFigures]], cells: Sequence[str]) -> Average:
    pooled = groups[ALL][metric]

    def mean(values: list[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return math.fsum(known) / len(known) if known else None

    return Average(
        acc_of_cells=mean([groups[cell][metric].acc for cell in cells]),
        acc_pooled=pooled.acc,
        macro_f1_of_cells=mean([groups[cell][metric].macro_f1 for cell in cells]),
        macro_f1_pooled=pooled.macro_f1,
    )


# Figures of a table of labels (rows a, b, same) by verdicts (columns a, b, same, unread).


def _label(table: Figures, kind: int) -> float:
    return math.fsum(table[kind * (KINDS + 1) : (kind + 1) * (KINDS + 1)])


def _said(table: Figures, kind: int) -> float:
    return math.fsum(table[kind :: KINDS + 1])


def _hits(table: Figures, kind: int) -> float:
    return table[kind * (KINDS + 1) + kind]


def accuracy_of(table: Figures) -> float | None:
    total = math.fsum(table)
    return math.fsum(_hits(table, kind) for kind in range(KINDS)) / total if total else None


def macro_f1_of(table: Figures) -> float | None:
    """As scikit-learn's f1_score(labels=[a, b, same], average="macro", zero_division=0): a verdict that nobody gives
    and that is never right counts as 0."""
    if not math.fsum(table):
        return None
    return math.fsum(_f1(table, kind) for kind in range(KINDS)) / KINDS


def _f1(table: Figures, kind: int) -> float:
    either = _label(table, kind) + _said(table, kind)
    return 2 * _hits(table, kind) / either if either else 0.0


def _micro_f1(table: Figures) -> float | None:
    hits = math.fsum(_hits(table, kind) for kind in range(KINDS))
    said = math.fsum(_said(table, kind) for kind in range(KINDS))
    either = math.fsum(table) + said
    return 2 * hits / either if either else None


def kappa_of(table: Figures) -> float | None:
    """Of whole counts; an unread reply is a kind of its own."""
    counts = [round(each) for each in table]
    agreed = sum(counts[kind * (KINDS + 1) + kind] for kind in range(KINDS))
    first = [sum(counts[kind * (KINDS + 1) : (kind + 1) * (KINDS + 1)]) for kind in range(KINDS)]
    second = [sum(counts[kind :: KINDS + 1]) for kind in range(KINDS + 1)]
    return cohens_kappa([(agreed, *first, 0, *second)])


class _Figures:
    """Figures of any group of the comparisons; all intervals of a group are from the same resamples."""

    def __init__(self, comparisons: Sequence[Comparison], seed: int, resamples: int) -> None:
        self._labels = labels_of(comparisons)
        _, self._clusters = np.unique([each.cluster for each in comparisons], return_inverse=True)
        self._seed, self._resamples = seed, resamples
        self._made: dict[tuple[int, ...], dict[str, MetricFigures]] = {}

    def of(self, metrics: Sequence[MetricVerdicts], rows: Sequence[int]) -> dict[str, MetricFigures]:
        key = tuple(rows)
        if key not in self._made:
            self._made[key] = self._group(metrics, np.array(rows))
        return self._made[key]

    def between(self, metrics: Sequence[MetricVerdicts]) -> dict[str, dict[str, KappaFigure]]:
        """Over comparisons of which both have a verdict that was read, so that it is the same both ways round."""
        pairs = list(combinations(metrics, 2))
        everything = np.arange(len(self._labels))
        read = [replace(each, codes=np.where(each.codes == UNREAD, FAILED, each.codes)) for each in metrics]
        tables = [self._tables(one.codes, other.codes, everything) for one, other in combinations(read, 2)]
        kappas = [kappa_of(_total(table)) for table in tables]
        intervals = self._intervals([_kappa_ratio(table) for table in tables])
        found: dict[str, dict[str, KappaFigure]] = {each.name: {} for each in metrics}
        for (one, other), kappa, interval in zip(pairs, kappas, intervals, strict=True):
            found[one.name][other.name] = found[other.name][one.name] = KappaFigure(kappa, _within(interval, 1.0))
        return found

    def _group(self, metrics: Sequence[MetricVerdicts], rows: Any) -> dict[str, MetricFigures]:
        tables = [
            self._even(rows) if each.drawn_evenly else self._tables(self._labels, each.codes, rows) for each in metrics
        ]
        ratios = [ratio for table in tables for ratio in _ratios(table)]
        intervals = iter(self._intervals(ratios))
        return {
            each.name: self._figures(each, table, rows, [next(intervals) for _ in range(4)])
            for each, table in zip(metrics, tables, strict=True)
        }

    def _tables(self, labels: Any, codes: Any, rows: Any) -> Floats:
        """Of each question of the group, a table; a question of which nothing has a verdict keeps an empty one."""
        _, places = np.unique(self._clusters[rows], return_inverse=True)
        found = np.zeros((int(places.max(initial=-1)) + 1, CELLS))
        kept = (codes[rows] != FAILED) & (labels[rows] != FAILED)
        np.add.at(found, (places[kept], labels[rows][kept] * (KINDS + 1) + codes[rows][kept]), 1.0)
        return found

    def _even(self, rows: Any) -> Floats:
        thirds = [self._tables(self._labels, np.full(len(self._labels), kind), rows) for kind in range(KINDS)]
        even: Floats = np.sum(thirds, axis=0) / KINDS
        return even

    def _figures(
        self, metric: MetricVerdicts, table: Floats, rows: Any, intervals: Sequence[Interval | None]
    ) -> MetricFigures:
        total = _total(table)
        sizes = table.sum(axis=1)
        ties_said, ties = _said(total, 2), _label(total, 2)
        found = MetricFigures(
            n=round(math.fsum(total)),
            clusters=int((sizes > 0).sum()),
            small=effective_clusters(sizes.tolist()) < FEW_CLUSTERS,
            unread=round(_said(total, KINDS)),
            failed=0 if metric.drawn_evenly else int((metric.codes[rows] == FAILED).sum()),
            acc=_percent(accuracy_of(total)),
            acc_ci95=_within(intervals[0], 100.0),
            macro_f1=_percent(macro_f1_of(total)),
            macro_f1_ci95=_within(intervals[1], 100.0),
            micro_f1=_percent(_micro_f1(total)),
            ties_predicted=round(ties_said, 6) if metric.drawn_evenly else round(ties_said),
            tie_acc=100 * _hits(total, 2) / ties if ties else None,
            tie_acc_ci95=_within(intervals[2], 100.0),
            tie_precision=100 * _hits(total, 2) / ties_said if ties_said else None,
            kappa=kappa_of(total),
            kappa_ci95=_within(intervals[3], 1.0),
            classes={verdict: _class_figures(total, kind) for kind, verdict in enumerate(VERDICTS)},
            tau=metric.tau,
            turned=_turned(metric, rows),
        )
        if not metric.drawn_evenly:
            return found
        # Expected figures do not vary with the draw; a draw that reads nothing agrees by chance alone.
        return replace(found, acc_ci95=None, macro_f1_ci95=None, tie_acc_ci95=None, kappa=0.0, kappa_ci95=None)

    def _intervals(self, ratios: Sequence[tuple[list[float], list[float]] | None]) -> list[Interval | None]:
        known = [ratio for ratio in ratios if ratio is not None]
        found = iter(bootstrap_intervals(known, seed=self._seed, resamples=self._resamples)) if known else iter(())
        return [None if ratio is None else next(found) for ratio in ratios]


Ratio = tuple[list[float], list[float]]


def _ratios(table: Floats) -> list[Ratio | None]:
    """Sums and sizes of accuracy, macro-F1, tie accuracy and kappa."""
    sizes = table.sum(axis=1)
    hits = sum(table[:, kind * (KINDS + 1) + kind] for kind in range(KINDS))
    ties = table[:, 2 * (KINDS + 1) : 3 * (KINDS + 1)].sum(axis=1)
    if not sizes.sum():
        return [None] * 4
    return [
        (np.asarray(hits).tolist(), sizes.tolist()),
        _jackknifed(macro_f1_of, table),
        (table[:, 2 * (KINDS + 1) + 2].tolist(), ties.tolist()) if ties.sum() else None,
        _kappa_ratio(table),
    ]


def _kappa_ratio(table: Floats) -> Ratio | None:
    return _jackknifed(kappa_of, table)


def _jackknifed(figure: Callable[[Figures], float | None], table: Floats) -> Ratio | None:
    sizes = table.sum(axis=1).tolist()
    values = pseudo_values(figure, [tuple(row) for row in table.tolist()], sizes)
    return None if values is None else (values, sizes)


def _total(table: Floats) -> Figures:
    return tuple(table.sum(axis=0).tolist())


def _class_figures(table: Figures, kind: int) -> ClassFigures:
    said, label = _said(table, kind), _label(table, kind)
    return ClassFigures(
        precision=100 * _hits(table, kind) / said if said else None,
        recall=100 * _hits(table, kind) / label if label else None,
        f1=100 * _f1(table, kind),
    )


def _turned(metric: MetricVerdicts, rows: Any) -> float | None:
    if metric.turned is None:
        return None
    read = (metric.codes[rows] >= 0) & (metric.codes[rows] < KINDS)
    return 100 * float(metric.turned[rows][read].mean()) if read.any() else None


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _within(interval: Interval | None, scale: float) -> Interval | None:
    """A jackknifed bound may lie beyond what a share or a kappa can be."""
    if interval is None:
        return None
    least = -1.0 if scale == 1.0 else 0.0
    low, high = (scale * min(1.0, max(least, bound)) for bound in interval)
    return low, high
