"""An agent's tools as tools of a condition, whose innermost call is the agent's own."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command
from pydantic import JsonValue, ValidationError
from pydantic_core import to_jsonable_python

from toolablate.agents.langgraph_agents.seam import AgentStopped, ToolAsked
from toolablate.agents.session import Tools
from toolablate.tools.function import MAX_OUTPUT_CHARS
from toolablate.tools.langchain_tools import LangChainTool, langchain_tool
from toolablate.tools.text import one_line
from toolablate.tools.tool import PLAIN, ResultTemplate, ToolResult, invalid_call
from toolablate.traces.errors import InputError, SandboxError, ToolError
from toolablate.traces.records import ToolRequest, ToolSpec, clean_text


@dataclass(slots=True)
class Pending:
    """A call that is under way: what the tool itself gave or raised, and what the model is shown of it. `blank` takes
    secrets out of what is recorded."""

    asked: ToolAsked
    blank: Callable[[str], str] = str
    raw: Any = None
    error: Exception | None = None
    own: ToolResult | None = None
    shown: ToolResult | None = None

    @property
    def to_state(self) -> bool:
        """Whether the tool changed more of the agent's state than its messages."""
        return bool(self.asked.writes) or self._commands

    @property
    def _commands(self) -> bool:
        return any(isinstance(part, Command) for part in _parts(self.raw))

    def blanked(self, result: ToolResult) -> ToolResult:
        return replace(result, output=self.blank(result.output))

    def given_back(self) -> Any:
        """What the agent is given: what its tool gave, where that is what is shown."""
        shown, call_id = self.shown, self.asked.call_id
        assert shown is not None
        same = self.own is not None and self.error is None and clean_text(self.own.output) == clean_text(shown.output)
        if same:
            return self.raw
        if self._commands and self.own is not None:
            return _with_text(self.raw, shown.output, call_id)
        return _as_message(shown, self.asked)


PENDING: ContextVar[Pending | None] = ContextVar("pending", default=None)


