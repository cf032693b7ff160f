from collections.abc import Sequence
from dataclasses import dataclass

from toolablate.analysis.agreement.gradings import Gradings, arms, side_by_side
from toolablate.traces.records import Verdict


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A trial that one of two scorers calls correct and the other does not; `trial` is its id, values are in [0, 1]."""

    first: str
    second: str
    trial: str
    question: str
    model: str
    condition: str
    repeat: int
    simulated: bool
    first_value: float
    first_verdict: Verdict
    second_value: float
    second_verdict: Verdict


def disagreements(
    found: Gradings, pairs: Sequence[tuple[str, str]], *, order: Sequence[str] = ()
) -> list[Disagreement]:
    """By pair of scorers, then by model name, in the `order` of conditions, by question and by repeat."""
    return [
        Disagreement(
            first=first,
            second=second,
            trial=each.first.trial,
            question=each.first.question,
            model=model,
            condition=condition,
            repeat=each.first.repeat,
            simulated=each.first.simulated,
            first_value=each.first.value,
            first_verdict=each.first.verdict,
            second_value=each.second.value,
            second_verdict=each.second.verdict,
        )
        for first, second in pairs
        for model, condition, trials in arms(side_by_side(found, first, second), order)
        for each in trials
        if each.first.value is not None and each.second.value is not None
        if each.first.verdict is not None and each.second.verdict is not None
        if not each.same
    ]
