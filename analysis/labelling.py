"""What people hold for the causes of failures, and how far they agree with the attribution and each other."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any, TypeVar, get_args

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
from toolablate.analysis.spreadsheets import csv_text
from toolablate.analysis.statistics.intervals import Interval, clustered_share, weighted_share
from toolablate.traces.records import (
    ERROR_TYPE_BOOK,
    MECHANISM_BOOK,
    Diagnosis,
    ErrorType,
    Label,
    Mechanism,
    Method,
)


@dataclass(frozen=True, slots=True)
class Held:
    """The last label by one codebook that a person gave a trial and did not withdraw.

    question    what the trial is about, as a table names it
    unit        trials of one unit are not independent: its question, or the cluster of that
    mechanism,  what is attributed to the trial now, and how that is known; None where nothing is
      method
    domain      of the question
    """

    label: Label
    question: str
    unit: str
    mechanism: Mechanism | None
    method: Method | None
    domain: str = ""

    @property
    def agrees(self) -> bool | None:
        """With the attribution of now, in the mechanism; None where there is none, or the label is of other codes."""
        if self.mechanism is None or self.label.mechanism is None:
            return None
        return self.label.mechanism == self.mechanism

    @property
    def changed(self) -> bool:
        """Whether another mechanism is attributed now than when the person read the trial; of what was not known then
        nothing changed."""
        return self.label.attributed not in (None, self.mechanism)


@dataclass(frozen=True, slots=True)
class AttributedCause:
    """What is known of a labelled trial: see Held."""

    question: str
    unit: str
    mechanism: Mechanism | None = None
    method: Method | None = None
    domain: str = ""


def held(labels: Iterable[Label], of: Callable[[str], AttributedCause]) -> tuple[Held, ...]:
    """Of labels in the order in which they were given, those that count, in the order of the last word of each person
    on each trial by each codebook; what decides between labels stands beside a person's own. `of` says what is known of
    a trial by its id."""
    last: dict[tuple[str, str, str, bool], Label] = {}
    for label in labels:
        key = (label.trial, label.person, label.book, label.adjudicated)
        last.pop(key, None)
        last[key] = label
    standing = [label for label in last.values() if label.said]
    known = {trial: of(trial) for trial in dict.fromkeys(label.trial for label in standing)}
    return tuple(
        Held(label, about.question, about.unit, about.mechanism, about.method, about.domain)
        for label in standing
        for about in (known[label.trial],)
    )


# What is settled of a trial, and what people still have to decide.


@dataclass(frozen=True, slots=True)
class Decided:
    """What people hold of a trial together: `said` was decided where they differed (`adjudicated`), or two or more of
    them say it and nobody says anything else. `blind` tells that the attribution was hidden from all of them; `weight`
    is how many wrong trials it stands for, 1 where it was not drawn by chance. `unit`, `mechanism` and `method` are as
    in `Held`."""

    trial: str
    book: str
    said: tuple[str, ...]
    adjudicated: bool
    blind: bool
    weight: float
    unit: str
    mechanism: Mechanism | None
    method: Method | None


def decided(found: Iterable[Held]) -> tuple[Decided, ...]:
    """In the order of trials."""
    return tuple(one for own in _by_trial(found) if (one := _decided(own)) is not None)


def disputed(found: Iterable[Held], book: str = MECHANISM_BOOK) -> tuple[tuple[Held, ...], ...]:
    """The independent labels of each trial on which people differ and nobody has decided, in the order of trials."""
    return tuple(
        tuple(own)
        for own in _by_trial(found)
        if own[0].label.book == book and len({each.label.said for each in own}) > 1
        if not any(each.label.adjudicated for each in own)
    )


def _by_trial(found: Iterable[Held]) -> Iterator[list[Held]]:
    groups: dict[tuple[str, str], list[Held]] = defaultdict(list)
    for each in found:
        groups[each.label.trial, each.label.book].append(each)
    for key in sorted(groups):
        yield groups[key]


def _decided(own: Sequence[Held]) -> Decided | None:
    deciding = [each for each in own if each.label.adjudicated][-1:]
    counting = deciding or (own if len(own) > 1 and len({each.label.said for each in own}) == 1 else [])
    if not counting:
        return None
    one = counting[-1]
    chances = [each.label.inclusion_probability for each in own if each.label.inclusion_probability]
    return Decided(
        trial=one.label.trial,
        book=one.label.book,
        said=one.label.said,
        adjudicated=bool(deciding),
        blind=all(each.label.blind for each in counting),
        weight=1 / chances[0] if chances else 1.0,
        unit=one.unit,
        mechanism=one.mechanism,
        method=one.method,
    )


# How far people agree with the attribution, and with each other.


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


@dataclass(frozen=True, slots=True)
class LabelReport:
    """Every label that counts, then what they say in sum. `unattributed` counts labels of trials to which nothing is
    attributed, `changed` those of trials to which something else was attributed when they were read. `error_types` are
    those that people named, beside a judge's of the same trials; `type_agreement` is how far they agree in these, where
    `other` may be a judge. Agreement and reliability are of independent labels; `decided` is what is settled, and
    `undecided` counts trials on which people differ."""

    held: tuple[Held, ...]
    with_attribution: tuple[LabelAgreement, ...]
    between_people: tuple[LabelAgreement, ...]
    unattributed: int
    changed: int
    error_types: tuple["NamedTypes", ...] = ()
    type_agreement: tuple[LabelAgreement, ...] = ()
    reliability: tuple[Reliability, ...] = ()
    decided: tuple[Decided, ...] = ()
    undecided: int = 0


def label_report(found: Sequence[Held], diagnoses: Iterable[Diagnosis] = ()) -> LabelReport:
    """Depends on the labels and what judges said of the same trials, not on their order."""
    independent, settled = [each for each in found if not each.label.adjudicated], decided(found)
    named = _named_types(independent, diagnoses)
    books = sorted({each.label.book for each in found})
    return LabelReport(
        held=tuple(found),
        with_attribution=(*_decided_with_attribution(settled), *_with_attribution(independent)),
        between_people=tuple(row for book in books for row in _between_people(independent, book)),
        unattributed=sum(each.mechanism is None and each.label.book == MECHANISM_BOOK for each in found),
        changed=sum(each.changed for each in found),
        error_types=tuple(_types_by_domain(named)),
        type_agreement=tuple(_type_agreements(named)),
        reliability=tuple(row for book in books for row in _reliability(independent, book)),
        decided=settled,
        undecided=sum(len(disputed(found, book)) for book in books),
    )


def _with_attribution(found: Sequence[Held]) -> Iterator[LabelAgreement]:
    found = [each for each in found if each.agrees is not None]
    for person in sorted({each.label.person for each in found}):
        for method in _METHODS:
            for blind in (True, False):
                own = [
                    _Said(each.unit, (str(each.label.mechanism), str(each.mechanism)), _weight(each))
                    for each in found
                    if (each.label.person, each.method, each.label.blind) == (person, method, blind)
                ]
                if own:
                    yield _agreement(person, None, method, blind, own)


def _decided_with_attribution(found: Sequence[Decided]) -> Iterator[LabelAgreement]:
    found = [each for each in found if each.book == MECHANISM_BOOK and each.mechanism is not None]
    for method in _METHODS:
        for blind in (True, False):
            own = [
                _Said(each.unit, (each.said[0], str(each.mechanism)), each.weight)
                for each in found
                if (each.method, each.blind) == (method, blind)
            ]
            if own:
                yield _agreement("", None, method, blind, own)


def _between_people(found: Sequence[Held], book: str) -> Iterator[LabelAgreement]:
    by_person: dict[str, dict[str, Held]] = defaultdict(dict)
    for each in found:
        if each.label.book == book:
            by_person[each.label.person][each.label.trial] = each
    for first, second in combinations(sorted(by_person), 2):
        ours, theirs = by_person[first], by_person[second]
        shared = [(ours[trial], theirs[trial]) for trial in ours if trial in theirs]
        for blind in (True, False):
            own = [
                _Said(one.unit, (_joined(one), _joined(other)), _weight(one))
                for one, other in shared
                if (one.label.blind and other.label.blind) == blind
            ]
            if own:
                yield _agreement(first, second, None, blind, own, book)


def _joined(each: Held) -> str:
    return " + ".join(each.label.said)


def _weight(each: Held) -> float | None:
    chance = each.label.inclusion_probability
    return None if chance is None else 1 / chance


def _reliability(found: Sequence[Held], book: str) -> Iterator[Reliability]:
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
class _Said:
    """What two say of one trial, and how many wrong trials it stands for, None where it was not drawn by chance."""

    unit: str
    pair: Pair
    weight: float | None = None


def _agreement(
    person: str,
    other: str | None,
    method: Method | None,
    blind: bool,
    own: Sequence[_Said],
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


# The seven types of error that people name, beside those that judges of failures name of the same trials.


ERROR_TYPES: tuple[ErrorType, ...] = get_args(ErrorType)


@dataclass(frozen=True, slots=True)
class TypeShare:
    """Of `count` trials the share of all, and its 95 % interval over questions."""

    count: int
    share: float
    ci95: tuple[float, float]


@dataclass(frozen=True, slots=True)
class NamedTypes:
    """What one rater names, in one domain; `domain` is None of all. `judge` tells that it is no person. `trials` are of
    so many `units`: questions, or clusters of them. `types` has all seven."""

    rater: str
    judge: bool
    domain: str | None
    trials: int
    units: int
    types: Mapping[ErrorType, TypeShare]


@dataclass(frozen=True, slots=True)
class _Named:
    trial: str
    unit: str
    domain: str
    error_type: ErrorType
    weight: float | None


_Rater = tuple[bool, str]
"""Whether it is a judge, and its name: people come first."""


def _named_types(found: Sequence[Held], diagnoses: Iterable[Diagnosis]) -> dict[_Rater, list[_Named]]:
    """Of each rater in order of trials. Of a judge's those count of whose trial a person names one."""
    named: dict[_Rater, dict[str, _Named]] = defaultdict(dict)
    about = {}
    # Who named a type beside a mechanism, and then by the types alone, means the latter.
    for each in sorted(found, key=lambda each: each.label.book == ERROR_TYPE_BOOK):
        if each.label.error_type is not None:
            about[each.label.trial] = each
            named[False, each.label.person][each.label.trial] = _named(each, each.label.error_type)
    for diagnosis in diagnoses:
        if diagnosis.error_type is not None and diagnosis.trial in about:
            name = diagnosis.judge if diagnosis.wording == 1 else f"{diagnosis.judge} (wording {diagnosis.wording})"
            named[True, name][diagnosis.trial] = _named(about[diagnosis.trial], diagnosis.error_type)
    return {rater: [own[trial] for trial in sorted(own)] for rater, own in sorted(named.items())}


