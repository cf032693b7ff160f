"""From a plan to the trials it calls for."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from toolablate.benchmarks.questions import questions_of
from toolablate.experiments.plans.plan import Plan
from toolablate.traces.records import Condition, Model, Question, Trial


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """A trial with what its digests stand for."""

    trial: Trial
    question: Question
    model: Model
    condition: Condition


@dataclass(frozen=True, slots=True)
class Design:
    """A plan with everything read in: the trials in the order in which they are run."""

    questions: tuple[Question, ...]
    models: tuple[Model, ...]
    conditions: tuple[Condition, ...]
    trials: tuple[PlannedTrial, ...]


def design(plan: Plan) -> Design:
    """Reads the questions and expands the plan: questions x models x conditions x repeats.

    The order is random and seeded, so that a drift of an endpoint hits all conditions alike.
    """
    questions = _questions(plan)
    conditions = plan.resolved_conditions()
    trials = _expand(questions, plan.models, conditions, plan.repeats)
    random.Random(plan.seed).shuffle(trials)  # noqa: S311 - an order, not a secret
    return Design(questions, plan.models, conditions, tuple(trials))


def _questions(plan: Plan) -> tuple[Question, ...]:
    file = plan.questions.file
    questions = questions_of(file, folder=plan.questions.files_folder)
    return tuple(questions[: plan.questions.limit])


def _expand(
    questions: Sequence[Question], models: Sequence[Model], conditions: Sequence[Condition], repeats: int
) -> list[PlannedTrial]:
    question_ids = [question.identity() for question in questions]
    model_ids = [model.identity() for model in models]
    condition_ids = [condition.identity() for condition in conditions]
    return [
        PlannedTrial(
            Trial(question=question_id, model=model_id, condition=condition_id, repeat=repeat),
            question,
            model,
            condition,
        )
        for question_id, question in zip(question_ids, questions, strict=True)
        for model_id, model in zip(model_ids, models, strict=True)
        for condition_id, condition in zip(condition_ids, conditions, strict=True)
        for repeat in range(repeats)
    ]
