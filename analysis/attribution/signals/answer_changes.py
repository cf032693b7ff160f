"""What the model's prose leaned to before the first call, after each result and at the end, and where that changed."""

from itertools import pairwise

from toolablate.analysis.attribution.signals.answers import AnswerForm
from toolablate.analysis.attribution.signals.leaning import leaning
from toolablate.analysis.attribution.signals.records import AnswerChange, Answered, Leaning
from toolablate.analysis.attribution.signals.steps import Steps


def leanings(steps: Steps, form: AnswerForm, final: Answered) -> tuple[Leaning, ...]:
    """Of each reply that speaks for an answer; the last one speaks for the final answer."""
    found = [Leaning(said.event, answer) for said in steps.said if (answer := leaning(said.text, form))]
    if final and steps.said:
        last = steps.said[-1].event
        found = [each for each in found if each.event != last] + [Leaning(last, final)]
    return tuple(found)


def answer_changes(found: tuple[Leaning, ...], steps: Steps) -> tuple[AnswerChange, ...]:
    """Only those with a result in between: what a model changes by itself tells nothing of its tools."""
    changes = (
        AnswerChange(before, after, steps.between(before.event, after.event))
        for before, after in pairwise(found)
        if before.answer != after.answer
    )
    return tuple(change for change in changes if change.results)
