"""What people hold for the causes of failures, and how far they agree with the attribution and each other."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, get_args

from toolablate.analysis.agreement.kappa import Pair, cohens_kappa, kappa_interval, margins
from toolablate.analysis.effect import FEW_CLUSTERS
from toolablate.analysis.spreadsheets import csv_text
from toolablate.analysis.statistics.intervals import clustered_share
from toolablate.traces.records import Diagnosis, ErrorType, Label, Mechanism, Method


@dataclass(frozen=True, slots=True)
class Held:
    """The last label that a person gave a trial and did not withdraw.

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
        """With the attribution of now, in the mechanism; None where there is none."""
        return None if self.mechanism is None else self.label.mechanism == self.mechanism

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
    on each trial. `of` says what is known of a trial by its id."""
    last: dict[tuple[str, str], Label] = {}
    for label in labels:
        last.pop((label.trial, label.person), None)
        last[label.trial, label.person] = label
    standing = [label for label in last.values() if label.mechanism is not None]
    known = {trial: of(trial) for trial in dict.fromkeys(label.trial for label in standing)}
    return tuple(
        Held(label, about.question, about.unit, about.mechanism, about.method, about.domain)
        for label in standing
        for about in (known[label.trial],)
    )


# How far people agree with the attribution, and with each other.


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
    attributed, `changed` those of trials to which something else was attributed when they were read. `error_types` are
    those that people named, beside a judge's of the same trials; `type_agreement` is how far they agree in these, where
    `other` may be a judge."""

    held: tuple[Held, ...]
    with_attribution: tuple[LabelAgreement, ...]
    between_people: tuple[LabelAgreement, ...]
    unattributed: int
    changed: int
    error_types: tuple["NamedTypes", ...] = ()
    type_agreement: tuple[LabelAgreement, ...] = ()


def label_report(found: Sequence[Held], diagnoses: Iterable[Diagnosis] = ()) -> LabelReport:
    """Depends on the labels and what judges said of the same trials, not on their order."""
    named = _named_types(found, diagnoses)
    return LabelReport(
        held=tuple(found),
        with_attribution=tuple(_with_attribution(found)),
        between_people=tuple(_between_people(found)),
        unattributed=sum(each.mechanism is None for each in found),
        changed=sum(each.changed for each in found),
        error_types=tuple(_types_by_domain(named)),
        type_agreement=tuple(_type_agreements(named)),
    )


def _with_attribution(found: Sequence[Held]) -> Iterator[LabelAgreement]:
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
                    yield _agreement(person, None, method, blind, units)


def _between_people(found: Sequence[Held]) -> Iterator[LabelAgreement]:
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
                yield _agreement(first, second, None, blind, units)


def _agreement(
    person: str, other: str | None, method: Method | None, blind: bool, units: Mapping[str, list[Pair]]
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
        ci95=kappa_interval(told),
        small=len(by_unit) < FEW_CLUSTERS,
        confusion={
            first: {second: count for (own, second), count in sorted(counts.items()) if own == first}
            for first in sorted({own for own, _ in counts})
        },
    )


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


_Rater = tuple[bool, str]
"""Whether it is a judge, and its name: people come first."""


def _named_types(found: Sequence[Held], diagnoses: Iterable[Diagnosis]) -> dict[_Rater, list[_Named]]:
    """Of each rater in order of trials. Of a judge's those count of whose trial a person names one."""
    named: dict[_Rater, list[_Named]] = defaultdict(list)
    about = {}
    for each in found:
        if each.label.error_type is not None:
            about[each.label.trial] = each
            named[False, each.label.person].append(_named(each, each.label.error_type))
    for diagnosis in diagnoses:
        if diagnosis.error_type is not None and diagnosis.trial in about:
            name = diagnosis.judge if diagnosis.wording == 1 else f"{diagnosis.judge} (wording {diagnosis.wording})"
            named[True, name].append(_named(about[diagnosis.trial], diagnosis.error_type))
    return {rater: sorted(own, key=lambda each: each.trial) for rater, own in sorted(named.items())}


def _named(about: Held, error_type: ErrorType) -> _Named:
    return _Named(about.label.trial, about.unit, about.domain, error_type)


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
        units: dict[str, list[Pair]] = defaultdict(list)
        for each in ours:
            if each.trial in other:
                units[each.unit].append((each.error_type, other[each.trial].error_type))
        if units and not first[0]:
            yield _agreement(first[1], second[1], None, False, units)


# Labels and agreement as JSON and CSV.


_COLUMNS = (
    *("trial", "question", "person", "at", "mechanism", "distraction", "turned_at", "note", "blind"),
    *("attributed_then", "method_then", "attributed", "method", "agrees", "error_type"),
)


def labels_json(report: LabelReport) -> str:
    """`{"labels", "with_attribution", "between_people", "unattributed", "changed", "error_types", "type_agreement"}`;
    what is unknown is null."""
    content = {
        "labels": [_line(each) for each in report.held],
        "with_attribution": [asdict(each) for each in report.with_attribution],
        "between_people": [asdict(each) for each in report.between_people],
        "unattributed": report.unattributed,
        "changed": report.changed,
        "error_types": [asdict(each) for each in report.error_types],
        "type_agreement": [asdict(each) for each in report.type_agreement],
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
    }
