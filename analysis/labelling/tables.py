"""Labels and agreement as JSON and CSV."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from toolablate.analysis.labelling.agreement import LabelReport
from toolablate.analysis.labelling.held import Held
from toolablate.analysis.tables import csv_text

_COLUMNS = (
    *("trial", "question", "person", "at", "mechanism", "distraction", "turned_at", "note", "blind"),
    *("attributed_then", "method_then", "attributed", "method", "agrees"),
)


def labels_json(report: LabelReport) -> str:
    """`{"labels", "with_attribution", "between_people", "unattributed", "changed"}`; what is unknown is null."""
    content = {
        "labels": [_line(each) for each in report.held],
        "with_attribution": [asdict(each) for each in report.with_attribution],
        "between_people": [asdict(each) for each in report.between_people],
        "unattributed": report.unattributed,
        "changed": report.changed,
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
    }
