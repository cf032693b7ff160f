"""What is looked for in everything that comes from outside, question by question; the same for every condition."""

from functools import cached_property

from toolablate.experiments.plans.web import WebSection
from toolablate.tools.guards.guard import Guard, Guards, Inspection
from toolablate.traces.records import Question


def guard_for(question: Question, web: WebSection) -> Guard:
    """Marks leaks of the question with its answer, and text that speaks to the model; blocks what the plan blocks."""
    return _Guard(question, web)


class _Guard:
    """Taking a question apart costs 0.3 ms, and many trials never see anything from outside; so it waits until then."""

    def __init__(self, question: Question, web: WebSection) -> None:
        self._question = question
        self._web = web

    def inspect(self, url: str, text: str) -> Inspection:
        return self._guards.inspect(url, text)

    @cached_property
    def _guards(self) -> Guards:
        from toolablate.tools.guards.leaks import LeakGuard
        from toolablate.tools.guards.markers import InstructionGuard

        question, web = self._question, self._web
        leaks = LeakGuard(
            question.prompt, answers_of(question), block=web.block_leaks, blocked_hosts=frozenset(web.blocked_hosts)
        )
        return Guards(leaks, InstructionGuard())


def answers_of(question: Question) -> tuple[str, ...]:
    """The right answers as a page might write them: texts of options and their letters, numbers, spans, the reference
    answer, be it the target or a rubric's."""
    of_rubric = question.rubric.reference if question.rubric else ""
    return tuple(dict.fromkeys(answer for answer in (*_of_target(question), of_rubric) if answer))


def _of_target(question: Question) -> tuple[str, ...]:
    target = question.target
    if target.kind == "spans":
        return target.spans
    if target.kind == "reference":
        return (target.answer,)
    if target.kind == "text" or target.kind == "math":
        return target.answers
    if target.kind == "number":
        return tuple(dict.fromkeys(_written(target.value)))
    if target.kind != "choice":
        return ()
    right = [question.choices[ord(letter) - ord("A")] for letter in target.letters if question.choices]
    return (*right, *target.letters)


def _written(value: float) -> tuple[str, ...]:
    if value.is_integer() and abs(value) < 1e15:
        return f"{value:.0f}", f"{value:,.0f}"
    return f"{value:g}", repr(value), f"{value:,}"
