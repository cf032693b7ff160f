"""What kinds of errors judges see in failures, as table 9 of version 2 of the LPFQA paper counts them: by domain, and
by model and condition."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from toolablate.analysis.attribution.rate import Rate, rate
from toolablate.analysis.pairing import RIGHT
from toolablate.traces.records import Diagnosis, ErrorType
from toolablate.traces.store import Observation

ERROR_TYPES: tuple[ErrorType, ...] = get_args(ErrorType)


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """The wrong trials of one domain, or of one model under one condition; the other names are "" then, and all are
    where it is about all trials.

    labelled    trials to which the judge gave a type
    unlabelled  trials to which it gave none
    questions   that the labelled trials are of
    types       all seven, of the labelled
    """

    domain: str
    model: str
    condition: str
    labelled: int
    unlabelled: int
    questions: int
    types: Mapping[ErrorType, Rate]


@dataclass(frozen=True, slots=True)
class ErrorTypes:
    """What one judge sees, asked in one wording."""

    judge: str
    wording: int
    overall: ErrorRow
    by_domain: tuple[ErrorRow, ...]
    by_arm: tuple[ErrorRow, ...]


_Read = tuple[Observation, Diagnosis]


def error_types(observations: Iterable[Observation], diagnoses: Iterable[Diagnosis]) -> list[ErrorTypes]:
    """By judge, and by wording where one was asked in several. Of the diagnoses those count whose trial is observed to
    be wrong (scored below one half): an answer key may have been mended since."""
    wrong = {seen.trial: seen for seen in observations if seen.value is not None and seen.value < RIGHT}
    read: dict[tuple[str, int], list[_Read]] = defaultdict(list)
    for each in diagnoses:
        if each.trial in wrong:
            read[each.judge, each.wording].append((wrong[each.trial], each))
    return [_table(judge, wording, read[judge, wording]) for judge, wording in sorted(read)]


def _table(judge: str, wording: int, read: list[_Read]) -> ErrorTypes:
    domains, arms = defaultdict[str, list[_Read]](list), defaultdict[tuple[str, str], list[_Read]](list)
    for pair in read:
        seen = pair[0]
        domains[seen.domain].append(pair)
        arms[seen.model, seen.condition].append(pair)
    return ErrorTypes(
        judge=judge,
        wording=wording,
        overall=_row(read),
        by_domain=tuple(_row(domains[domain], domain=domain) for domain in sorted(domains)),
        by_arm=tuple(
            _row(arms[model, condition], model=model, condition=condition) for model, condition in sorted(arms)
        ),
    )


def _row(read: list[_Read], *, domain: str = "", model: str = "", condition: str = "") -> ErrorRow:
    counted = Counter(diagnosis.error_type for _, diagnosis in read)
    unlabelled = counted.pop(None, 0)
    labelled = counted.total()
    return ErrorRow(
        domain=domain,
        model=model,
        condition=condition,
        labelled=labelled,
        unlabelled=unlabelled,
        questions=len({seen.question for seen, diagnosis in read if diagnosis.error_type is not None}),
        types={name: rate(counted[name], labelled) for name in ERROR_TYPES},
    )
