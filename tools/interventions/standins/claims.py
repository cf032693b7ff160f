"""A tool that says the right answer, or a wrong one, whatever it was asked: the bounds of what tools can do."""

from collections.abc import Callable, Sequence

from toolablate.tools.donors import same_words
from toolablate.tools.donors.donors import is_other
from toolablate.tools.interventions.changing import changed
from toolablate.tools.interventions.intervention import Call, Options, Proceed, Setting
from toolablate.tools.interventions.standins.answers import other_reference, right_answer, wrong_answer
from toolablate.tools.tool import ToolResult
from toolablate.traces.errors import InternalError
from toolablate.traces.records import Question, ReferenceTarget, SpansTarget, TextTarget


class Claim:
    """The tool is not called. The question's metadata may hold a text of its own under the name of the
    intervention."""

    def __init__(self, name: str, answer: Callable[[Question, Setting], str], setting: Setting) -> None:
        self._name = name
        self._answer = answer
        self._setting = setting

    async def apply(self, call: Call, proceed: Proceed) -> ToolResult:
        text = self._text(call)
        return changed(ToolResult(call.likeness.finding(call.arguments, text)), self._name, text)

    def _text(self, call: Call) -> str:
        question = self._setting.question
        if question is None:
            raise InternalError(f"{self._name}: the trial's question is not known")
        if own := own_text(question, self._name):
            return own
        answer = self._answer(question, self._setting)
        if call.likeness.form == "code":
            return answer
        return f"答案：{answer}" if question.language.lower().startswith("zh") else f"Answer: {answer}"


def own_text(question: Question, name: str) -> str:
    """What the question's metadata has for the intervention; empty for none."""
    own = question.metadata.get(name)
    return own if isinstance(own, str) and own.strip() else ""


def refuse_without_wrong_answer(questions: Sequence[Question], others: Sequence[Question] = ()) -> None:
    """Raises InputError for a question that an adversary finds nothing wrong to say of. `others` are questions of the
    plan that are not asked."""
    references = [each for each in (*questions, *others) if isinstance(each.target, ReferenceTarget)]
    words = {each.id: same_words(each.prompt) for each in references}
    for question in questions:
        # Of texts there are always others, and finding them takes a look at all questions.
        if isinstance(question.target, SpansTarget | TextTarget) or own_text(question, "adversarial"):
            continue
        if isinstance(question.target, ReferenceTarget):
            apart = (each for each in references if is_other(question, each.id, words[each.id], each.cluster))
            other_reference(question, apart)
        else:
            wrong_answer(question, Setting(question=question))


class Oracle(Claim):
    def __init__(self, options: Options, setting: Setting) -> None:
        super().__init__("oracle", lambda question, _: right_answer(question), setting)


class Adversarial(Claim):
    def __init__(self, options: Options, setting: Setting) -> None:
        super().__init__("adversarial", wrong_answer, setting)