class AgentTool:
    """A `Tool`. Outside of a call of the agent's it cannot be called, since only the agent has the state that it may
    need."""

    def __init__(self, tool: BaseTool) -> None:
        self.spec = spec_of(tool)
        self.template: ResultTemplate = PLAIN
        self._checked: LangChainTool | None = None
        # What cannot be checked beforehand is checked by the tool.
        with suppress(InputError, ValueError, TypeError):
            self._checked = langchain_tool(tool, tool.name)

    def refusal(self, arguments: Mapping[str, JsonValue]) -> ToolResult | None:
        if self._checked is None:
            return None
        try:
            self._checked.arguments.model_validate_json(json.dumps(dict(arguments)))
        except ValidationError as error:
            return self._does_not_fit(error)
        return None

    async def call(self, arguments: Mapping[str, JsonValue]) -> ToolResult:
        pending = PENDING.get()
        if pending is None:
            raise ToolError(f"the tool {self.spec.name!r} runs only inside its agent", code="not_in_agent")
        pending.error = None
        try:
            pending.raw = await pending.asked.own()
        except (GraphBubbleUp, ToolError, SandboxError, AgentStopped):
            raise
        except ValidationError as error:
            pending.error, pending.own = error, self._does_not_fit(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the tool is anybody's
            name = type(error).__name__
            pending.error = error if isinstance(error, Exception) else RuntimeError(name)
            # Blanked before it is cut, which may cut a secret.
            said = pending.blank(clean_text(f"{name}: {error}"))
            pending.own = ToolResult(said[:MAX_OUTPUT_CHARS], status="error", error=name)
        else:
            pending.own = result_of(pending.raw, pending.asked.call_id)
        pending.own = pending.blanked(pending.own)
        return pending.own

    def _does_not_fit(self, error: ValidationError) -> ToolResult:
        found = error.errors(include_url=False, include_input=False)[:5]
        said = "; ".join(f"{'.'.join(map(str, each['loc'])) or 'it'}: {each['msg']}" for each in found)
        return invalid_call(self.spec, one_line(said, 300))

    async def close(self) -> None:
        """Belongs to the agent."""


@dataclass(frozen=True, slots=True)
class SeenTools:
    """The tools of a trial; what they show is noted at the call that is under way."""

    inner: Tools

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return self.inner.specs

    async def call(self, request: ToolRequest) -> ToolResult:
        shown = await self.inner.call(request)
        if (pending := PENDING.get()) is not None:
            pending.shown = shown
        return shown


def spec_of(tool: BaseTool) -> ToolSpec:
    """As its agent's model is told of it."""
    try:
        told = convert_to_openai_tool(tool)["function"]
    except Exception:  # noqa: BLE001 - the tool is anybody's
        told = {}
    parameters = told.get("parameters") or {"type": "object", "properties": {}}
    return ToolSpec(name=tool.name, description=str(told.get("description") or tool.description), parameters=parameters)


# What tools give.


def result_of(raw: Any, call_id: str | None) -> ToolResult:
    """The text of what a tool gave: of a message, of the message in a command, of any value."""
    for part in _parts(raw):
        messages = _messages(part) if isinstance(part, Command) else [part]
        for message in messages:
            if isinstance(message, ToolMessage) and (call_id is None or message.tool_call_id == call_id):
                failed = message.status == "error"
                return _result(_text(message.content), error="tool_error" if failed else "")
    if isinstance(raw, Command):
        return ToolResult(f"(goes on at {raw.goto})" if raw.goto else "(no output)")
    return _result(_text(raw))


def _result(text: str, error: str = "") -> ToolResult:
    # Not cut: the agent gives it to its model as it is.
    return ToolResult(clean_text(text), status="error" if error else "ok", error=error)


def _parts(raw: Any) -> list[Any]:
    return list(raw) if isinstance(raw, list | tuple) else [raw]


def _messages(command: Command[Any]) -> list[Any]:
    update = command.update
    found = update.get("messages") if isinstance(update, Mapping) else None
    return list(found) if isinstance(found, Iterable) and not isinstance(found, str) else []


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(each, str | dict) for each in value):
        texts = [each if isinstance(each, str) else each.get("text") for each in value]
        if all(isinstance(each, str) for each in texts):
            return "".join(str(each) for each in texts)
    return _json(value)


def _json(value: Any) -> str:
    """Of any value. What is read by being used up (a generator) is not read: it is the agent's."""
    try:
        plain = to_jsonable_python(_unread(value), inf_nan_mode="constants", fallback=str, bytes_mode="base64")
        return json.dumps(plain, ensure_ascii=False)
    except Exception:  # noqa: BLE001 - the value is anybody's
        return json.dumps(f"({type(value).__name__} that cannot be written as JSON)")


def _unread(value: Any) -> Any:
    if isinstance(value, Iterator):
        return f"({type(value).__name__})"
    if isinstance(value, dict):
        return {key: _unread(each) for key, each in value.items()}
    return [_unread(each) for each in value] if isinstance(value, list | tuple) else value


def _with_text(raw: Any, text: str, call_id: str | None) -> Any:
    """What a tool gave, with other words for the model."""

    def changed(part: Any) -> Any:
        if isinstance(part, ToolMessage) and (call_id is None or part.tool_call_id == call_id):
            return part.model_copy(update={"content": text})
        if isinstance(part, Command) and isinstance(part.update, Mapping):
            return replace(part, update={**part.update, "messages": [changed(each) for each in _messages(part)]})
        return part

    return [changed(each) for each in raw] if isinstance(raw, list) else changed(raw)


def _as_message(shown: ToolResult, asked: ToolAsked) -> Any:
    if asked.call_id is None:
        return shown.output
    status = "success" if shown.status == "ok" else "error"
    return ToolMessage(shown.output, tool_call_id=asked.call_id, name=asked.tool.name, status=status)


def arguments_of(asked: ToolAsked) -> str:
    """The arguments of a call, without those that the graph injects, as JSON."""
    given = asked.given if isinstance(asked.given, dict) else {"input": asked.given}
    try:
        plain = asked.tool._filter_injected_args(given)
    except Exception:  # noqa: BLE001 - of some versions alone
        plain = given
    return _json(plain)
