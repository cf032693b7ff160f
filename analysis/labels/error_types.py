"""The seven types of error that people name, beside those that judges of failures name of the same trials."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import get_args

from toolablate.analysis.labels.agreement import LabelAgreement, Said, agreement_of, weight_of
from toolablate.analysis.labels.held import Held
from toolablate.analysis.statistics.intervals import clustered_share
from toolablate.traces.records import ERROR_TYPE_BOOK, Diagnosis, ErrorType

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
class Named:
    trial: str
    unit: str
    domain: str
    error_type: ErrorType
    weight: float | None


Rater = tuple[bool, str]
"""Whether it is a judge, and its name: people come first."""


def named_types(found: Sequence[Held], diagnoses: Iterable[Diagnosis]) -> dict[Rater, list[Named]]:
    """Of each rater in order of trials. Of a judge's those count of whose trial a person names one."""
    named: dict[Rater, dict[str, Named]] = defaultdict(dict)
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


def _named(about: Held, error_type: ErrorType) -> Named:
    return Named(about.label.trial, about.unit, about.domain, error_type, weight_of(about))


def types_by_domain(named: Mapping[Rater, Sequence[Named]]) -> Iterator[NamedTypes]:
    """Of each domain all raters side by side, then of all domains together."""
    domains = sorted({each.domain for own in named.values() for each in own})
    for domain in (*(domains if len(domains) > 1 else ()), None):
        for (judge, rater), own in named.items():
            if within := [each for each in own if domain in (None, each.domain)]:
                yield _types_of(rater, judge, domain, within)


def _types_of(rater: str, judge: bool, domain: str | None, named: Sequence[Named]) -> NamedTypes:
    units = [each.unit for each in named]
    types = {}
    for error_type in ERROR_TYPES:
        hits = [each.error_type == error_type for each in named]
        types[error_type] = TypeShare(sum(hits), *clustered_share(hits, units))
    return NamedTypes(rater, judge, domain, len(named), len(set(units)), types)


def type_agreements(named: Mapping[Rater, Sequence[Named]]) -> Iterator[LabelAgreement]:
    """Between people, and of each with each judge; two judges are compared by nobody's labels."""
    for (first, ours), (second, theirs) in combinations(named.items(), 2):
        other = {each.trial: each for each in theirs}
        own = [
            Said(each.unit, (each.error_type, other[each.trial].error_type), each.weight)
            for each in ours
            if each.trial in other
        ]
        if own and not first[0]:
            yield agreement_of(first[1], second[1], None, False, own, ERROR_TYPE_BOOK)
