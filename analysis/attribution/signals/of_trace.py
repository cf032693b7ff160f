"""All signals of one trace."""

from itertools import pairwise

from toolablate.analysis.attribution.signals import calls as of_calls
from toolablate.analysis.attribution.signals.adoption import adoption, backing, echo, norm_hints
from toolablate.analysis.attribution.signals.answers import AnswerForm, final_answer, leaning, misstated, names_another
from toolablate.analysis.attribution.signals.calls import budget_use, effort, ending, reading
from toolablate.analysis.attribution.signals.code import reformulation
from toolablate.analysis.attribution.signals.repair import repair
from toolablate.analysis.attribution.signals.signal_types import (
    AnswerChange,
    Answered,
    Leaning,
    Signals,
    Steps,
    Trouble,
)
from toolablate.traces.records import Condition, Question, Trace


def leanings(steps: Steps, form: AnswerForm, final: Answered) -> tuple[Leaning, ...]:
    """Of each reply that supports an answer; the last one supports the final answer."""
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


# All signals of one trace.


def troubles_of(trace: Trace) -> tuple[Trouble, ...]:
    """The calls of a trace that came to nothing."""
    return of_calls.troubles(trace, Steps.of(trace).calls)


def signals_of(trace: Trace, question: Question, condition: Condition) -> Signals:
    """Deterministic, in time linear in the trace's texts. `question` and `condition` are those of the trial."""
    steps, form = Steps.of(trace), AnswerForm.of(question)
    final = final_answer(steps.final, form)
    said = leanings(steps, form, final)
    stated = misstated(steps, final, form, question.target)
    return Signals(
        trial=trace.trial.id,
        prompted=bool(condition.prompt),
        unused=of_calls.unused_tools(trace),
        calls=of_calls.calls_seen(steps.calls),
        refused=of_calls.refused_calls(steps.calls),
        troubles=of_calls.troubles(trace, steps.calls),
        budget=budget_use(trace, condition.budget, steps),
        ending=ending(trace, steps, form),
        answer=final,
        misstated=stated,
        names_another=names_another(final, stated, question.target),
        leanings=said,
        changes=answer_changes(said, steps),
        echo=echo(steps, question.prompt),
        adoption=adoption(steps, form, final, said, question.prompt),
        reformulation=reformulation(steps.calls, question.prompt),
        repair=repair(steps.calls, question.target, question.prompt),
        norm_hints=norm_hints(steps),
        backing=backing(steps, form, final),
        reading=reading(steps.calls),
        interventions=of_calls.interventions(steps.calls),
        effort=effort(steps.calls),
    )
