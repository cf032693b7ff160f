"""What the two APIs share: names, arguments, settings, texts, calls, and what is reported of tokens and cost."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from toolablate.agents.chat import NoReplyError
from toolablate.agents.foreign import dicts_in as dicts_in
from toolablate.agents.foreign import text_of as text_of
from toolablate.traces.errors import ModelError
from toolablate.traces.records import Message, ModelReply, ModelRequest, OpenAIModel, Picture, ToolRequest, Usage

# JSON numbers are exact up to here, and no request ever used as many tokens; sums of such counts still fit the store.
_COUNTS_BELOW = 2**53
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")


class Dialect(Protocol):
    """One of the two APIs: a path, the key under which the conversation stands, and how both sides are written."""

    path: str
    conversation_key: str

    def settings(self, model: OpenAIModel) -> dict[str, Any]:
        """The part of a request's body that is the same in all requests."""
        ...

    def write_message(self, message: Message) -> list[dict[str, Any]]:
        """The entries of the conversation that stand for a message."""
        ...

    def write_pictures(self, results: Sequence[Message]) -> list[dict[str, Any]]:
        """The entries behind the last result of a turn that show what its results cannot hold; [] for none."""
        ...

    def write_tools(self, request: ModelRequest) -> dict[str, Any]:
        """The tools and how they may be used, and the form of an answer; {} where there is neither."""
        ...

    def read(self, body: Mapping[str, Any], turn: int) -> ModelReply:
        """The reply in a body. `turn` counts the model's turns before this one. Raises ModelError, NoReplyError."""
        ...


