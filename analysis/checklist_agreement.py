"""How far scorers of checklists agree: judges on one mapping, mappers with each other, judges with people."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from toolablate.analysis.agreement.kappa import Pair, cohens_kappa, kappa_interval, margins
from toolablate.analysis.checklist_measures import NaRule, sample_values
from toolablate.analysis.checklists import Figure, JudgePair, Sample, judge_pairs, summarised
from toolablate.analysis.statistics.intervals import RESAMPLES, Figures, Interval, by_unit, jackknifed_interval
from toolablate.traces.records import ItemScore

_NO_VARIANCE = 1e-12


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson's, of two scorers' F1 of the same samples; None where one gives all samples one F1."""

    samples: int
    r: float | None
    ci95: Interval | None = None


@dataclass(frozen=True, slots=True)
class Agreed:
    """How often two say the same of `count` things, and Cohen's kappa with its interval by clusters."""

    count: int
    agreement: float | None
    kappa: float | None
    kappa_ci95: Interval | None


@dataclass(frozen=True, slots=True)
class ScorerPair:
    """Two scorers of the same samples.

    judged    where both judged what one mapper extracted: on accuracy and on ternary; () else
    filled    where they had mappers of their own, or one mapped twice: on whether an item has a text; None else
    mapped    the same: the texts of the one compared with those of the other as references, "precision", "recall" and
              "f1" under the published rule; empty where no judge was asked
    """

    scorers: tuple[str, str]
    correlation: Correlation
    judged: tuple[JudgePair, ...] = ()
    filled: Agreed | None = None
    mapped: Mapping[str, Figure] | None = None


def correlated(
    samples: Sequence[Sample], one: str, other: str, na: NaRule, *, seed: int = 0, resamples: int = RESAMPLES
) -> Correlation:
    """Over the samples that both judged whole and that count under the rule."""
    units, pairs = [], list[tuple[float, float]]()
    for sample in samples:
        values = [sample_values(sample.judged[judge], na).get("f1") for judge in (one, other)]
        if values[0] is not None and values[1] is not None:
            units.append(sample.unit)
            pairs.append((values[0], values[1]))
    if not pairs:
        return Correlation(0, None)
    columns = [[1.0, x, y, x * x, y * y, x * y] for x, y in pairs]
    sums = list(zip(*by_unit(units, *map(list, zip(*columns, strict=True))), strict=True))
    found = _pearson(tuple(map(math.fsum, zip(*sums, strict=True))))
    sizes = [each[0] for each in sums]
    interval = jackknifed_interval(_pearson, sums, sizes, seed=seed, resamples=resamples) if resamples else None
    clipped = None if interval is None else (max(-1.0, interval[0]), min(1.0, interval[1]))
    return Correlation(len(pairs), found, clipped)


def _pearson(sums: Figures) -> float | None:
    size, x, y, xx, yy, xy = sums
    if size < 2:
        return None
    spread = (xx / size - (x / size) ** 2, yy / size - (y / size) ** 2)
    if min(spread) < _NO_VARIANCE:
        return None
    return max(-1.0, min(1.0, (xy / size - x * y / size**2) / math.sqrt(spread[0] * spread[1])))


def agreed(units: Sequence[object], pairs: Sequence[Pair], *, seed: int = 0, resamples: int = RESAMPLES) -> Agreed:
    """Of what two say of the same things, each in a unit."""
    by: dict[object, list[Pair]] = {}
    for unit, pair in zip(units, pairs, strict=True):
        by.setdefault(unit, []).append(pair)
    counted = margins(list(by.values()))
    kappa = cohens_kappa(counted)
    same = sum(one == other for one, other in pairs)
    interval = kappa_interval(counted, seed=seed, resamples=resamples) if resamples and kappa is not None else None
    return Agreed(len(pairs), same / len(pairs) if pairs else None, kappa, interval)


Contains = Callable[[Sample, ItemScore, ItemScore], tuple[bool, bool] | None]
"""Whether the first of two texts for one item contains the second, and the second the first; None where nobody has
said so."""


