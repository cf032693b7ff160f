"""How far predictions are right.

Steps are compared as whole numbers. The scorer that was published with the benchmark (`Automated_FA/evaluate.py`) asks
whether the right step's digits stand anywhere in the predicted one's, and whether the right agent's name stands in the
predicted one: where step 1 is right, 10, 12 and 101 pass for it as well. By its rule one who always says "step 10" is
right for 42.9 % of algorithm_generated, of whose runs none has such a step, and one who says "105" for 54.0 %; always
step 1, the best that a constant can do there, is right for 27.0 %. In runs of at most ten steps a method that names
only steps that are there gains nothing by it; in those of hand_crafted, of up to 130, it does.
"""

from collections.abc import Iterable, Mapping, Sequence

from toolablate.benchmarks.who_and_when.failed import FailedRun, Prediction
from toolablate.benchmarks.who_and_when.shares import Graded

Weighed = Iterable[tuple[float, Prediction]]
"""Predictions of one run with the chance of each; they sum to 1, or to less where it may be that none is made."""


def graded_predictions(runs: Sequence[FailedRun], predictions: Mapping[str, Prediction]) -> tuple[Graded, ...]:
    """Of all runs, in their order; one without a prediction is wrong."""
    return tuple(
        graded(run, [(1.0, predictions[run.id])] if run.id in predictions else [], missing=run.id not in predictions)
        for run in runs
    )


def graded(run: FailedRun, guesses: Weighed, *, missing: bool = False) -> Graded:
    """What is to be expected of guesses with these chances."""
    totals = [0.0] * 6
    for chance, guess in guesses:
        for place, holds in enumerate(_holds(run, guess)):
            totals[place] += chance * holds
    return Graded(run.id, run.of_set, run.question, len(run.steps), missing, *(min(1.0, total) for total in totals))


def _holds(run: FailedRun, guess: Prediction) -> tuple[bool, ...]:
    """In the order of Graded's shares."""
    agent = guess.agent is not None and guess.agent.casefold() == run.agent.casefold()
    away = None if guess.step is None else abs(guess.step - run.step)
    return (
        agent,
        away == 0,
        away is not None and away <= 1,
        away is not None and away <= 3,
        agent and away == 0,
        guess.step is not None and str(run.step) in str(guess.step),
    )
