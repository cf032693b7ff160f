"""What an agent's model is asked, as a record, and what it is offered: the agent's tools that the condition names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from toolablate.agents.langchain.messages import BARRED, BARRED_BY_WORD, said_before, written_message
from toolablate.traces.records import Message, ModelReply, ToolSpec, Usage

# The keys under which classes take tools, after `bind_tools` has written them in their API's form.
_TOOL_KEYS = ("tools", "functions")
_OF_TOOLS = (*_TOOL_KEYS, "tool_choice", "function_call", "parallel_tool_calls", "tool_config", "toolConfig")


def tool_names_of(kwargs: Mapping[str, Any]) -> list[str]:
    """The names of the tools that a request offers, in whatever form."""
    return [spec.name for spec in specs_of(kwargs)]


def specs_of(kwargs: Mapping[str, Any]) -> tuple[ToolSpec, ...]:
    return tuple(spec for _, entries in _entries(kwargs) for entry in entries for spec in _specs(entry))


def _entries(kwargs: Mapping[str, Any]) -> list[tuple[str, list[Any]]]:
    found = [(key, list(kwargs[key])) for key in _TOOL_KEYS if isinstance(kwargs.get(key), list | tuple)]
    of_bedrock = kwargs.get("toolConfig")
    if isinstance(of_bedrock, Mapping) and isinstance(of_bedrock.get("tools"), list | tuple):
        found.append(("toolConfig", list(of_bedrock["tools"])))
    return found


def _specs(entry: Any) -> list[ToolSpec]:
    """Of one entry: OpenAI's and Anthropic's have one tool, Google's a list of them; a tool that a provider runs by
    itself (a web search) has its type for a name, and Google's its key."""
    if not isinstance(entry, Mapping):
        entry = _of_google(entry) or _plain(entry)
        if not isinstance(entry, Mapping):
            return [ToolSpec(name=str(getattr(entry, "name", "") or entry), description="", parameters={})]
    if declared := [entry[key] for key in _DECLARED if isinstance(entry.get(key), list | tuple)]:
        functions = [
            spec for each in declared[0] for spec in _specs(each if isinstance(each, Mapping) else _plain(each))
        ]
        return functions + _by_key(entry)
    for key in ("function", "toolSpec"):
        if isinstance(entry.get(key), Mapping):
            return _specs(entry[key])
    name = entry.get("name") or entry.get("title") or entry.get("type")
    if not name:
        return _by_key(entry)
    schemas = (entry.get(key) for key in ("parameters", "input_schema", "inputSchema", "parameters_json_schema"))
    schema = next((each for each in schemas if isinstance(each, Mapping)), {})
    parameters = _plain(schema.get("json", schema))
    told = str(entry.get("description") or "")
    return [ToolSpec(name=str(name), description=told, parameters=parameters if isinstance(parameters, dict) else {})]


_DECLARED = ("function_declarations", "functionDeclarations")


def _of_google(entry: Any) -> dict[str, Any] | None:
    """The parts of a `Tool` of Google's that are set: lists of functions, and tools that it runs by itself."""
    if isinstance(entry, BaseModel) and "function_declarations" in type(entry).model_fields:
        return {name: value for name, value in entry if value is not None}
    declared = getattr(entry, "function_declarations", None)
    return None if declared is None else {"function_declarations": list(declared)}


def _by_key(entry: Mapping[str, Any]) -> list[ToolSpec]:
    names = [str(key) for key, value in entry.items() if key not in _DECLARED and value is not None]
    return [ToolSpec(name=name, description="", parameters={}) for name in names]


def _plain(value: Any) -> Any:
    if isinstance(getattr(value, "name", None), str) and hasattr(value, "tool_call_schema"):
        from langchain_core.utils.function_calling import convert_to_openai_tool

        return convert_to_openai_tool(value)
    return to_jsonable_python(value, fallback=str, bytes_mode="base64")


def offered(kwargs: Mapping[str, Any], allowed: Callable[[str], bool]) -> dict[str, Any]:
    """The arguments of a request without the tools that are not allowed; a choice of one of these goes too."""
    lists = _entries(kwargs)
    if all(allowed(name) for name in tool_names_of(kwargs)):
        return dict(kwargs)
    left = dict(kwargs)
    for key, entries in lists:
        kept = [part for entry in entries if (part := _without(entry, allowed)) is not None]
        left[key] = {**kwargs[key], "tools": kept} if key == "toolConfig" else kept
    names = tool_names_of(left)
    if not names:
        return {key: value for key, value in left.items() if key not in _OF_TOOLS}
    if (chosen := choice_of(kwargs)) not in ("auto", "none", "required", *names):
        assert chosen
        left.pop("tool_choice", None)
    return left


