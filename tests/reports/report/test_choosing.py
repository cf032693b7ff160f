"""Which traces a report shows by default."""

from toolablate.analysis.flips import Flip
from toolablate.analysis.pairing import Direction
from toolablate.reports.report.contents import Choice, telling
from toolablate.traces.records import Attribution, Mechanism


def flip(question: str, *trials: str, direction: Direction = "right_to_wrong") -> Flip:
    return Flip(
        "m", "none", "search", question, "", False, direction, 1.0, 0.0, (f"{question}-0", f"{question}-1"), trials
    )


def blamed(trial: str, mechanism: Mechanism, confidence: float) -> Attribution:
    return Attribution(trial=trial, mechanism=mechanism, method="replay", confidence=confidence)


def chosen(most: int) -> list[str]:
    flips = [
        flip("a", "a1", "a2"),
        flip("b", "b1"),
        flip("c", "c1"),
        flip("d", "d1"),
        flip("e", "e1"),
        flip("f", "f1", direction="wrong_to_right"),
        flip("g", "g1"),
    ]
    attributions = {
        "a1": blamed("a1", "retrieval_distraction", 0.9),
        "a2": blamed("a2", "retrieval_distraction", 0.8),
        "b1": blamed("b1", "retrieval_distraction", 0.95),
        "c1": blamed("c1", "lock_in", 0.6),
        "d1": blamed("d1", "unknown", 1.0),
        "e1": blamed("e1", "retrieval_distraction", 0.2),
        "f1": blamed("f1", "budget", 1.0),
    }
    return [each.trial for each in telling(flips, attributions, {}, most)]


def test_mechanisms_take_turns_and_the_surest_come_first() -> None:
    assert chosen(10) == ["b1", "c1", "a1", "e1", "d1", "g1"]
    assert chosen(2) == ["b1", "c1"]
    assert chosen(0) == []


def test_a_wrong_trial_stands_beside_a_right_one_of_the_baseline() -> None:
    values = {"a-0": 0.0, "a-1": 1.0, "a1": 1.0, "a2": 0.0}
    assert telling([flip("a", "a1", "a2")], {}, values, 5) == (Choice("a2", "a-1"),)
