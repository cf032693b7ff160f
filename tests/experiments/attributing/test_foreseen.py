"""How likely it is, before round one, that later rounds ask something of a trial."""

from collections.abc import Mapping, Sequence

import pytest
from tests.traces.ladder.arms import ladder_conditions

from toolablate.experiments.attribution.attributing import Chance, chances
from toolablate.traces.store import Observation


def observed(values: Mapping[str, Sequence[float | None]], *, unparsed: int = 0) -> list[Observation]:
    """Of one question, by condition; the first of those with tools are `unparsed`."""
    return [
        Observation(
            *("q", "m", condition),
            repeat=repeat,
            trial=f"{condition}-{repeat}",
            value=value,
            verdict="unparsed" if condition == "python" and repeat < unparsed else "wrong",
        )
        for condition, of_repeats in values.items()
        for repeat, value in enumerate(of_repeats)
    ]


def chance_of(seen: list[Observation], trial: str = "python-0") -> Chance:
    return chances([each for each in seen if each.trial == trial], seen, ladder_conditions())[trial]


@pytest.mark.parametrize(
    ("arms", "falls"),
    [
        ({"none": [1, 1], "scaffold": [1, 1], "python:offered": [1, 0]}, 0.5),
        ({"none": [0, 0], "scaffold": [1, 1], "python:offered": [1, 1]}, 0.0),
        ({"none": [1, 0.4], "python:sham": [0, 0], "python:placebo": [0, 0]}, 0.5),
        ({"none": [None, None], "scaffold": [1, 0, 1, 1]}, 0.75),
        ({"none": [None]}, 1.0),
        ({"python:sham": [0]}, 1.0),
    ],
)
def test_a_belief_can_fall_as_often_as_it_is_right_before_any_result(
    arms: dict[str, Sequence[float | None]], falls: float
) -> None:
    assert chance_of(observed({**arms, "python": [0.0]})).falls == falls


def test_what_cannot_be_read_is_the_share_under_the_trials_own_condition() -> None:
    assert chance_of(observed({"none": [1.0], "python": [0.0, 0.0, 1.0, 0.0]}, unparsed=1)).unread == 0.25
