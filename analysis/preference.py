"""How often one of two answers is preferred: net preference, its noise floor, and what length and place have to do with
it."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from toolablate.analysis.effect import FEW_CLUSTERS, too_few
from toolablate.analysis.pairing import Unit
from toolablate.analysis.statistics.intervals import (
    RESAMPLES,
    Figures,
    Interval,
    bootstrap_intervals,
    by_unit,
    jackknifed_interval,
)
from toolablate.analysis.statistics.p_values import sign_flip_p
from toolablate.traces.records import Preferred

Between = Literal["agreed", "turned", "half", "once", "rule"]
"""Of two orders: one verdict; the two opposite ones; one of them a tie. `once`: asked in one order. `rule`: not asked,
because the texts are equal or one of them is empty."""


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """Two answers to one question. `value` is 1 where the condition's is preferred, -1 where the baseline's is, 0 where
    they are the same. `first` are the readings by place: 1 where what stood first was preferred, -1 for the second, 0
    for same. Lengths are in characters."""

    question: str
    unit: Unit
    value: int
    between: Between
    first: tuple[int, ...]
    length_before: int
    length_after: int


@dataclass(frozen=True, slots=True)
class PreferenceFigures:
    """Preference of a condition's answers over the baseline's; points and shares in percent.

    pairs, questions, clusters  that it rests on; each question weighs the same
    small              too few clusters, or too few that differ, to rely on the interval
    wins, losses, ties pairs; a verdict that turned with the order is a tie
    net_points         mean of wins less losses; its 95 % interval by a bootstrap over clusters, p by sign flips
    tied, turned       share of pairs that are ties; share of those asked in both orders whose verdict turned
    equal_length_points  net preference where both answers are equally long: the intercept of the least-squares line of
                       the value on the difference of log lengths; None where all differences are alike
    per_doubling_points  that line's slope: net preference per doubling of the length
    longer_points      net preference of the rule "the longer is better"
    like_longer        of the pairs that the judge decided, the share in which it prefers the longer
    first_share        share of decided readings in which what stood first was preferred: 50 without a bias
    length_ratio       geometric mean of the condition's length over the baseline's
    """

    pairs: int
    questions: int
    clusters: int
    small: bool
    wins: int
    losses: int
    ties: int
    by_rule: int
    net_points: float | None
    net_ci95: Interval | None
    p_value: float | None
    tied: float | None
    tied_ci95: Interval | None
    turned: float | None
    turned_ci95: Interval | None
    equal_length_points: float | None
    equal_length_ci95: Interval | None
    per_doubling_points: float | None
    per_doubling_ci95: Interval | None
    longer_points: float | None
    longer_ci95: Interval | None
    like_longer: float | None
    like_longer_ci95: Interval | None
    first_share: float | None
    first_ci95: Interval | None
    length_ratio: float | None
    length_ratio_ci95: Interval | None


def preference_figures(pairs: Sequence[JudgedPair], *, seed: int = 0, resamples: int = RESAMPLES) -> PreferenceFigures:
    """Of any number of pairs, several of one question among them."""
    by_question: dict[str, list[JudgedPair]] = defaultdict(list)
    for pair in pairs:
        by_question[pair.question].append(pair)
    groups = list(by_question.values())
    units = [group[0].unit for group in groups]
    net = [_mean(pair.value for pair in group) for group in groups]
    tied = [_mean(pair.value == 0 for pair in group) for group in groups]
    longer = [_mean(_sign(pair.length_after - pair.length_before) for pair in group) for group in groups]
    asked = [[pair for pair in group if pair.between in ("agreed", "turned", "half")] for group in groups]
    turned = [_mean(pair.between == "turned" for pair in group) for group in asked]
    readings = [[place for pair in group for place in pair.first if place] for group in groups]
    firsts = [float(sum(place > 0 for place in places)) for places in readings]
    telling = [[pair for pair in group if _tells_length(pair)] for group in groups]
    liked = [float(sum((pair.value > 0) == (pair.length_after > pair.length_before) for pair in of)) for of in telling]
    lengths = [_mean(map(_longer_by, group)) for group in groups]
    ones, some = [1.0] * len(groups), [float(bool(group)) for group in asked]
    nets, sizes, ties, turns, both, first, decided, long, likes, told, logs = by_unit(
        units,
        net,
        ones,
        tied,
        turned,
        some,
        firsts,
        [float(len(places)) for places in readings],
        longer,
        liked,
        [float(len(of)) for of in telling],
        lengths,
    )
    found = (
        bootstrap_intervals(
            [
                (nets, sizes),
                (ties, sizes),
                (turns, both),
                (first, decided),
                (long, sizes),
                (likes, told),
                (logs, sizes),
            ],
            seed=seed,
            resamples=resamples,
        )
        if groups
        else [None] * 7
    )
    line = _line(groups, units, seed, resamples)
    return PreferenceFigures(
        pairs=len(pairs),
        questions=len(groups),
        clusters=len(nets),
        small=too_few(nets, sizes),
        wins=sum(pair.value > 0 for pair in pairs),
        losses=sum(pair.value < 0 for pair in pairs),
        ties=sum(pair.value == 0 for pair in pairs),
        by_rule=sum(pair.between == "rule" for pair in pairs),
        net_points=_percent(nets, sizes),
        net_ci95=_hundredfold(found[0]),
        p_value=sign_flip_p(nets, seed=seed, resamples=resamples) if nets else None,
        tied=_percent(ties, sizes),
        tied_ci95=_hundredfold(found[1]),
        turned=_percent(turns, both),
        turned_ci95=_hundredfold(found[2]),
        equal_length_points=None if line is None else 100 * line.at_equal,
        equal_length_ci95=None if line is None else _hundredfold(line.at_equal_ci95),
        per_doubling_points=None if line is None else 100 * line.slope,
        per_doubling_ci95=None if line is None else _hundredfold(line.slope_ci95),
        longer_points=_percent(long, sizes),
        longer_ci95=_hundredfold(found[4]),
        like_longer=_percent(likes, told),
        like_longer_ci95=_hundredfold(found[5]),
        first_share=_percent(first, decided),
        first_ci95=_hundredfold(found[3]),
        length_ratio=math.exp(_mean(lengths)) if groups else None,
        length_ratio_ci95=None if found[6] is None else (math.exp(found[6][0]), math.exp(found[6][1])),
    )


def _tells_length(pair: JudgedPair) -> bool:
    """Whether the judge decided it and one answer is longer."""
    return pair.between != "rule" and pair.value != 0 and pair.length_after != pair.length_before


def _longer_by(pair: JudgedPair) -> float:
    """The difference of log lengths; one character stands for none."""
    return math.log(max(pair.length_after, 1) / max(pair.length_before, 1))


@dataclass(frozen=True, slots=True)
class _Line:
    """Net preference at equal length, and its slope per doubling of the length, in shares."""

    at_equal: float
    at_equal_ci95: Interval | None
    slope: float
    slope_ci95: Interval | None


def _line(groups: Sequence[Sequence[JudgedPair]], units: Sequence[Unit], seed: int, resamples: int) -> _Line | None:
    """Each question weighs 1. Pairs that were decided by rule have no length to speak of."""
    columns: list[tuple[float, ...]] = []
    for group in groups:
        asked = [(_longer_by(pair) / math.log(2), float(pair.value)) for pair in group if pair.between != "rule"]
        share = 1 / len(asked) if asked else 0.0
        products = [(1.0, x, y, x * x, x * y) for x, y in asked]
        columns.append(tuple(share * math.fsum(each) for each in zip(*products, strict=True)) or (0.0,) * 5)
    if not columns:
        return None
    sums = list(zip(*by_unit(units, *zip(*columns, strict=True)), strict=True))
    kept = [each for each in sums if each[0] > 0]
    total = tuple(map(math.fsum, zip(*kept, strict=True)))
    intercept, slope = (_intercept(total), _slope(total)) if kept else (None, None)
    if intercept is None or slope is None:
        return None
    sizes = [each[0] for each in kept]
    at_equal, per_doubling = (
        jackknifed_interval(figure, kept, sizes, seed=seed, resamples=resamples) for figure in (_intercept, _slope)
    )
    return _Line(intercept, at_equal, slope, per_doubling)


_FLAT = 1e-9


def _slope(sums: Figures) -> float | None:
    """Of weights, x, y, x squared and x times y; None where x does not vary."""
    size, x, y, xx, xy = sums
    if size <= _FLAT or size * xx - x * x <= _FLAT * size * size:
        return None
    return (size * xy - x * y) / (size * xx - x * x)


def _intercept(sums: Figures) -> float | None:
    slope = _slope(sums)
    return None if slope is None else (sums[2] - slope * sums[1]) / sums[0]


def _mean(values: Iterable[float]) -> float:
    given = list(values)
    return math.fsum(given) / len(given) if given else 0.0


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _percent(sums: Sequence[float], sizes: Sequence[float]) -> float | None:
    size = math.fsum(sizes)
    return 100 * math.fsum(sums) / size if size else None


def _hundredfold(interval: Interval | None) -> Interval | None:
    return None if interval is None else (100 * interval[0], 100 * interval[1])


# A judge's verdicts on pairs whose right verdict people have given: what its net preference is worth.


@dataclass(frozen=True, slots=True)
class CheckedVerdict:
    """A judge's verdict beside an expert's `label`; `longer` is the verdict of the rule "the longer is better"."""

    label: Preferred
    verdict: Preferred
    longer: Preferred
    unit: Unit


@dataclass(frozen=True, slots=True)
class JudgeCalibration:
    """`counts`: comparisons by the expert's verdict, then by the judge's. Shares are in percent.

    accuracy        share of the judge's verdicts that are the expert's; `longer_accuracy` that of the longer answer
    above_longer    their difference in points, with its interval by clusters
    sharpness       where the expert prefers one answer: the share in which the judge prefers that one, less the share
                    in which it prefers the other. A net preference is so much smaller than the experts' would be
    tie_recall      of the experts' ties those that the judge calls so; `false_ties` of their preferences
    """

    counts: dict[Preferred, dict[Preferred, int]]
    clusters: int
    accuracy: float
    accuracy_ci95: Interval | None
    longer_accuracy: float
    longer_accuracy_ci95: Interval | None
    above_longer: float
    above_longer_ci95: Interval | None
    sharpness: float | None
    sharpness_ci95: Interval | None
    tie_recall: float | None
    tie_recall_ci95: Interval | None
    false_ties: float | None
    false_ties_ci95: Interval | None

    @property
    def weak(self) -> str:
        """Why no preference of this judge should be corrected or believed; "" where nothing speaks against it."""
        if not self._is_above(self.above_longer, self.above_longer_ci95):
            return "it is not reliably right more often than the rule that the longer answer is better"
        if not self._is_above(self.sharpness, self.sharpness_ci95):
            return "it does not tell better answers from worse ones"
        return ""

    def _is_above(self, value: float | None, interval: Interval | None) -> bool:
        """Above 0, also where there is no interval because all clusters are alike: of a judge that is always right."""
        if interval is None:
            return value is not None and value > 0 and self.clusters >= FEW_CLUSTERS
        return interval[0] > 0

    @property
    def sees_ties(self) -> bool:
        """Whether it says "same" of ties more often than of others; the net preference does not rest on it."""
        return self.tie_recall is not None and self.false_ties is not None and self.tie_recall > self.false_ties


def judge_calibration(
    checked: Sequence[CheckedVerdict], *, seed: int = 0, resamples: int = RESAMPLES
) -> JudgeCalibration:
    """Raises ValueError of no verdict."""
    if not checked:
        raise ValueError("nothing is known of a judge without verdicts")
    right = [float(each.verdict == each.label) for each in checked]
    longer = [float(each.longer == each.label) for each in checked]
    sharp, decided = [_sharpness(each) for each in checked], [float(each.label != "same") for each in checked]
    units = [each.unit for each in checked]
    above = [mine - theirs for mine, theirs in zip(right, longer, strict=True)]
    tie = [float(each.label == "same") for each in checked]
    seen, false = (
        [float(each.verdict == "same") * of for each, of in zip(checked, some, strict=True)] for some in (tie, decided)
    )
    rights, longers, aboves, sizes, sharps, preferences, found_ties, ties, false_ties = by_unit(
        units, right, longer, above, [1.0] * len(checked), sharp, decided, seen, tie, false
    )
    found = bootstrap_intervals(
        [
            (rights, sizes),
            (longers, sizes),
            (aboves, sizes),
            (sharps, preferences),
            (found_ties, ties),
            (false_ties, preferences),
        ],
        seed=seed,
        resamples=resamples,
    )
    kinds: tuple[Preferred, ...] = ("a", "b", "same")
    return JudgeCalibration(
        counts={
            label: {said: sum(each.label == label and each.verdict == said for each in checked) for said in kinds}
            for label in kinds
        },
        clusters=len(sizes),
        accuracy=100 * _mean(right),
        accuracy_ci95=_hundredfold(found[0]),
        longer_accuracy=100 * _mean(longer),
        longer_accuracy_ci95=_hundredfold(found[1]),
        above_longer=100 * _mean(above),
        above_longer_ci95=_hundredfold(found[2]),
        sharpness=_percent(sharps, preferences),
        sharpness_ci95=_hundredfold(found[3]),
        tie_recall=_percent(found_ties, ties),
        tie_recall_ci95=_hundredfold(found[4]),
        false_ties=_percent(false_ties, preferences),
        false_ties_ci95=_hundredfold(found[5]),
    )


def corrected_net(
    pairs: Sequence[JudgedPair], checked: Sequence[CheckedVerdict], *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, Interval | None] | None:
    """The net preference in points that experts would have, and its 95 % interval: the judge's over its sharpness, and
    that of the pairs that were decided by rule, which no judge saw, as it is.

    Which answer stood at a or b is nothing to a judge that is asked in both orders, so its confusion matrix is
    symmetric in a and b; inverting it then divides the net preference by the sharpness, and ties drop out (Rogan and
    Gladen 1978, "Estimating prevalence from the results of a screening test", American Journal of Epidemiology 107, for
    two labels). What experts would say of the judged pairs is bounded by their share. The interval has the percentiles
    over independent resamples of the clusters of both; None where a resample's sharpness may be 0. None where there are
    no pairs, or no sharpness above 0.
    """
    preferred = [float(each.label != "same") for each in checked]
    sharps, decided = by_unit([each.unit for each in checked], [_sharpness(each) for each in checked], preferred)
    by_question: dict[str, list[JudgedPair]] = defaultdict(list)
    for pair in pairs:
        by_question[pair.question].append(pair)
    groups = list(by_question.values())
    ruled = [_mean(pair.value * (pair.between == "rule") for pair in group) for group in groups]
    judged = [_mean(pair.value * (pair.between != "rule") for pair in group) for group in groups]
    shares = [_mean(pair.between != "rule" for pair in group) for group in groups]
    sides = by_unit([group[0].unit for group in groups], ruled, judged, shares, [1.0] * len(groups))
    if not groups or not sum(decided) or sum(sharps) <= 0:
        return None
    found = float(_corrected([math.fsum(side) for side in sides], math.fsum(sharps) / math.fsum(decided)))
    if len(sides[0]) < 2 or len(sharps) < 2:
        return found, None
    rng = np.random.default_rng(seed)
    with np.errstate(divide="ignore", invalid="ignore"):
        sharp = np.divide(*_resampled((sharps, decided), rng, resamples))
    if not np.isfinite(sharp).all() or sharp.min() <= 0:
        return found, None
    low, high = np.quantile(_corrected(_resampled(sides, rng, resamples), sharp), [0.025, 0.975])
    return found, (float(low), float(high))


def _corrected(sums: Sequence[Any], sharp: Any) -> Any:
    """In points, of sums over questions: values decided by rule, values by the judge, shares that it judged, and their
    number; of each resample one."""
    ruled, judged, share, size = sums
    return 100 * (ruled + np.clip(judged / sharp, -share, share)) / size


def _sharpness(each: CheckedVerdict) -> float:
    if each.label == "same" or each.verdict == "same":
        return 0.0
    return 1.0 if each.verdict == each.label else -1.0


def _resampled(
    columns: Sequence[Sequence[float]], rng: np.random.Generator, resamples: int
) -> tuple[NDArray[np.float64], ...]:
    """Of figures by cluster, the sums in each resample of the clusters; all columns are of the same resamples."""
    count = len(columns[0])
    drawn = rng.multinomial(count, np.full(count, 1 / count), size=resamples)
    return tuple(drawn @ np.asarray(column) for column in columns)
