"""All labels of a store with what they say in sum, as records, JSON and CSV."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from toolablate.analysis.labels.agreement import (
    LabelAgreement,
    Reliability,
    between_people,
    decided_with_attribution,
    reliability_of,
    with_attribution,
)
from toolablate.analysis.labels.error_types import NamedTypes, named_types, type_agreements, types_by_domain
from toolablate.analysis.labels.held import Decided, Held, decided, disputed
from toolablate.analysis.spreadsheets import csv_text
from toolablate.traces.records import MECHANISM_BOOK, Diagnosis


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
    error_types: tuple[NamedTypes, ...] = ()
    type_agreement: tuple[LabelAgreement, ...] = ()
    reliability: tuple[Reliability, ...] = ()
    decided: tuple[Decided, ...] = ()
    undecided: int = 0


def label_report(found: Sequence[Held], diagnoses: Iterable[Diagnosis] = ()) -> LabelReport:
    """Depends on the labels and what judges said of the same trials, not on their order."""
    independent, settled = [each for each in found if not each.label.adjudicated], decided(found)
    named = named_types(independent, diagnoses)
    books = sorted({each.label.book for each in found})
    return LabelReport(
        held=tuple(found),
        with_attribution=(*decided_with_attribution(settled), *with_attribution(independent)),
        between_people=tuple(row for book in books for row in between_people(independent, book)),
        unattributed=sum(each.mechanism is None and each.label.book == MECHANISM_BOOK for each in found),
        changed=sum(each.changed for each in found),
        error_types=tuple(types_by_domain(named)),
        type_agreement=tuple(type_agreements(named)),
        reliability=tuple(row for book in books for row in reliability_of(independent, book)),
        decided=settled,
        undecided=sum(len(disputed(found, book)) for book in books),
    )


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
