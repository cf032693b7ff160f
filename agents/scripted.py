"""A model that says what a file says: recorded replies of other people's models, or replies written for a test."""

import json
import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from toolablate.agents.chat import ChatModel
from toolablate.traces.errors import InputError, ModelError
from toolablate.traces.records import (
    Condition,
    FinishReason,
    Message,
    ModelReply,
    ModelRequest,
    Question,
    ScriptedModel,
    ToolRequest,
    Usage,
    clean_text,
)

# {{last_tool_output}}, and {{!last_tool_output}} for those very words; each further "!" escapes one more.
_PLACEHOLDER = re.compile(r"\{\{(!*)last_tool_output\}\}")

Key = tuple[str, str | None, int | None]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ScriptedCall(_Entry):
    name: str
    arguments: str | dict[str, JsonValue] = Field(default_factory=dict)


class ScriptedReply(_Entry):
    content: str = ""
    tool_calls: tuple[ScriptedCall, ...] = ()
    reasoning: str = ""
    finish_reason: FinishReason | None = None
    usage: Usage = Usage()


class ScriptLine(_Entry):
    """The replies of one trial; a condition or repeat that is not named stands for any."""

    question: str
    condition: str | None = None
    repeat: int | None = Field(default=None, ge=0)
    replies: tuple[ScriptedReply, ...] = Field(min_length=1)

    @property
    def key(self) -> Key:
        return (self.question, self.condition, self.repeat)


def literal(text: str) -> str:
    """Text for a script that is to be said as it is, even where it holds a placeholder."""
    return _PLACEHOLDER.sub(lambda match: "{{!" + match[1] + "last_tool_output}}", text)


def fill(text: str, last_tool_output: str) -> str:
    """Text as the model says it. What is filled in is never looked at again."""
    return _PLACEHOLDER.sub(
        lambda match: "{{" + match[1][1:] + "last_tool_output}}" if match[1] else last_tool_output, text
    )


class Script:
    """All the replies of a scripted model. Lines are checked when the file is opened and kept as text until said."""

    def __init__(self, model: ScriptedModel) -> None:
        self._name = model.name
        self._path = Path(model.script)
        self._lines: dict[Key, tuple[int, bytes]] = {}
        try:
            with self._path.open("rb") as file:
                for number, raw in enumerate(file, 1):
                    line = raw.removeprefix(b"\xef\xbb\xbf").strip()
                    if line:
                        self._add(number, line)
        except OSError as error:
            raise InputError(
                f"model {model.name!r}: cannot read the script {self._path}: {error.strerror}", code="unreadable_script"
            ) from None

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        keys: tuple[Key, ...] = (
            (question.id, condition.name, repeat),
            (question.id, condition.name, None),
            (question.id, None, repeat),
            (question.id, None, None),
        )
        raw = next((self._lines[key][1] for key in keys if key in self._lines), None)
        line = ScriptLine.model_validate_json(raw) if raw is not None else None
        return ScriptedChat(f"scripted/{self._name}", line, f"question {question.id!r}, condition {condition.name!r}")

    async def close(self) -> None:
        self._lines.clear()

    def _add(self, number: int, raw: bytes) -> None:
        where = f"{self._path}:{number}"
        try:
            line = ScriptLine.model_validate_json(raw)
        except ValidationError as error:
            raise InputError(f"{where}: {_first(error)}", code="bad_script") from None
        if line.key in self._lines:
            raise InputError(
                f"{where}: question {line.question!r} has its replies on line {self._lines[line.key][0]} already",
                hint='name a "condition" or "repeat" on each line to tell them apart',
                code="bad_script",
            )
        self._lines[line.key] = (number, raw)


class ScriptedChat:
    """Says the k-th reply to the k-th request. How many were said is read from the request, so that a conversation
    taken up in its middle goes on where it was."""

    def __init__(self, name: str, line: ScriptLine | None, trial: str) -> None:
        self._name = name
        self._replies = line.replies if line else ()
        self._trial = trial

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        said = sum(message.role == "assistant" for message in request.messages)
        if said >= len(self._replies):
            have = f"has {len(self._replies)} replies" if self._replies else "has no replies"
            raise ModelError(
                f"the script {have} for {self._trial}, and reply {said + 1} was asked for", code="script_exhausted"
            )
        reply = self._replies[said]
        outputs = [message.content for message in request.messages if message.role == "tool"]
        message = Message(
            role="assistant",
            content=self._say(reply.content, outputs),
            reasoning=clean_text(reply.reasoning),
            tool_calls=tuple(
                ToolRequest(id=f"call_{said}_{position}", name=call.name, arguments=self._arguments(call, outputs))
                for position, call in enumerate(reply.tool_calls)
            ),
        )
        finish = reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")
        return ModelReply(message=message, finish_reason=finish, usage=reply.usage, model=self._name)

    def _arguments(self, call: ScriptedCall, outputs: list[str]) -> str:
        if isinstance(call.arguments, str):
            return self._say(call.arguments, outputs)
        return json.dumps(self._say_in(call.arguments, outputs), ensure_ascii=False)

    def _say_in(self, value: Any, outputs: list[str]) -> Any:
        if isinstance(value, str):
            return self._say(value, outputs)
        if isinstance(value, list):
            return [self._say_in(item, outputs) for item in value]
        if isinstance(value, dict):
            return {key: self._say_in(item, outputs) for key, item in value.items()}
        return value

    def _say(self, text: str, outputs: list[str]) -> str:
        if not outputs and any(not match[1] for match in _PLACEHOLDER.finditer(text)):
            raise ModelError(
                f"the script uses the last tool output for {self._trial} before any tool was called",
                code="script_without_output",
            )
        return clean_text(fill(text, outputs[-1] if outputs else ""))


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in problem["loc"])
    return f"{where}: {problem['msg']}" if where else problem["msg"]
