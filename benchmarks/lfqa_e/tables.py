"""How far metrics agree with experts on LFQA-E: accuracy, macro-F1, ties and kappa, by language, setting and topic."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    by_unit,
    effective_clusters,
    pseudo_values,
)
from toolablate.benchmarks.lfqa_e.comparisons import SETTINGS, VERDICTS, Comparison, Triples, triples
from toolablate.benchmarks.lfqa_e.metrics import FAILED, UNREAD, MetricVerdicts, baselines, labels_of, static_metrics
from toolablate.traces.errors import InputError

ALL = "all"
KINDS = len(VERDICTS)
CELLS = KINDS * (KINDS + 1)
"""Of a table of labels by verdicts, the last of which is UNREAD."""


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """In percent. `recall` is the accuracy where this verdict is right; `precision` None where it is never given."""

    precision: float | None
    precision_ci95: Interval | None
    recall: float | None
    recall_ci95: Interval | None
    f1: float
    f1_ci95: Interval | None


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
    contradicted   share whose reasons end with another preference than the verdict, as far as `stated_preference` reads
    asked_again    share of which some reply had no verdict that could be read
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
    micro_f1_ci95: Interval | None
    ties_predicted: float
    tie_acc: float | None
    tie_acc_ci95: Interval | None
    tie_precision: float | None
    tie_precision_ci95: Interval | None
    kappa: float | None
    kappa_ci95: Interval | None
    classes: dict[str, ClassFigures]
    tau: tuple[float, float] | None
    turned: float | None
    turned_ci95: Interval | None
    contradicted: float | None
    contradicted_ci95: Interval | None
    asked_again: float | None
    asked_again_ci95: Interval | None


@dataclass(frozen=True, slots=True)
class KappaFigure:
    kappa: float | None
    ci95: Interval | None


@dataclass(frozen=True, slots=True)
class Average:
    """The paper does not say over what it averages: the unweighted mean over cells of language and setting, and the
    figure of all comparisons in one, both in percent, with 95 % intervals over questions."""

    acc_of_cells: float | None
    acc_of_cells_ci95: Interval | None
    acc_pooled: float | None
    acc_pooled_ci95: Interval | None
    macro_f1_of_cells: float | None
    macro_f1_of_cells_ci95: Interval | None
    macro_f1_pooled: float | None
    macro_f1_pooled_ci95: Interval | None


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
    """Of `judged` metrics, those that need no model, and baselines. Raises InputError where two have one name."""
    static, missing = static_metrics(comparisons)
    constant = baselines(comparisons)
    taken = sorted({each.name for each in judged} & {each.name for each in (*static, *constant)})
    if taken:
        raise InputError(f"the name {taken[0]!r} is that of another metric", hint="choose another", code="name_taken")
    metrics = [*judged, *static, *constant]
    figures = _Figures(comparisons, seed, resamples)
    grouped = dict(group_rows(comparisons))
    groups = {name: figures.of(metrics, rows) for name, rows in grouped.items()}
    cells = [rows for name, rows in grouped.items() if "/" in name]
    topics = {name: figures.of(metrics, rows) for name, rows in _by(comparisons, lambda each: each.topic) if name}
    compared = [each for each in (*judged, *static) if not each.name.endswith("_tau")]
    return LfqaTables(
        groups=groups,
        topics=topics,
        averages=figures.averages(metrics, groups[ALL], cells),
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


Ratio = tuple[list[float], list[float]]


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
        tables = [self._tables(one.codes, other.codes, everything, everything) for one, other in combinations(read, 2)]
        kappas = [kappa_of(_total(table)) for table in tables]
        intervals = self._intervals([_kappa_ratio(table) for table in tables])
        found: dict[str, dict[str, KappaFigure]] = {each.name: {} for each in metrics}
        for (one, other), kappa, interval in zip(pairs, kappas, intervals, strict=True):
            found[one.name][other.name] = found[other.name][one.name] = KappaFigure(kappa, _within(interval, 1.0))
        return found

    def averages(
        self, metrics: Sequence[MetricVerdicts], pooled: dict[str, MetricFigures], cells: Sequence[Sequence[int]]
    ) -> dict[str, Average]:
        everything = np.arange(len(self._labels))
        # Beside each other, so that a question with comparisons in several cells is drawn once with all of them.
        wide = [np.hstack([self._of(each, everything, np.array(rows)) for rows in cells]) for each in metrics]
        over = (_mean_of_cells(accuracy_of), _mean_of_cells(macro_f1_of))
        intervals = iter(self._intervals([_jackknifed(figure, table) for table in wide for figure in over]))
        found = {}
        for each, table in zip(metrics, wide, strict=True):
            acc, macro_f1 = (_percent(figure(_total(table))) for figure in over)
            acc_ci95, macro_f1_ci95 = (_within(next(intervals), 100.0) for _ in over)
            of = pooled[each.name]
            found[each.name] = Average(
                acc_of_cells=acc,
                acc_of_cells_ci95=None if each.drawn_evenly else acc_ci95,
                acc_pooled=of.acc,
                acc_pooled_ci95=of.acc_ci95,
                macro_f1_of_cells=macro_f1,
                macro_f1_of_cells_ci95=None if each.drawn_evenly else macro_f1_ci95,
                macro_f1_pooled=of.macro_f1,
                macro_f1_pooled_ci95=of.macro_f1_ci95,
            )
        return found

    def _group(self, metrics: Sequence[MetricVerdicts], rows: Any) -> dict[str, MetricFigures]:
        tables = [self._of(each, rows, rows) for each in metrics]
        marked = [self._marked(each, rows) for each in metrics]
        named = [
            (each.name, figure, ratio)
            for each, table, marks in zip(metrics, tables, marked, strict=True)
            # Expected figures of a random draw do not vary with it.
            for figure, ratio in (*_ratios(table, varies=not each.drawn_evenly).items(), *marks.items())
        ]
        intervals: dict[str, dict[str, Interval | None]] = defaultdict(dict)
        found = self._intervals([ratio for _, _, ratio in named])
        for (name, figure, _), interval in zip(named, found, strict=True):
            intervals[name][figure] = _within(interval, 1.0 if figure == "kappa" else 100.0)
        return {
            each.name: self._figures(each, table, rows, intervals[each.name], marks)
            for each, table, marks in zip(metrics, tables, marked, strict=True)
        }

    def _of(self, metric: MetricVerdicts, drawn: Any, rows: Any) -> Floats:
        """A table of `rows` for each question of `drawn`, which has them all."""
        if not metric.drawn_evenly:
            return self._tables(self._labels, metric.codes, drawn, rows)
        thirds = [self._tables(self._labels, np.full(len(self._labels), kind), drawn, rows) for kind in range(KINDS)]
        even: Floats = np.sum(thirds, axis=0) / KINDS
        return even

    def _marked(self, metric: MetricVerdicts, rows: Any) -> dict[str, Ratio | None]:
        """What is told of verdicts besides whether they are right: by question, how many it is true of, and of how
        many it could be. Of unread ones only that they were asked again is known."""
        read = (metric.codes[rows] >= 0) & (metric.codes[rows] < KINDS)
        said = metric.codes[rows] != FAILED
        given = {
            "turned": (metric.turned, read),
            "contradicted": (metric.contradicted, read),
            "asked_again": (metric.asked_again, said),
        }
        found: dict[str, Ratio | None] = dict.fromkeys(given)
        for name, (marks, of) in given.items():
            if marks is not None:
                columns = [(marks[rows] & of).astype(float).tolist(), of.astype(float).tolist()]
                sums, sizes = by_unit(self._clusters[rows].tolist(), *columns)
                found[name] = (sums, sizes)
        return found

    def _tables(self, labels: Any, codes: Any, drawn: Any, rows: Any) -> Floats:
        """Of each question of `drawn`, a table of its `rows`; one of which nothing has a verdict keeps an empty one."""
        questions = np.unique(self._clusters[drawn])
        found = np.zeros((len(questions), CELLS))
        kept = rows[(codes[rows] != FAILED) & (labels[rows] != FAILED)]
        places = np.searchsorted(questions, self._clusters[kept])
        np.add.at(found, (places, labels[kept] * (KINDS + 1) + codes[kept]), 1.0)
        return found

    def _figures(
        self,
        metric: MetricVerdicts,
        table: Floats,
        rows: Any,
        intervals: Mapping[str, Interval | None],
        marks: Mapping[str, Ratio | None],
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
            acc_ci95=intervals["acc"],
            macro_f1=_percent(macro_f1_of(total)),
            macro_f1_ci95=intervals["macro_f1"],
            micro_f1=_percent(_micro_f1(total)),
            micro_f1_ci95=intervals["micro_f1"],
            ties_predicted=round(ties_said, 6) if metric.drawn_evenly else round(ties_said),
            tie_acc=100 * _hits(total, 2) / ties if ties else None,
            tie_acc_ci95=intervals["recall same"],
            tie_precision=100 * _hits(total, 2) / ties_said if ties_said else None,
            tie_precision_ci95=intervals["precision same"],
            kappa=kappa_of(total),
            kappa_ci95=intervals["kappa"],
            classes={verdict: _class_figures(total, kind, intervals) for kind, verdict in enumerate(VERDICTS)},
            tau=metric.tau,
            turned=_share_of(marks["turned"]),
            turned_ci95=intervals["turned"],
            contradicted=_share_of(marks["contradicted"]),
            contradicted_ci95=intervals["contradicted"],
            asked_again=_share_of(marks["asked_again"]),
            asked_again_ci95=intervals["asked_again"],
        )
        # A draw that reads nothing agrees by chance alone.
        return replace(found, kappa=0.0) if metric.drawn_evenly else found

    def _intervals(self, ratios: Sequence[tuple[list[float], list[float]] | None]) -> list[Interval | None]:
        known = [ratio for ratio in ratios if ratio is not None]
        found = iter(bootstrap_intervals(known, seed=self._seed, resamples=self._resamples)) if known else iter(())
        return [None if ratio is None else next(found) for ratio in ratios]


def _ratios(table: Floats, *, varies: bool) -> dict[str, Ratio | None]:
    """Sums and sizes of each figure; None where it has no interval."""
    sizes = table.sum(axis=1)
    hits = [table[:, kind * (KINDS + 1) + kind] for kind in range(KINDS)]
    said = [table[:, kind :: KINDS + 1].sum(axis=1) for kind in range(KINDS)]
    label = [table[:, kind * (KINDS + 1) : (kind + 1) * (KINDS + 1)].sum(axis=1) for kind in range(KINDS)]
    all_hits = np.sum(hits, axis=0)
    plain = {"acc": (all_hits, sizes), "micro_f1": (2 * all_hits, sizes + np.sum(said, axis=0))}
    for kind, verdict in enumerate(VERDICTS):
        plain[f"precision {verdict}"] = (hits[kind], said[kind])
        plain[f"recall {verdict}"] = (hits[kind], label[kind])
        plain[f"f1 {verdict}"] = (2 * hits[kind], said[kind] + label[kind])
    found: dict[str, Ratio | None] = {
        name: (top.tolist(), below.tolist()) if varies and below.any() else None for name, (top, below) in plain.items()
    }
    found["macro_f1"] = _jackknifed(macro_f1_of, table) if varies else None
    found["kappa"] = _kappa_ratio(table) if varies else None
    return found


def _kappa_ratio(table: Floats) -> Ratio | None:
    return _jackknifed(kappa_of, table)


def _jackknifed(figure: Callable[[Figures], float | None], table: Floats) -> Ratio | None:
    sizes = table.sum(axis=1).tolist()
    values = pseudo_values(figure, [tuple(row) for row in table.tolist()], sizes)
    return None if values is None else (values, sizes)


def _total(table: Floats) -> Figures:
    return tuple(table.sum(axis=0).tolist())


def _class_figures(table: Figures, kind: int, intervals: Mapping[str, Interval | None]) -> ClassFigures:
    said, label, verdict = _said(table, kind), _label(table, kind), VERDICTS[kind]
    return ClassFigures(
        precision=100 * _hits(table, kind) / said if said else None,
        precision_ci95=intervals[f"precision {verdict}"],
        recall=100 * _hits(table, kind) / label if label else None,
        recall_ci95=intervals[f"recall {verdict}"],
        f1=100 * _f1(table, kind),
        f1_ci95=intervals[f"f1 {verdict}"],
    )


def _share_of(ratio: Ratio | None) -> float | None:
    if ratio is None:
        return None
    size = math.fsum(ratio[1])
    return 100 * math.fsum(ratio[0]) / size if size else None


def _mean_of_cells(figure: Callable[[Figures], float | None]) -> Callable[[Figures], float | None]:
    """Of tables that stand beside each other: the unweighted mean over those with a figure."""

    def mean(tables: Figures) -> float | None:
        values = [figure(tables[start : start + CELLS]) for start in range(0, len(tables), CELLS)]
        known = [value for value in values if value is not None]
        return math.fsum(known) / len(known) if known else None

    return mean


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _within(interval: Interval | None, scale: float) -> Interval | None:
    """A jackknifed bound may lie beyond what a share or a kappa can be."""
    if interval is None:
        return None
    least = -1.0 if scale == 1.0 else 0.0
    low, high = (scale * min(1.0, max(least, bound)) for bound in interval)
    return low, high
