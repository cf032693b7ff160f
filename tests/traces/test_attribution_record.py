"""tests.traces.test_attribution_record"""

import pytest
from pydantic import ValidationError

from toolablate.traces.records import Attribution


def test_an_attribution_survives_json_and_says_its_version() -> None:
    one = Attribution(trial="t", mechanism="lock_in", method="trace", confidence=0.5, evidence=(1, 4), note="why")
    assert Attribution.from_json(one.to_json()) == one
    assert '"version":1' in one.to_json()
    with pytest.raises(ValidationError, match="frozen"):
        one.note = "other"  # type: ignore[misc]


@pytest.mark.parametrize("evidence", [(2, 1), (1, 1), (-1,)])
def test_evidence_is_events_in_order_each_once(evidence: tuple[int, ...]) -> None:
    with pytest.raises(ValidationError, match="in order"):
        Attribution(trial="t", mechanism="luck", method="replay", confidence=1, evidence=evidence)


@pytest.mark.parametrize("content", [{"mechanism": "magic"}, {"method": "guess"}, {"confidence": 1.5}])
def test_what_is_not_known_is_refused(content: dict[str, object]) -> None:
    fields = {"trial": "t", "mechanism": "luck", "method": "trace", "confidence": 0.5} | content
    with pytest.raises(ValidationError):
        Attribution.model_validate(fields)
