"""Stores that differ in what one says."""

from pathlib import Path

from tests.traces.samples import CODE, MODEL, NONE, WHEN, attempt, score

from toolablate.traces.records import Condition, Model, Question, Run, Trial
from toolablate.traces.store import Recorder


async def stored(
    path: Path,
    right: dict[str, int],
    *,
    questions: tuple[Question, ...],
    model: Model = MODEL,
    conditions: tuple[Condition, ...] = (NONE, CODE),
    scorer: str = "choice",
    toolablate: str = "0.1.0",
) -> Path:
    """`right` says of each condition how many of the questions are right, from the first on."""
    trials = [
        Trial(question=q.identity(), model=model.identity(), condition=c.identity())
        for c in conditions
        for q in questions
    ]
    run = Run(id="run-1", started_at=WHEN, plan="", toolablate=toolablate, baseline="none", scorers=(scorer,))
    with Recorder(path) as recorder:
        recorder.plan(run, questions, [model], conditions, trials)
        for place, trial in enumerate(trials):
            condition, number = conditions[place // len(questions)], place % len(questions)
            await attempt(recorder, trial)
            await recorder.score([score(trial, float(number < right[condition.name]), scorer=scorer)])
    return path