def _named(about: Held, error_type: ErrorType) -> _Named:
    return _Named(about.label.trial, about.unit, about.domain, error_type, _weight(about))


def _types_by_domain(named: Mapping[_Rater, Sequence[_Named]]) -> Iterator[NamedTypes]:
    """Of each domain all raters side by side, then of all domains together."""
    domains = sorted({each.domain for own in named.values() for each in own})
    for domain in (*(domains if len(domains) > 1 else ()), None):
        for (judge, rater), own in named.items():
            if within := [each for each in own if domain in (None, each.domain)]:
                yield _types_of(rater, judge, domain, within)


def _types_of(rater: str, judge: bool, domain: str | None, named: Sequence[_Named]) -> NamedTypes:
    units = [each.unit for each in named]
    types = {}
    for error_type in ERROR_TYPES:
        hits = [each.error_type == error_type for each in named]
        types[error_type] = TypeShare(sum(hits), *clustered_share(hits, units))
    return NamedTypes(rater, judge, domain, len(named), len(set(units)), types)


def _type_agreements(named: Mapping[_Rater, Sequence[_Named]]) -> Iterator[LabelAgreement]:
    """Between people, and of each with each judge; two judges are compared by nobody's labels."""
    for (first, ours), (second, theirs) in combinations(named.items(), 2):
        other = {each.trial: each for each in theirs}
        own = [
            _Said(each.unit, (each.error_type, other[each.trial].error_type), each.weight)
            for each in ours
            if each.trial in other
        ]
        if own and not first[0]:
            yield _agreement(first[1], second[1], None, False, own, ERROR_TYPE_BOOK)


