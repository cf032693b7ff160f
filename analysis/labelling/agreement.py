"""How far people agree with the attribution, and with each other."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from toolablate.analysis.agreement.kappa import Pair, cohens_kappa, kappa_interval, margins
from toolablate.analysis.effect import FEW_CLUSTERS
from toolablate.analysis.labelling.held import Held
from toolablate.traces.records import Method

TOO_FEW = 10
"""Questions below which no kappa is told."""

_METHODS: tuple[Method, ...] = ("replay", "trace", "judge")


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """
    person, other  `other` is a second person, None where the person is held against the attribution
    method         by which the attribution is known; None between people
    blind          whether what the attribution says was hidden from whom was asked, from both of two people: who sees
                   it first tends to agree with it
    trials, units  of which both say something; questions, or clusters of them
    agreed         trials of which both say the same mechanism
    kappa, ci95    Cohen's kappa over mechanisms, with its 95 % interval by a bootstrap over units; None where fewer
                   than 10 units say too little, or it is undefined
    small          too few units for `ci95` to cover what it says
    confusion      trials by what the person says, then by what the other one or the attribution says
    """

    person: str
    other: str | None
    method: Method | None
    blind: bool
    trials: int
    units: int
    agreed: int
    kappa: float | None
    ci95: tuple[float, float] | None
    small: bool
    confusion: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class LabelReport:
    """Every label that counts, then what they say in sum. `unattributed` counts labels of trials to which nothing is
    attributed, `changed` those of trials to which something else was attributed when they were read."""

    held: tuple[Held, ...]
    with_attribution: tuple[LabelAgreement, ...]
    between_people: tuple[LabelAgreement, ...]
    unattributed: int
    changed: int


def label_report(found: Sequence[Held], *, seed: int = 0) -> LabelReport:
    """Depends on the labels and the seed alone, not on their order."""
    return LabelReport(
        held=tuple(found),
        with_attribution=tuple(_with_attribution(found, seed)),
        between_people=tuple(_between_people(found, seed)),
        unattributed=sum(each.mechanism is None for each in found),
        changed=sum(each.changed for each in found),
    )


def _with_attribution(found: Sequence[Held], seed: int) -> Iterator[LabelAgreement]:
    for person in sorted({each.label.person for each in found}):
        for method in _METHODS:
            for blind in (True, False):
                own = [
                    each
                    for each in found
                    if (each.label.person, each.method, each.label.blind) == (person, method, blind)
                ]
                if own:
                    units: dict[str, list[Pair]] = defaultdict(list)
                    for each in own:
                        units[each.unit].append((str(each.label.mechanism), str(each.mechanism)))
                    yield _agreement(person, None, method, blind, units, seed)


def _between_people(found: Sequence[Held], seed: int) -> Iterator[LabelAgreement]:
    by_person: dict[str, dict[str, Held]] = defaultdict(dict)
    for each in found:
        by_person[each.label.person][each.label.trial] = each
    for first, second in combinations(sorted(by_person), 2):
        ours, theirs = by_person[first], by_person[second]
        shared = [(ours[trial], theirs[trial]) for trial in ours if trial in theirs]
        for blind in (True, False):
            units: dict[str, list[Pair]] = defaultdict(list)
            for one, other in shared:
                if (one.label.blind and other.label.blind) == blind:
                    units[one.unit].append((str(one.label.mechanism), str(other.label.mechanism)))
            if units:
                yield _agreement(first, second, None, blind, units, seed)


def _agreement(
    person: str, other: str | None, method: Method | None, blind: bool, units: Mapping[str, list[Pair]], seed: int
) -> LabelAgreement:
    by_unit = [sorted(units[unit]) for unit in sorted(units)]
    pairs = [pair for each in by_unit for pair in each]
    told = margins(by_unit) if len(by_unit) >= TOO_FEW else []
    counts = Counter(pairs)
    return LabelAgreement(
        person=person,
        other=other,
        method=method,
        blind=blind,
        trials=len(pairs),
        units=len(by_unit),
        agreed=sum(first == second for first, second in pairs),
        kappa=cohens_kappa(told),
        ci95=kappa_interval(told, seed=seed),
        small=len(by_unit) < FEW_CLUSTERS,
        confusion={
            first: {second: count for (own, second), count in sorted(counts.items()) if own == first}
            for first in sorted({own for own, _ in counts})
        },
    )