def _without(entry: Any, allowed: Callable[[str], bool]) -> Any:
    """The entry, or what of it is allowed; None where nothing is."""
    specs = _specs(entry)
    if all(allowed(spec.name) for spec in specs):
        return entry
    parts = entry if isinstance(entry, Mapping) else _of_google(entry)
    # A tool of another form has a name of its own.
    if parts is None or any(parts.get(key) for key in ("name", "title", "type", "function", "toolSpec")):
        return None
    kept = {key: part for key, part in parts.items() if key not in _DECLARED and allowed(str(key))}
    for key in _DECLARED:
        if functions := [each for each in parts.get(key) or () if all(allowed(spec.name) for spec in _specs(each))]:
            kept[key] = functions
    if not kept:
        return None
    return kept if isinstance(entry, Mapping) else type(entry)(**kept)


def choice_of(kwargs: Mapping[str, Any]) -> str:
    """As a record has it: `auto`, `none`, `required` or a tool's name."""
    choice = kwargs.get("tool_choice", kwargs.get("function_call"))
    if isinstance(choice, Mapping):
        inner = choice.get("function")
        named = inner if isinstance(inner, Mapping) else choice
        choice = named.get("name") or named.get("type")
    if choice in (True, "any", "required"):
        return "required"
    return choice if isinstance(choice, str) and choice else "auto"


def barred(chat: object, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a request whose tools may be seen and not called, where its class can be told so; otherwise as
    they are: a call that is made all the same is not run."""
    package = type(chat).__module__.partition(".")[0]
    choice = BARRED.get(package, "none" if package in BARRED_BY_WORD else None)
    return {**kwargs, "tool_choice": choice} if choice and tool_names_of(kwargs) else dict(kwargs)


def without_tools(chat: object, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """For a last request. Tools stay, barred, where the class can be told so: some endpoints refuse a history of tool
    calls without them."""
    held = barred(chat, kwargs)
    return (
        held
        if "tool_choice" in held and held.get("tool_choice") != kwargs.get("tool_choice")
        else {key: value for key, value in kwargs.items() if key not in _OF_TOOLS}
    )


# Conversations.


@dataclass(slots=True)
class Conversations:
    """The messages of an agent as records. Ids of calls that no reply of its models gave, which packages draw at random
    where they write messages by themselves, become numbers: a conversation is the same in every run."""

    blank: Callable[[str], str] = str
    _given: set[str] = field(default_factory=set)

    def note(self, reply: ModelReply) -> None:
        self._given.update(call.id for call in reply.message.tool_calls)

    def written(self, messages: Sequence[BaseMessage]) -> tuple[Message, ...]:
        """Shapes: one record for each message, in order."""
        found: list[Message] = []
        ids: dict[str, str] = {}
        for message in messages:
            turn = sum(each.role == "assistant" for each in found)
            found.append(self._renamed(said_before(message, turn, self.blank), ids))
        return tuple(found)

    def _renamed(self, message: Message, ids: dict[str, str]) -> Message:
        def name(call_id: str) -> str:
            return call_id if call_id in self._given else ids.setdefault(call_id, f"own_{len(ids) + 1}")

        if message.tool_calls:
            calls = tuple(call.model_copy(update={"id": name(call.id)}) for call in message.tool_calls)
            return message.model_copy(update={"tool_calls": calls})
        return (
            message.model_copy(update={"tool_call_id": name(message.tool_call_id)}) if message.tool_call_id else message
        )


def result_of(reply: ModelReply) -> ChatResult:
    """A recorded reply as a class of LangChain would have given it."""
    written = written_message(reply.message)
    assert isinstance(written, AIMessage)
    metadata = {**written.response_metadata, "finish_reason": reply.finish_reason, "model_name": reply.model}
    message = written.model_copy(update={"response_metadata": metadata, "usage_metadata": _usage(reply.usage)})
    return ChatResult(generations=[ChatGeneration(message=message)])


def _usage(usage: Usage) -> dict[str, Any] | None:
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    total = usage.input_tokens + usage.output_tokens
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "total_tokens": total}


def results_in(messages: Sequence[BaseMessage]) -> list[ToolMessage]:
    return [message for message in messages if isinstance(message, ToolMessage)]
