"""A tool that says the right answer, or a wrong one, whatever it was asked: the bounds of what tools can do."""

from collections.abc import Callable

from toolablate.tools.interventions.changing import changed
from toolablate.tools.interventions.intervention import Call, Options, Proceed, Setting
from toolablate.tools.interventions.standins.answers import right_answer, wrong_answer
from toolablate.tools.tool import ToolResult
from toolablate.traces.errors import InternalError
from toolablate.traces.records import Question


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
        own = question.metadata.get(self._name)
        if isinstance(own, str) and own.strip():
            return own
        answer = self._answer(question, self._setting)
        if call.likeness.form == "code":
            return answer
        return f"答案：{answer}" if question.language.lower().startswith("zh") else f"Answer: {answer}"


class Oracle(Claim):
    def __init__(self, options: Options, setting: Setting) -> None:
        super().__init__("oracle", lambda question, _: right_answer(question), setting)


class Adversarial(Claim):
    def __init__(self, options: Options, setting: Setting) -> None:
        super().__init__("adversarial", wrong_answer, setting)
