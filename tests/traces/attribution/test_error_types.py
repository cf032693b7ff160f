"""Types of errors are counted by domain and by arm, of failures alone."""

import pytest

from toolablate.analysis.attribution.judge_labels import ERROR_TYPES, error_types
from toolablate.traces.records import Diagnosis, ErrorType
from toolablate.traces.store import Observation


def seen(trial: str, *, value: float | None = 0.0, domain: str = "maths", condition: str = "python") -> Observation:
    return Observation(
        question=f"q{trial[-1]}", model="m", condition=condition, trial=trial, value=value, domain=domain
    )


def diagnosis(trial: str, error: ErrorType | None, *, judge: str = "j@1", wording: int = 1) -> Diagnosis:
    return Diagnosis(trial=trial, judge=judge, wording=wording, error_type=error, distraction=None)


OBSERVATIONS = [
    seen("a1"),
    seen("b1", condition="search"),
    seen("a2"),
    seen("a3", domain="law"),
    seen("a4", value=1.0),
    seen("a5", value=None),
]
DIAGNOSES = [
    diagnosis("a1", "knowledge"),
    diagnosis("b1", "knowledge"),
    diagnosis("a2", None),
    diagnosis("a3", "calculation"),
    diagnosis("a4", "hallucination"),
    diagnosis("a5", "hallucination"),
    diagnosis("unknown", "hallucination"),
]


def test_failures_are_counted_by_domain_and_by_arm() -> None:
    (table,) = error_types(OBSERVATIONS, DIAGNOSES)
    assert (table.overall.labelled, table.overall.unlabelled, table.overall.questions) == (3, 1, 2)
    assert {name: rate.count for name, rate in table.overall.types.items() if rate.count} == {
        "knowledge": 2,
        "calculation": 1,
    }
    assert tuple(table.overall.types) == ERROR_TYPES
    assert [(row.domain, row.labelled, row.unlabelled) for row in table.by_domain] == [("law", 1, 0), ("maths", 2, 1)]
    assert [(row.model, row.condition, row.labelled) for row in table.by_arm] == [
        ("m", "python", 2),
        ("m", "search", 1),
    ]
    for row in (table.overall, *table.by_domain, *table.by_arm):
        assert sum(rate.count for rate in row.types.values()) == row.labelled


def test_a_share_has_wilsons_interval() -> None:
    (table,) = error_types(OBSERVATIONS, DIAGNOSES)
    share = table.overall.types["knowledge"].share
    assert share is not None
    assert share.mean == pytest.approx(2 / 3)
    assert (share.low, share.high) == pytest.approx((0.2077, 0.9385), abs=1e-4)


def test_each_judge_and_wording_has_a_table_of_its_own() -> None:
    tables = error_types(
        OBSERVATIONS, [*DIAGNOSES, diagnosis("a1", "other", wording=2), diagnosis("a1", "reasoning", judge="k@2")]
    )
    assert [(table.judge, table.wording, table.overall.labelled) for table in tables] == [
        ("j@1", 1, 3),
        ("j@1", 2, 1),
        ("k@2", 1, 1),
    ]
    assert error_types(OBSERVATIONS, []) == []
