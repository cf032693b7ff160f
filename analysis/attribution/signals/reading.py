"""All signals of one trace."""

from toolablate.analysis.attribution.signals import calls as of_calls
from toolablate.analysis.attribution.signals.adoption import adoption
from toolablate.analysis.attribution.signals.answer_changes import answer_changes, leanings
from toolablate.analysis.attribution.signals.answers import AnswerForm
from toolablate.analysis.attribution.signals.backing import backing
from toolablate.analysis.attribution.signals.budget import budget_use
from toolablate.analysis.attribution.signals.code import reformulation
from toolablate.analysis.attribution.signals.echo import echo
from toolablate.analysis.attribution.signals.ending import ending
from toolablate.analysis.attribution.signals.forms import misstated
from toolablate.analysis.attribution.signals.leaning import final_answer
from toolablate.analysis.attribution.signals.norms import norm_hints
from toolablate.analysis.attribution.signals.records import Signals, Trouble
from toolablate.analysis.attribution.signals.steps import Steps
from toolablate.analysis.attribution.signals.work import effort, reading
from toolablate.traces.records import Condition, Question, Trace


def troubles_of(trace: Trace) -> tuple[Trouble, ...]:
    """The calls of a trace that came to nothing."""
    return of_calls.troubles(trace, Steps.of(trace).calls)


def signals_of(trace: Trace, question: Question, condition: Condition) -> Signals:
    """Deterministic, in time linear in the trace's texts. `question` and `condition` are those of the trial."""
    steps, form = Steps.of(trace), AnswerForm.of(question)
    final = final_answer(steps.final, form)
    said = leanings(steps, form, final)
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
        misstated=misstated(steps, final, question.target),
        leanings=said,
        changes=answer_changes(said, steps),
        echo=echo(steps, question.prompt),
        adoption=adoption(steps, form, final, said, question.prompt),
        reformulation=reformulation(steps.calls, question.prompt),
        norm_hints=norm_hints(steps),
        backing=backing(steps, form, final),
        reading=reading(steps.calls),
        interventions=of_calls.interventions(steps.calls),
        effort=effort(steps.calls, question.prompt),
    )