def merged(ours: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Both, `extra` having the last word; objects are merged and lists joined, so that neither loses the other."""
    result = dict(ours)
    for key, value in extra.items():
        own = result.get(key)
        if isinstance(own, Mapping) and isinstance(value, Mapping):
            result[key] = merged(own, value)
        elif isinstance(own, list) and isinstance(value, list):
            result[key] = own + [item for item in value if item not in own]
        else:
            result[key] = value
    return result


def chosen(**settings: object) -> dict[str, Any]:
    """The settings that are set."""
    return {key: value for key, value in settings.items() if value is not None}


def strict(schema: Mapping[str, Any]) -> bool:
    """Whether a schema has the form that OpenAI asks for before it holds a reply to all of it."""
    return schema.get("additionalProperties") is False


def sendable_name(name: str) -> str:
    return _NOT_IN_A_NAME.sub("_", name)[:64] or "unnamed"


def sendable_arguments(arguments: str) -> str:
    """Servers that parse a history's arguments answer 400 to what the model itself once wrote; so it is wrapped."""
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except (ValueError, RecursionError):
        pass
    return json.dumps({"invalid_arguments": arguments}, ensure_ascii=False)


def results_up_to(messages: Sequence[Message], position: int) -> Sequence[Message]:
    """The results of one turn, where the last of them stands here; else none."""
    following = messages[position + 1] if position + 1 < len(messages) else None
    if messages[position].role != "tool" or (following is not None and following.role == "tool"):
        return ()
    first = position
    while first and messages[first - 1].role == "tool":
        first -= 1
    return messages[first : position + 1]


def pictures_of(results: Iterable[Message]) -> Iterator[str | Picture]:
    """What a message behind results shows of them, where an API has no images in a result."""
    for result in results:
        if result.images:
            yield f"Images of the result of call {result.tool_call_id}:"
            yield from result.images


def count_in(holder: object, *keys: str) -> int | None:
    """The first of these keys that holds what can be a count."""
    for key in keys:
        number = holder.get(key) if isinstance(holder, dict) else None
        if type(number) is int and 0 <= number < _COUNTS_BELOW:
            return number
    return None


def read_calls(written: Iterable[tuple[object, object, object]], turn: int) -> tuple[ToolRequest, ...]:
    """Tool calls from (id, name, arguments), told apart by ids of ours where the endpoint does not tell them apart."""
    calls: list[ToolRequest] = []
    seen: set[str] = set()
    for position, (given, name, arguments) in enumerate(written):
        if not isinstance(arguments, str):
            arguments = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
        call_id = text_of(given)
        if not call_id or call_id in seen:
            call_id = f"call_{turn}_{position}"
            while call_id in seen:
                call_id += "_"
        seen.add(call_id)
        calls.append(ToolRequest(id=call_id, name=text_of(name), arguments=arguments))
    return tuple(calls)


def bad_reply(message: str) -> ModelError:
    return ModelError(message, code="bad_reply", retryable=True)


def checked(reply: ModelReply) -> ModelReply:
    """The reply, if it is one. Raises NoReplyError."""
    if reply.finish_reason == "content_filter":
        raise NoReplyError("the endpoint's content filter stopped the reply", reply, code="content_filter")
    if reply.finish_reason == "tool_calls" and not reply.message.tool_calls:
        # What was said before a call that is lost is no answer.
        raise NoReplyError("the reply ends in tool calls and has none", reply, code="bad_reply", retryable=True)
    # A reply cut before its first visible word (all went into reasoning) is a fact about the model, not a failure; one
    # that the provider paused in goes on.
    if (
        not reply.message.content.strip()
        and not reply.message.tool_calls
        and reply.finish_reason not in ("length", "paused")
    ):
        raise NoReplyError(
            "the reply is empty: no text, no tool call, no refusal", reply, code="empty_reply", retryable=True
        )
    return reply


# What an endpoint reports of a reply's tokens and cost, under the names that it has for them.


_CACHE_WRITES = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
_TICKS_PER_DOLLAR = 10**10
# No reply cost as much; what is more is no price.
_DOLLARS_BELOW = 1e6
# Twice what the longest replies of Google's models have.
_MOST_UNNAMED_THOUGHTS = 2**17


def completions_usage(usage: object) -> Usage:
    """Of Chat Completions."""
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("prompt_tokens_details")
    cached = count_in(details, "cached_tokens")
    if cached is None:
        # DeepSeek's and Kimi's names for it.
        cached = count_in(usage, "prompt_cache_hit_tokens", "cached_tokens")
    written = count_in(details, *_CACHE_WRITES)
    if written is None:
        written = count_in(usage, *_CACHE_WRITES)
    reasoning = count_in(usage.get("completion_tokens_details"), "reasoning_tokens")
    return Usage(
        input_tokens=count_in(usage, "prompt_tokens"),
        output_tokens=_output(usage, cached or 0, written or 0, reasoning),
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=reasoning,
    )


def responses_usage(usage: object) -> Usage:
    """Of Responses."""
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("input_tokens_details")
    return Usage(
        input_tokens=count_in(usage, "input_tokens"),
        output_tokens=count_in(usage, "output_tokens"),
        cached_tokens=count_in(details, "cached_tokens"),
        cache_write_tokens=count_in(details, *_CACHE_WRITES),
        reasoning_tokens=count_in(usage.get("output_tokens_details"), "reasoning_tokens"),
    )


def charged_usd(usage: object) -> float | None:
    """What the endpoint says that it charged, in US dollars."""
    if not isinstance(usage, dict):
        return None
    ticks = count_in(usage, "cost_in_usd_ticks")
    if ticks is not None:
        return ticks / _TICKS_PER_DOLLAR
    charged = _amount(usage.get("cost"))
    details = usage.get("cost_details")
    upstream = _amount(details.get("upstream_inference_cost")) if isinstance(details, dict) else None
    own_key = usage.get("is_byok")
    if not isinstance(own_key, bool):
        own_key = charged is not None and upstream is not None and upstream > charged
    if not own_key:
        return charged
    # Under a key of the user's own, OpenRouter's part is a fee, and the provider charges the rest.
    return None if charged is None or upstream is None else charged + upstream


def _output(usage: Mapping[str, Any], cached: int, written: int, reasoning: int | None) -> int | None:
    """The tokens that were written, thoughts among them.

    xAI counts thoughts beside `completion_tokens`, Google too and under no name: they are what the total has more. So
    a surplus counts where it is what was told as `reasoning_tokens`, and where no such number was told and thoughts can
    be as long. Any other is no output: some gateways count what was in the cache beside `prompt_tokens`, and some give
    the total of a conversation.
    """
    read, wrote, total = (count_in(usage, key) for key in ("prompt_tokens", "completion_tokens", "total_tokens"))
    if read is None or wrote is None or total is None:
        return wrote
    more = total - read - wrote
    if reasoning is not None:
        return wrote + more if more == reasoning else wrote
    thought = 0 < more <= _MOST_UNNAMED_THOUGHTS and more not in (cached, written, cached + written)
    return wrote + more if thought else wrote


def _amount(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _DOLLARS_BELOW else None
