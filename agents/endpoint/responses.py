"""Responses JSON: https://platform.openai.com/docs/api-reference/responses.

Nothing is kept by the endpoint (`store` is false), so that a trace holds all that a model was given; what a model
thought comes and goes back encrypted. The system prompt is an item of the input and not `instructions`, so that a
conversation stands there in the order of the trace, and as it does in Chat Completions.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolablate.agents.chat import NoReplyError
from toolablate.agents.endpoint.requirements import wants_logprobs
from toolablate.agents.endpoint.wire import (
    bad_reply,
    charged_usd,
    checked,
    chosen,
    dicts_in,
    merged,
    read_calls,
    responses_usage,
    sendable_arguments,
    sendable_name,
    strict,
    text_of,
)
from toolablate.traces.records import FinishReason, Message, ModelReply, ModelRequest, OpenAIModel, Picture
from toolablate.traces.records.pictures import parts_of

# Calls of tools that no condition has, and that whoever asked would have to carry out.
_NEVER_OFFERED = frozenset(
    {"custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request"}
)
# What is told of the results of the provider's own tools where it is asked for, by how the types of the tools begin.
_TOLD = {
    "web_search": "web_search_call.action.sources",
    "code_interpreter": "code_interpreter_call.outputs",
    "file_search": "file_search_call.results",
}
_INCOMPLETE: dict[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}


class Responses:
    path = "/responses"
    conversation_key = "input"

    def settings(self, model: OpenAIModel) -> dict[str, Any]:
        sampling = model.sampling
        include = [] if model.capabilities.encrypted_reasoning is False else ["reasoning.encrypted_content"]
        if wants_logprobs(model):
            include.append("message.output_text.logprobs")
        ours = chosen(
            model=model.wire_name,
            store=False,
            include=include or None,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_output_tokens=sampling.max_tokens,
            top_logprobs=sampling.top_logprobs,
            reasoning={"effort": sampling.reasoning_effort} if sampling.reasoning_effort is not None else None,
        )
        return merged(ours, sampling.extra)

    def write_message(self, message: Message) -> list[dict[str, Any]]:
        if message.role == "tool":
            return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": _content(message)}]
        if message.items:
            return [_sendable(item) for item in _without_loose_reasoning(message.items)]
        calls = [
            _sendable({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments})
            for call in message.tool_calls
        ]
        if calls and not message.content:
            return calls
        return [{"role": message.role, "content": _content(message)}, *calls]

    def write_pictures(self, results: Sequence[Message]) -> list[dict[str, Any]]:
        """They stand in the results."""
        return []

    def write_tools(self, request: ModelRequest) -> dict[str, Any]:
        schema = request.answer_schema
        named = {"type": "json_schema", "name": "answer", "schema": schema, "strict": strict(schema)}
        form = {"text": {"format": named}} if schema else {}
        if not (request.tools or request.provider_tools):
            return form
        choice: object = request.tool_choice
        if choice in {tool["type"] for tool in request.provider_tools}:
            choice = {"type": choice}
        elif choice not in ("auto", "none", "required"):
            choice = {"type": "function", "name": choice}
        # Responses takes a tool as strict unless told otherwise, and would rewrite its parameters.
        return chosen(
            tools=[
                *({"type": "function", **tool.model_dump(mode="json"), "strict": False} for tool in request.tools),
                *request.provider_tools,
            ],
            tool_choice=choice,
            parallel_tool_calls=request.parallel_tool_calls,
            **form,
        )

    def read(self, body: Mapping[str, Any], turn: int) -> ModelReply:
        status = body.get("status", "completed")
        output = body.get("output")
        if not isinstance(output, list) or not all(isinstance(item, dict) for item in output):
            raise bad_reply("the endpoint's reply has no output")
        if status not in ("completed", "incomplete"):
            raise bad_reply(f"the endpoint's reply is not complete: its status is {str(status)[:40]!r}")
        message, logprobs, refusal = _read_output(output, turn)
        finish_reason: FinishReason = "refusal" if refusal else "tool_calls" if message.tool_calls else "stop"
        if status == "incomplete":
            details = body.get("incomplete_details")
            reason = details.get("reason") if isinstance(details, dict) else None
            finish_reason = _INCOMPLETE.get(str(reason), "other")
        reply = ModelReply(
            message=message,
            finish_reason=finish_reason,
            usage=responses_usage(body.get("usage")),
            charged_usd=charged_usd(body.get("usage")),
            model=text_of(body.get("model")),
            response_id=text_of(body.get("id")),
            logprobs=logprobs or None,
        )
        strange = next((str(item["type"]) for item in output if str(item.get("type")) in _NEVER_OFFERED), "")
        if strange:
            raise NoReplyError(
                f"the reply calls a tool that it was not offered ({strange})", reply, code="bad_reply", retryable=True
            )
        return checked(reply)


def _content(message: Message) -> str | list[dict[str, Any]]:
    """https://platform.openai.com/docs/guides/images-vision"""
    if not message.images:
        return message.content
    return [_part(part) for part in parts_of(message.content, message.images)]


