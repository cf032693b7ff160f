"""The built-in conditions. Each is an ordinary `Condition` that a plan can name, extend or replace."""

from toolablate.traces.records import Condition, ToolUse

SCAFFOLD = (
    "You are answering one question. Work step by step. If tools are available you may call them, several times if"
    " need be; whether a tool helps with this question is for you to judge. When you are done, give your final answer"
    " in the form that the question asks for."
)


def scaffolded(name: str, *tools: str) -> Condition:
    """A condition with the built-in prompt, and tools without options."""
    return Condition(name=name, prompt=SCAFFOLD, tools=tuple(ToolUse(name=tool) for tool in tools))


BUILT_IN: dict[str, Condition] = {
    condition.name: condition
    for condition in (
        Condition(name="none"),
        scaffolded("scaffold"),
        scaffolded("python", "python"),
        scaffolded("search", "search"),
        scaffolded("all", "all"),
    )
}
