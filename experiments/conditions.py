"""The built-in conditions. Each is an ordinary `Condition` that a plan can name, extend or replace."""

from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, ToolUse

SCAFFOLD = (
    "You are answering one question. Work step by step. If tools are available you may call them, several times if"
    " need be; whether a tool helps with this question is for you to judge. When you are done, give your final answer"
    " in the form that the question asks for."
)


def _condition(name: str, *tools: str, prompt: str = SCAFFOLD) -> Condition:
    return Condition(name=name, prompt=prompt, tools=tuple(ToolUse(name=tool) for tool in tools))


BUILT_IN: dict[str, Condition] = {
    condition.name: condition
    for condition in (
        _condition("none", prompt=""),
        _condition("scaffold"),
        _condition("python", "python"),
        _condition("search", "search"),
        _condition("all", "all"),
    )
}


def built_in_condition(name: str) -> Condition:
    try:
        return BUILT_IN[name]
    except KeyError:
        raise InputError(
            f"there is no built-in condition {name!r}",
            hint=f"built in are: {', '.join(BUILT_IN)}; a condition of your own is a table with its tools or prompt",
            code="unknown_condition",
        ) from None
