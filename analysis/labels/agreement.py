"""How far people agree with the attribution, and with each other."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeVar

from toolablate.analysis.agreement.kappa import (
    Pair,
    alpha_interval,
    cohens_kappa,
    coincidences,
    kappa_interval,
    krippendorffs_alpha,
    margins,
)
from toolablate.analysis.effect import FEW_CLUSTERS
from toolablate.analysis.labels.held import Decided, Held
from toolablate.analysis.statistics.intervals import Interval, weighted_share
from toolablate.traces.records import MECHANISM_BOOK, Method

TOO_FEW = 10
"""Questions below which no kappa is told."""

_METHODS: tuple[Method, ...] = ("replay", "trace", "judge")


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """
    person, other  `other` is a second person or a judge, None where the person is held against the attribution;
                   `person` is "" for what people decided together
    book           the codebook
    method         by which the attribution is known; None between people
    blind          whether what the attribution says was hidden from whom was asked, from both of two people: who sees
                   it first tends to agree with it
    trials, units  of which both say something; questions, or clusters of them
    agreed         trials of which both say the same
    kappa, ci95    Cohen's kappa over codes, with its 95 % interval by a bootstrap over units; None where fewer
                   than 10 units say too little, or it is undefined
    small          too few units for `ci95` to cover what it says
    confusion      trials by what the person says, then by what the other one or the attribution says
    weighted       the same, each trial times 1 / its inclusion probability: how many of all wrong trials that could be
                   drawn; empty where no trial came from a queue
    share          of all these the share on which both say the same, with its 95 % interval over units; None likewise
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
    book: str = MECHANISM_BOOK
    weighted: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    share: float | None = None
    share_ci95: Interval | None = None


@dataclass(frozen=True, slots=True)
class Reliability:
    """Krippendorff's alpha of all people by one codebook, over `trials` that two or more of them labelled, of so many
    `units`. `code` is "" for all codes; of a codebook in which several may be chosen there is one for each code, of
    whether it was. `alpha`, `ci95` and `small` are as in `LabelAgreement`."""

    book: str
    code: str
    people: tuple[str, ...]
    trials: int
    units: int
    alpha: float | None
    ci95: tuple[float, float] | None
    small: bool


def with_attribution(found: Sequence[Held]) -> Iterator[LabelAgreement]:
    found = [each for each in found if each.agrees is not None]
    for person in sorted({each.label.person for each in found}):
        for method in _METHODS:
            for blind in (True, False):
                own = [
                    Said(each.unit, (str(each.label.mechanism), str(each.mechanism)), weight_of(each))
                    for each in found
                    if (each.label.person, each.method, each.label.blind) == (person, method, blind)
                ]
                if own:
                    yield agreement_of(person, None, method, blind, own)


def decided_with_attribution(found: Sequence[Decided]) -> Iterator[LabelAgreement]:
    found = [each for each in found if each.book == MECHANISM_BOOK and each.mechanism is not None]
    for method in _METHODS:
        for blind in (True, False):
            own = [
                Said(each.unit, (each.said[0], str(each.mechanism)), each.weight)
                for each in found
                if (each.method, each.blind) == (method, blind)
            ]
            if own:
                yield agreement_of("", None, method, blind, own)


def between_people(found: Sequence[Held], book: str) -> Iterator[LabelAgreement]:
    by_person: dict[str, dict[str, Held]] = defaultdict(dict)
    for each in found:
        if each.label.book == book:
            by_person[each.label.person][each.label.trial] = each
    for first, second in combinations(sorted(by_person), 2):
        ours, theirs = by_person[first], by_person[second]
        shared = [(ours[trial], theirs[trial]) for trial in ours if trial in theirs]
        for blind in (True, False):
            own = [
                Said(one.unit, (_joined(one), _joined(other)), weight_of(one))
                for one, other in shared
                if (one.label.blind and other.label.blind) == blind
            ]
            if own:
                yield agreement_of(first, second, None, blind, own, book)


def _joined(each: Held) -> str:
    return " + ".join(each.label.said)


def weight_of(each: Held) -> float | None:
    chance = each.label.inclusion_probability
    return None if chance is None else 1 / chance


def reliability_of(found: Sequence[Held], book: str) -> Iterator[Reliability]:
    """Of blind labels, where any trial has two of them: who sees an attribution first tends to agree with it."""
    of_book = [each for each in found if each.label.book == book]
    blind = [each for each in of_book if each.label.blind]
    several_blind = max(Counter(each.label.trial for each in blind).values(), default=0) > 1
    found = blind if several_blind else of_book
    units: dict[str, dict[str, list[Held]]] = defaultdict(lambda: defaultdict(list))
    for each in found:
        if each.label.book == book:
            units[each.unit][each.label.trial].append(each)
    shared = [
        [labels for _, labels in sorted(trials.items()) if len(labels) > 1] for _, trials in sorted(units.items())
    ]
    shared = [each for each in shared if each]
    if not shared:
        return
    several = any(len(each.label.said) != 1 for unit in shared for labels in unit for each in labels)
    codes = sorted({code for unit in shared for labels in unit for each in labels for code in each.label.said})
    people = tuple(sorted({each.label.person for unit in shared for labels in unit for each in labels}))
    for code in codes if several else [""]:
        told = coincidences(
            [
                [[str(code in each.label.said) if code else _joined(each) for each in labels] for labels in unit]
                for unit in shared
            ]
        )
        told = told if len(shared) >= TOO_FEW else []
        yield Reliability(
            book=book,
            code=code,
            people=people,
            trials=sum(map(len, shared)),
            units=len(shared),
            alpha=krippendorffs_alpha(told),
            ci95=alpha_interval(told),
            small=len(shared) < FEW_CLUSTERS,
        )


@dataclass(frozen=True, slots=True)
class Said:
    """What two say of one trial, and how many wrong trials it stands for, None where it was not drawn by chance."""

    unit: str
    pair: Pair
    weight: float | None = None


def agreement_of(
    person: str,
    other: str | None,
    method: Method | None,
    blind: bool,
    own: Sequence[Said],
    book: str = MECHANISM_BOOK,
) -> LabelAgreement:
    units: dict[str, list[Pair]] = defaultdict(list)
    for each in own:
        units[each.unit].append(each.pair)
    by_unit = [sorted(units[unit]) for unit in sorted(units)]
    told = margins(by_unit) if len(by_unit) >= TOO_FEW else []
    drawn = [(each.unit, each.pair, each.weight) for each in own if each.weight is not None]
    share, ci95 = (
        weighted_share(
            [first == second for _, (first, second), _ in drawn],
            [weight for *_, weight in drawn],
            [unit for unit, *_ in drawn],
        )
        if drawn
        else (None, None)
    )
    return LabelAgreement(
        person=person,
        other=other,
        method=method,
        blind=blind,
        trials=len(own),
        units=len(by_unit),
        agreed=sum(first == second for first, second in (each.pair for each in own)),
        kappa=cohens_kappa(told),
        ci95=kappa_interval(told),
        small=len(by_unit) < FEW_CLUSTERS,
        confusion=_confusion([(each.pair, 1) for each in own]),
        book=book,
        weighted=_confusion([(pair, weight) for _, pair, weight in drawn]),
        share=share,
        share_ci95=ci95,
    )


_Counted = TypeVar("_Counted", int, float)


def _confusion(pairs: Sequence[tuple[Pair, _Counted]]) -> dict[str, dict[str, _Counted]]:
    counts: dict[str, dict[str, _Counted]] = {}
    for (first, second), count in sorted(pairs):
        row = counts.setdefault(first, {})
        row[second] = row[second] + count if second in row else count
    return counts