def _part(part: str | Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    return {"type": "input_image", "image_url": part.url}


def asking_for_results(provider_tools: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The settings that have the endpoint tell what its own tools gave; {} where these tell all by themselves."""
    kinds = {text_of(tool.get("type")) for tool in provider_tools}
    include = [told for start, told in _TOLD.items() if any(kind.startswith(start) for kind in kinds)]
    return {"include": include} if include else {}


def _sendable(item: Mapping[str, Any]) -> dict[str, Any]:
    """The item as it came, but for a call that no server would take back: one of a broken name or broken arguments."""
    if item.get("type") != "function_call":
        return dict(item)
    name, arguments = sendable_name(text_of(item.get("name"))), sendable_arguments(text_of(item.get("arguments")))
    return {**item, "name": name, "arguments": arguments}


def _without_loose_reasoning(items: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    """Thoughts that were cut before anything followed them are refused ("without its required following item")."""
    end = len(items)
    while end and items[end - 1].get("type") == "reasoning":
        end -= 1
    return items[:end]


def _read_output(output: list[dict[str, Any]], turn: int) -> tuple[Message, list[Any], bool]:
    """The message, the log probabilities of its text, and whether it is a refusal."""
    items = [dict(item) for item in output]
    written = [item for item in items if item.get("type") == "function_call"]
    calls = read_calls(((item.get("call_id"), item.get("name"), item.get("arguments")) for item in written), turn)
    for item, call in zip(written, calls, strict=True):
        item["call_id"], item["arguments"] = call.id, call.arguments
    text: list[str] = []
    logprobs: list[Any] = []
    refusal = False
    for item in items:
        if item.get("type") != "message":
            continue
        if isinstance(item.get("content"), str):
            text.append(item["content"])
            continue
        item["content"] = parts = [dict(part) for part in dicts_in(item.get("content"))]
        for part in parts:
            refusal = refusal or part.get("type") == "refusal"
            text.append(text_of(part.get("text")) or text_of(part.get("refusal")))
            if isinstance(part.get("logprobs"), list):
                # They are a fact about the reply and no part of the conversation, which they would swell.
                logprobs += part["logprobs"]
                part["logprobs"] = []
    thoughts = [_thought(item) for item in items if item.get("type") == "reasoning"]
    message = Message(
        role="assistant",
        content="".join(text),
        reasoning="\n\n".join(thought for thought in thoughts if thought),
        items=tuple(items),
        tool_calls=calls,
    )
    return message, logprobs, refusal


def _thought(item: Mapping[str, Any]) -> str:
    """What a reasoning item tells: its text where an endpoint shows that, else its summary."""
    return text_of(item.get("content")) or "\n\n".join(
        text_of(part.get("text")) for part in dicts_in(item.get("summary"))
    )
