"""What there is to be had without reading a run: baselines, each fitted to the very set that it is scored on."""

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from toolablate.benchmarks.who_and_when.failed import FailedRun, Prediction
from toolablate.benchmarks.who_and_when.guessing import Weighed, graded
from toolablate.benchmarks.who_and_when.shares import Baseline

Value = TypeVar("Value", int, str)


def baselines(runs: Sequence[FailedRun]) -> tuple[Baseline, ...]:
    """Of runs of one set, or of several that are taken for one.

    best constant step                 always the step that is most often right (of equals the first), and whose it is
    best constant agent                always the agent that is most often to blame, at the step where it speaks first
    random step                        any step, each as likely, and whose it is; as is to be expected of such draws
    last step                          the last, and whose it is
    first step of the busiest agent    of the agent that has most steps in the run, of equals the first to speak
    """
    step = _commonest([run.step for run in runs])
    agent = _commonest([run.agent for run in runs])
    return (
        Baseline(f"best constant step ({step})", tuple(graded(run, _at(run, step)) for run in runs)),
        Baseline(f"best constant agent ({agent})", tuple(graded(run, _first_of(run, agent)) for run in runs)),
        Baseline("random step", tuple(graded(run, _random(run)) for run in runs), expected=True),
        Baseline("last step", tuple(graded(run, _at(run, len(run.steps) - 1)) for run in runs)),
        Baseline("first step of the busiest agent", tuple(graded(run, _first_of(run, _busiest(run))) for run in runs)),
    )


def _commonest(values: Sequence[Value]) -> Value:
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value))


def _busiest(run: FailedRun) -> str:
    # A Counter keeps the order in which agents first spoke, and max() the first of equals.
    counts = Counter(step.agent for step in run.steps)
    return max(counts, key=counts.__getitem__)


def _at(run: FailedRun, step: int) -> Weighed:
    """In a run that ends before this step, nobody is named."""
    return [(1.0, Prediction(run.steps[step].agent if step < len(run.steps) else None, step))]


def _first_of(run: FailedRun, agent: str) -> Weighed:
    first = next((place for place, step in enumerate(run.steps) if step.agent == agent), None)
    return [(1.0, Prediction(agent, first))]


def _random(run: FailedRun) -> Weighed:
    return [(1 / len(run.steps), Prediction(step.agent, place)) for place, step in enumerate(run.steps)]
