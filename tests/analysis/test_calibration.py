"""Confidences calibrated by what people decided: better where they are off, unharmed where they are right."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from toolablate.analysis.attribution.evidence import Outlined
from toolablate.analysis.calibration import (
    LEAST_LABELS,
    Calibration,
    Verdict,
    calibrated,
    calibration,
    calibrations,
)
from toolablate.traces.records import Attribution, Label

CONFIDENCES = np.array([0.35, 0.5, 0.6, 0.75, 0.9])


def _true(shift: float, slope: float) -> Any:
    return 1 / (1 + np.exp(-(shift + slope * np.log(CONFIDENCES / (1 - CONFIDENCES)))))


def _drawn(rng: np.random.Generator, count: int, shift: float, slope: float) -> list[Verdict]:
    """Two trials of each question, which share some luck."""
    found = []
    for question in range(count // 2):
        luck = rng.normal(0, 0.5)
        for place in rng.integers(0, len(CONFIDENCES), 2):
            confidence = CONFIDENCES[place]
            logit = shift + slope * np.log(confidence / (1 - confidence)) + luck
            found.append(Verdict(float(confidence), bool(rng.random() < 1 / (1 + np.exp(-logit))), f"q{question}"))
    return found


def _away(found: Calibration, shift: float, slope: float) -> float:
    """How far the confidences that they become are from the true shares, at the mean."""
    return float(np.abs(np.array([found.of(each) for each in CONFIDENCES]) - _true(shift, slope)).mean())


@pytest.mark.parametrize(
    ("shift", "slope", "count", "lowered_to"),
    [(0.0, 1.0, 50, 0.01), (0.0, 1.0, 300, 0.005), (-1.0, 1.0, 100, 0.4), (0.0, 0.3, 300, 0.4), (0.8, 1.0, 300, 0.3)],
)
def test_it_mends_what_is_off_and_leaves_what_is_right(
    shift: float, slope: float, count: int, lowered_to: float
) -> None:
    """`lowered_to` is the share of the true calibration error that is left, where there is one; else the error."""
    rng = np.random.default_rng(7)
    before = round(float(np.abs(CONFIDENCES - _true(shift, slope)).mean()), 9)
    found = [calibration("trace", _drawn(rng, count, shift, slope)) for _ in range(60)]
    after = float(np.mean([_away(each, shift, slope) for each in found]))
    assert after <= lowered_to * (before or 1)
    applied = [each for each in found if each.applied]
    assert (len(applied) > 30) == bool(before)
    assert all(each.ece_after < each.ece_before for each in applied if each.ece_after and each.ece_before and before)


def test_of_few_labels_nothing_is_made() -> None:
    rng = np.random.default_rng(1)
    few = calibration("trace", _drawn(rng, LEAST_LABELS - 2, -2, 1))
    assert (few.labels, few.enough, few.applied, few.ece_before) == (48, False, False, None)
    assert few.of(0.9) == 0.9
    same = [Verdict(0.9, False, "q1") for _ in range(200)]
    assert not calibration("trace", same).enough, "of one question"
    order = _drawn(rng, 120, -1, 1)
    assert calibration("trace", order) == calibration("trace", order[::-1])


def _outlined(trial: str, confidence: float) -> Outlined:
    why = Attribution(trial=trial, mechanism="lock_in", method="trace", confidence=confidence)
    return Outlined(SimpleNamespace(), why)  # type: ignore[arg-type]


def test_blind_labels_of_two_people_or_decided_ones_count() -> None:
    now = datetime.now(UTC)
    explained = [_outlined(f"t{number}", 0.9) for number in range(80)]

    def label(trial: str, mechanism: str, person: str, **more: object) -> Label:
        given = {"trial": trial, "mechanism": mechanism, "person": person, "at": now, "blind": True}
        return Label.model_validate(given | more)

    labels = [
        label(each.attribution.trial, "lock_in" if place % 2 else "budget", person)
        for place, each in enumerate(explained)
        if each.attribution
        for person in ("Ada", "Ben")
    ]
    units = {f"t{number}": f"q{number}" for number in range(80)}
    (found,) = calibrations(explained, labels, units)
    assert (found.labels, found.questions, found.applied) == (80, 80, True)
    assert found.of(0.9) == pytest.approx(0.5, abs=0.05)
    assert found.ece_before == pytest.approx(0.4)
    assert found.ece_after is not None
    assert found.ece_after < 0.2
    after = calibrated(explained, [found])
    assert {each.attribution.confidence for each in after if each.attribution} == {found.of(0.9)}
    assert calibrations(explained, [each for each in labels if each.person == "Ada"], units) == ()
    assert calibrations(explained, [each.model_copy(update={"blind": False}) for each in labels], units) == ()
    apart = [*labels, label("t1", "budget", "Cleo"), label("t3", "unknown", "Ada", adjudicated=True)]
    assert calibrations(explained, apart, units)[0].labels == 78, "people differ; nobody knows"
    assert calibrations(explained, [label("t1", "budget", "Ada", adjudicated=True)], units)[0].labels == 1