def scorer_pairs(
    samples: Sequence[Sample],
    mapping_of: Callable[[str], object],
    na: NaRule,
    *,
    contains: Contains | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[ScorerPair]:
    """Each two scorers, over the samples that both have. `mapping_of` tells which scorers share a mapping; `contains`
    compares the texts of two mappings. Without intervals where `resamples` is 0."""
    pairs = {
        pair: [each for each in samples if all(name in each.judged for name in pair)]
        for pair in combinations(dict.fromkeys(judge for sample in samples for judge in sample.judged), 2)
    }
    found = []
    for (one, other), both in _worth(pairs, mapping_of):
        correlation = correlated(both, one, other, na, seed=seed, resamples=resamples)
        if mapping_of(one) == mapping_of(other):
            only = [replace(each, judged={name: each.judged[name] for name in (one, other)}) for each in both]
            judged = judge_pairs(only, na, seed=seed, resamples=resamples)
            found.append(ScorerPair((one, other), correlation, judged))
            continue
        cells = [(each, *cell) for each in both for cell in _cells(each, one, other)]
        said = [(str(a.filled), str(b.filled)) for _, a, b in cells]
        filled = agreed([each.unit for each, _, _ in cells], said, seed=seed, resamples=resamples)
        mapped = None if contains is None else _mapped(both, one, other, contains, seed, resamples)
        found.append(ScorerPair((one, other), correlation, (), filled, mapped))
    return found


Scorers = tuple[str, str]


def _worth(
    pairs: Mapping[Scorers, Sequence[Sample]], mapping_of: Callable[[str], object]
) -> Iterator[tuple[Scorers, Sequence[Sample]]]:
    """Those with samples. Of two mappings those that one judge judged, so that nothing else differs; where no judge
    judged both, the first."""
    among: dict[frozenset[object], list[Scorers]] = {}
    for pair, samples in pairs.items():
        if samples:
            among.setdefault(frozenset(map(mapping_of, pair)), []).append(pair)
    for mappings, named in among.items():
        alike = [pair for pair in named if len({_judge_of(name) for name in pair}) == 1]
        for pair in named if len(mappings) == 1 else alike or named[:1]:
            yield pair, pairs[pair]


def _judge_of(scorer: str) -> str:
    return scorer.partition(",")[0].rstrip("]")


def _cells(sample: Sample, one: str, other: str) -> list[tuple[ItemScore, ItemScore]]:
    second = {item.item: item for item in sample.judged[other]}
    return [(item, second[item.item]) for item in sample.judged[one] if item.item in second]


def _mapped(
    samples: Sequence[Sample], one: str, other: str, contains: Contains, seed: int, resamples: int
) -> Mapping[str, Figure] | None:
    """The figures of the one's texts, against the other's as references; of samples of which all was compared."""
    compared = []
    for sample in samples:
        items = [_compared(sample, a, b, contains) for a, b in _cells(sample, one, other)]
        known = [item for item in items if item is not None]
        if known and len(known) == len(items):
            compared.append(Sample(sample.name, {"": tuple(known)}, cluster=sample.cluster))
    if not compared:
        return None
    figures = summarised(compared, "published", seed=seed, resamples=resamples).figures
    return {name: figures[name] for name in ("precision", "recall", "f1")}


def _compared(sample: Sample, one: ItemScore, other: ItemScore, contains: Contains) -> ItemScore | None:
    said: tuple[bool, bool] | None
    if one.mapped == other.mapped:
        said = (True, True)
    elif not (one.filled and other.filled):
        said = (False, False)
    else:
        said = contains(sample, one, other)
    if said is None:
        return None
    recall, precision = said
    return ItemScore(item=one.item, expected=other.filled, mapped=one.mapped, precision=precision, recall=recall)


# Judges and people.


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What somebody says of two texts for one item. `cell` names the two texts; `unit` is what is independent."""

    by: str
    cell: str
    unit: object
    model_contains_reference: bool
    reference_contains_model: bool


@dataclass(frozen=True, slots=True)
class PeoplePair:
    """A judge and people, or two people. `contains` is on both questions of each cell together, `accuracy` on whether
    both are answered with yes."""

    names: tuple[str, str]
    cells: int
    contains: Agreed
    accuracy: Agreed


def with_people(judges: Sequence[Verdicts], people: Sequence[Verdicts], *, seed: int = 0) -> list[PeoplePair]:
    """Each judge with all people together, who each count on their own; and each two people."""
    by_judge: dict[str, dict[str, Verdicts]] = {}
    for each in judges:
        by_judge.setdefault(each.by, {})[each.cell] = each
    found = []
    for judge, cells in by_judge.items():
        pairs = [(cells[each.cell], each) for each in people if each.cell in cells]
        found.append(_pair((judge, "people"), pairs, seed))
    by_person: dict[str, dict[str, Verdicts]] = {}
    for each in people:
        by_person.setdefault(each.by, {})[each.cell] = each
    for one, other in combinations(by_person, 2):
        shared = [(said, by_person[other][cell]) for cell, said in by_person[one].items() if cell in by_person[other]]
        if shared:
            found.append(_pair((one, other), shared, seed))
    return found


def _pair(names: tuple[str, str], pairs: Sequence[tuple[Verdicts, Verdicts]], seed: int) -> PeoplePair:
    units = [one.unit for one, _ in pairs]
    questions = ("model_contains_reference", "reference_contains_model")
    each = [(str(getattr(one, name)), str(getattr(other, name))) for name in questions for one, other in pairs]
    both = [(str(_both(one)), str(_both(other))) for one, other in pairs]
    cells = len({one.cell for one, _ in pairs})
    return PeoplePair(names, cells, agreed(units * 2, each, seed=seed), agreed(units, both, seed=seed))


def _both(said: Verdicts) -> bool:
    return said.model_contains_reference and said.reference_contains_model
