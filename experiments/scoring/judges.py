"""The judges of a plan, and the questions whose answers they grade."""

from collections.abc import Iterable

from toolablate.benchmarks.judging.answers import Judge
from toolablate.experiments.plans.plan import Plan, QuestionsSection
from toolablate.traces.records import Model, OpenAIModel, Question

SCORER = "judge"
"""What `questions.scorer` says where a judge is to score."""


def judges_of(plan: Plan) -> tuple[Judge, ...]:
    """All that grade the plan's answers, the one whose scores count first: the first gradings of each judge in the
    order of the plan, then the first re-gradings, and so on."""
    judging = plan.judging
    return tuple(
        Judge(model, wording=judging.prompt, asks=judging.asks, again=again, unparsed=plan.questions.unparsed)
        for again in range(judging.again + 1)
        for model in plan.judges
    )


def is_judged(section: QuestionsSection, question: Question) -> bool:
    """Whether a judge scores its answers: the plan says so, or it says nothing and only a judge can."""
    return section.scorer == SCORER or (section.scorer is None and question.target.kind == "reference")


def idle_judges(plan: Plan, questions: Iterable[Question]) -> str:
    """What a user should know who names judges that no question needs; "" where there is none such."""
    if not plan.judges or any(is_judged(plan.questions, question) for question in questions):
        return ""
    names = ", ".join(repr(model.name) for model in plan.judges)
    return (
        f"judges: no question needs a judge, so none is asked ({names}); they score targets of kind 'reference',"
        f' or all questions where questions.scorer = "{SCORER}"'
    )


def judges_of_their_own(plan: Plan, questions: Iterable[Question]) -> str:
    """What a user should know whose judges grade answers that they gave themselves; "" where none does."""
    judged = {_asked(model) for model in plan.models}
    names = ", ".join(repr(judge.name) for judge in plan.judges if _asked(judge) in judged)
    if not names or not any(is_judged(plan.questions, question) for question in questions):
        return ""
    return f"judges: {names} will grade answers of its own, to which models tend to be kinder than to those of others"


def _asked(model: Model) -> tuple[str, str]:
    """What is asked, whatever a plan calls it."""
    if isinstance(model, OpenAIModel):
        return model.endpoint.rstrip("/"), model.wire_name
    return model.provider, model.identity()
