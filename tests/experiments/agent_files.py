"""Agents of a user's own in files beside a plan, and what came of running them."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from toolablate.experiments.plans.plan import plan_at
from toolablate.experiments.running.execution import Opens, open_executor
from toolablate.experiments.running.launch import launch
from toolablate.experiments.running.progress import RunProgress
from toolablate.traces.records import Answer, Event, Failure, ModelCall, ToolCall, Trace
from toolablate.traces.store import Store

# A chat model by rules, and two tools: what stands at the head of each module.
HEAD = '''
from typing import Any, Annotated
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

RAN = []

@tool
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    RAN.append(("multiply", a, b))
    return a * b

@tool
async def divide(a: int, b: int) -> float:
    """Divide a number by another."""
    RAN.append(("divide", a, b))
    return a / b

def call(name, number=1, **args):
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"{name}_{number}", "type": "tool_call"}])

class Rules(BaseChatModel):
    """Calls the first of `wants` that it is offered and that has no result yet; then says what the last result was."""
    wants: list = []
    @property
    def _llm_type(self): return "rules"
    def bind_tools(self, tools, **kwargs):
        return self.bind(tools=[convert_to_openai_tool(each) for each in tools], **kwargs)
    def _reply(self, messages, offered):
        said = [each.text for each in messages if each.type == "human"]
        if "final answer now" in said[-1]:
            return AIMessage("Answer: 13")
        given = [each for each in messages if each.type == "tool"]
        for number, (name, args) in enumerate(self.wants):
            if name in offered and number >= len(given):
                return call(name, number, **args)
        return AIMessage(f"Answer: {given[-1].text}" if given else "Answer: 7")
    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        offered = [each["function"]["name"] for each in kwargs.get("tools", [])]
        reply = self._reply(messages, offered)
        reply.usage_metadata = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        return ChatResult(generations=[ChatGeneration(message=reply)])

PRODUCT = ("multiply", {"a": 6, "b": 7})
'''

_NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class Ran:
    """The traces of a run by condition; one question, one repeat."""

    traces: dict[str, Trace]

    def of(self, condition: str, kind: type[Any]) -> list[Any]:
        return [event for event in self.traces[condition].events if isinstance(event, kind)]

    def answer(self, condition: str) -> str:
        (answer,) = self.of(condition, Answer)
        return str(answer.text)

    def calls(self, condition: str) -> list[ToolCall]:
        return self.of(condition, ToolCall)

    def requests(self, condition: str) -> list[ModelCall]:
        return self.of(condition, ModelCall)

    def failure(self, condition: str) -> Failure:
        assert self.traces[condition].outcome == "failed", self.traces[condition]
        return self.of(condition, Failure)[-1]  # type: ignore[no-any-return]


def agent_plan(
    folder: Path, code: str, conditions: str, *, extra: str = "", model: str = "", name: str = "", questions: int = 1
) -> Path:
    """A plan whose one model is the `agent` of a module of this code."""
    module = name or f"agent_{next(_NUMBERS)}_{folder.name.replace('-', '_')}"
    (folder / f"{module}.py").write_text(HEAD + code, encoding="utf-8")
    lines = (
        {"id": f"q{n}", "prompt": f"{n} times 6 times 7?", "cluster": f"{n}", "answer": 42} for n in range(questions)
    )
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    plan = folder / "plan.toml"
    plan.write_text(
        f"conditions = {conditions}\nstore = 'store.sqlite'\n{extra}\n[questions]\nfile = 'questions.jsonl'\n"
        f"[[models]]\nname = 'mine'\nagent = '{module}:agent'\n{model}\n",
        encoding="utf-8",
    )
    return plan


def run(plan: Path, opens: Opens = open_executor) -> Ran:
    """Raises what the command line would print."""
    loaded, text = plan_at(plan)
    with RunProgress(Console(quiet=True)) as progress:
        launch(loaded, text, progress, opens=opens)
    found = {}
    with Store(Path(loaded.store)) as opened:
        for trace in opened.traces():
            found[opened.condition(trace.trial.condition).name] = trace
    return Ran(found)


def shown(events: Sequence[Event]) -> list[tuple[str, str, str]]:
    return [(each.call.name, each.output, each.status) for each in events if isinstance(each, ToolCall)]