# Labels and agreement as JSON and CSV.


_COLUMNS = (
    *("trial", "question", "person", "at", "mechanism", "distraction", "turned_at", "note", "blind"),
    *("attributed_then", "method_then", "attributed", "method", "agrees", "error_type", "codebook", "codebook_digest"),
    *("codes", "quote", "adjudicated", "inclusion_probability"),
)


def labels_json(report: LabelReport) -> str:
    """`{"labels", "with_attribution", "between_people", "unattributed", "changed", "error_types", "type_agreement",
    "reliability", "decided", "undecided"}`; what is unknown is null."""
    content = {
        "labels": [_line(each) for each in report.held],
        "with_attribution": [asdict(each) for each in report.with_attribution],
        "between_people": [asdict(each) for each in report.between_people],
        "unattributed": report.unattributed,
        "changed": report.changed,
        "error_types": [asdict(each) for each in report.error_types],
        "type_agreement": [asdict(each) for each in report.type_agreement],
        "reliability": [asdict(each) for each in report.reliability],
        "decided": [asdict(each) for each in report.decided],
        "undecided": report.undecided,
    }
    return json.dumps(content, ensure_ascii=False, indent=2)


def labels_csv(found: Iterable[Held]) -> str:
    """A line for each label that counts; what is unknown is empty."""
    return csv_text(_COLUMNS, map(_line, found))


def _line(each: Held) -> Mapping[str, Any]:
    label = each.label
    return {
        "trial": label.trial,
        "question": each.question,
        "person": label.person,
        "at": label.at.isoformat(),
        "mechanism": label.mechanism,
        "distraction": label.distraction,
        "turned_at": label.turned_at,
        "note": label.note,
        "blind": label.blind,
        "attributed_then": label.attributed,
        "method_then": label.method,
        "attributed": each.mechanism,
        "method": each.method,
        "agrees": each.agrees,
        "error_type": label.error_type,
        "codebook": label.book,
        "codebook_digest": label.codebook_digest or None,
        "codes": " + ".join(label.said) or None,
        "quote": label.quote or None,
        "adjudicated": label.adjudicated,
        "inclusion_probability": label.inclusion_probability,
    }
