"""Messages and events of an Inspect sample as records of ours."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue, TypeAdapter

from toolablate.traces.records import (
    Artifact,
    Event,
    Failure,
    FinishReason,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    Picture,
    ToolCall,
    ToolRequest,
    ToolSpec,
    Usage,
    clean_text,
)
from toolablate.traces.records.pictures import mark, picture_of_url

if TYPE_CHECKING:
    from inspect_ai.event import Event as InspectEvent
    from inspect_ai.event import ModelEvent, ToolEvent
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessage, ChatMessageTool, Content, ModelOutput, ModelUsage
    from inspect_ai.tool import ToolCallError, ToolChoice, ToolInfo

KEY = "toolablate"
COUNTED = "score"
"""What the scorers of a run are called together, where there are several; each score then has its own scorer's name."""


def ours(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Empty where another tool wrote the log."""
    found = (metadata or {}).get(KEY)
    return found if isinstance(found, Mapping) else {}


def place_of(kept: Mapping[str, Any]) -> tuple[int, int]:
    """Of a log's model and condition among those of the store that it was exported from. Raises ValueError."""
    place = kept.get("place", [0, 0])
    if not (isinstance(place, list) and [type(each) for each in place] == [int, int]):
        raise ValueError("its position among models and conditions must be a pair of whole numbers")
    return place[0], place[1]


def scorers_of(kept: Mapping[str, Any]) -> tuple[str, ...]:
    """Those whose scores count in the store that a log was exported from. Raises ValueError."""
    scorers = kept["scorers"]
    if not (isinstance(scorers, list) and all(isinstance(each, str) for each in scorers)):
        raise ValueError("its scorers are no list of names")
    return tuple(scorers)


# Messages of Inspect as ours.


_DATA = "data:"
_BASE64 = ";base64,"
_ADDRESS_CHARS = 300
_SECRET = re.compile(r"key|secret|password|authorization|credential|(?:^|_)token$", re.IGNORECASE)


def message_of(message: "ChatMessage") -> Message:
    """What is neither text nor image is named in brackets: a message of ours holds none of it."""
    text, reasoning = _parts(message.content)
    kept = ours(message.metadata)
    images: tuple[Picture, ...] = ()
    if message.role in ("user", "tool") and not isinstance(message.content, str):
        said, images = pictured(message.content, kept.get("images"))
        # What a tool's event says it gave has no marks.
        text = said if message.role == "user" or "images" in kept else text
    if message.role == "tool" and message.error is not None:
        # What a model reads of a call that went wrong.
        text = text or clean_text(message.error.message)
    return Message(
        role=message.role,
        content=text,
        images=images,
        reasoning=reasoning,
        reasoning_key=str(kept.get("reasoning_key", "")),
        items=tuple(kept.get("items", ())),
        tool_calls=tuple(
            ToolRequest(
                id=clean_text(call.id),
                name=clean_text(call.function),
                arguments=_written(call.arguments, kept.get("arguments", {}).get(call.id)),
            )
            for call in (message.tool_calls or () if message.role == "assistant" else ())
        ),
        tool_call_id=clean_text(message.tool_call_id or "") if message.role == "tool" else "",
    )


def pictured(content: "Sequence[Content]", places: object = None) -> tuple[str, tuple[Picture, ...]]:
    """The text with a mark where an image stands behind some of it, and the images that can be read; any other is named
    in brackets. `places` says for a message of ours which of its images comes when; its text has its marks already."""
    pictures = [_picture(part) for part in content]
    found = tuple(picture for picture in pictures if picture is not None)
    if not found:
        return text_of(content), ()
    numbers = list(range(1, len(found) + 1))
    if isinstance(places, list) and all(places.count(number) == 1 for number in numbers):
        texts = "".join(text_of([part]) for part, picture in zip(content, pictures, strict=True) if picture is None)
        return texts, tuple(found[places.index(number)] for number in numbers)
    lines, number = list[str](), 0
    for part, picture in zip(content, pictures, strict=True):
        number += picture is not None
        if picture is None:
            lines.append(text_of([part]))
        elif lines:
            lines.append(mark(number))
    return "\n".join(lines), found


def _picture(part: "Content") -> Picture | None:
    try:
        return picture_of_url(part.image) if part.type == "image" else None
    except ValueError:
        return None


def text_of(content: "str | Sequence[Content]") -> str:
    return _parts(content)[0]


def _parts(content: "str | Sequence[Content]") -> tuple[str, str]:
    """What is said, and what was thought."""
    if isinstance(content, str):
        return clean_text(content), ""
    said, thought = [], []
    for part in content:
        if part.type == "text":
            said.append(part.text)
        elif part.type == "reasoning":
            thought.append((part.summary or "") if part.redacted else part.reasoning)
        elif part.type == "tool_use":
            said.append(f"[{part.name} {part.arguments}: {part.error or part.result}]")
        else:
            said.append(f"[{part.type}{_address(part)}]")
    return clean_text("\n".join(said)), clean_text("\n".join(thought))


def _address(part: "Content") -> str:
    """Of what lies elsewhere: its content is not in the log, and nothing here fetches it."""
    held = getattr(part, part.type, "")
    return f" {held[:_ADDRESS_CHARS]}" if isinstance(held, str) and held and not held.startswith(_DATA) else ""


def artifacts_of(content: Any) -> tuple[Artifact, ...]:
    """The images among what a tool gave; those that are addresses stay away, since nothing here fetches them."""
    images = [part.image for part in content if getattr(part, "type", "") == "image"] if _is_parts(content) else []
    if getattr(content, "type", "") == "image":
        images = [content.image]
    return tuple(_artifact(image) for image in images if image.startswith(_DATA) and _BASE64 in image)


def result_of(result: Any) -> str:
    """What a tool gave, as text."""
    if isinstance(result, str):
        return clean_text(result)
    if _is_parts(result):
        return text_of(result)
    if hasattr(result, "type"):
        return text_of([result])
    return json.dumps(result) if isinstance(result, bool | int | float) else clean_text(str(result))


def _is_parts(content: Any) -> bool:
    return isinstance(content, Sequence) and not isinstance(content, str)


def _artifact(image: str) -> Artifact:
    mime, _, data = image.removeprefix(_DATA).partition(_BASE64)
    return Artifact(mime=mime, data=data)


def _written(arguments: dict[str, Any], text: object) -> str:
    return text if isinstance(text, str) else clean_text(json.dumps(arguments, ensure_ascii=False))


def usage_of(usage: "ModelUsage | None") -> Usage:
    """Inspect counts what came from a cache or went there apart from its `input_tokens`; ours has it among them."""
    if usage is None:
        return Usage()
    cached, written = usage.input_tokens_cache_read, usage.input_tokens_cache_write
    return Usage(
        input_tokens=usage.input_tokens + (cached or 0) + (written or 0),
        output_tokens=usage.output_tokens,
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=usage.reasoning_tokens,
    )


def json_of(value: Any) -> JsonValue:
    """As JSON, without what may be a key."""
    if isinstance(value, dict):
        return {clean_text(str(key)): json_of(each) for key, each in value.items() if not _SECRET.search(str(key))}
    text = clean_text(json.dumps(value, default=str, ensure_ascii=False))
    plain: JsonValue = json.loads(text, parse_constant=lambda _: None)
    if isinstance(plain, dict):
        return json_of(plain)
    return [json_of(each) for each in plain] if isinstance(plain, list) else plain


# The events of an Inspect sample as ours.


_EVENT: TypeAdapter[Event] = TypeAdapter(Event)
_FINISHED: dict[str, FinishReason] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}
_SCORING = ("scorer", "scorers")
_NO_KIND = "unknown"
_UNKNOWN_TOOL = "Tool {} not found"
"""What Inspect says to a model that calls a tool which it was not offered."""


def events_of(sample: "EvalSample", began: datetime) -> Iterator[Event]:
    """The calls of models and tools that were no part of scoring, in their order. A call whose result messages alone
    tell follows its request, without a length of time; so it is with all calls where the log has kept no events."""
    if not sample.events:
        yield from from_messages(sample)
    specs = {tool["name"]: ToolSpec.model_validate(tool) for tool in ours(sample.metadata).get("tools", ())}
    solving = list(_solving(sample.events))
    told = _Told(sample, solving)
    for place, event in enumerate(solving):
        at = max(0.0, (event.timestamp - began).total_seconds())
        if event.event == "model":
            call = _model_call(event, at, specs)
            yield call
            if isinstance(call, ModelCall):
                yield from told.after(place, call)
        elif event.event == "tool" and not event.pending:
            yield _tool_call(event, at)
        elif event.event == "info" and event.source == KEY:
            yield _EVENT.validate_python(event.data)


class _Told:
    """Results of calls that have no event of their own: an agent that ran outside of Inspect called the tools, or a
    limit ended the sample before the event was whole. A later request or the sample's last messages have them."""

    def __init__(self, sample: "EvalSample", solving: "Sequence[InspectEvent]") -> None:
        self._solving = solving
        self._called = {event.id for event in solving if event.event == "tool" and not event.pending}
        # Ids that a model gave twice tell nothing of which call a message answers.
        seen = Counter(message.tool_call_id for message in sample.messages if message.role == "tool")
        self._last = {
            message.tool_call_id: message
            for message in sample.messages
            if message.role == "tool" and message.tool_call_id and seen[message.tool_call_id] == 1
        }

    def after(self, place: int, call: ModelCall) -> Iterator[ToolCall]:
        missing = [request for request in call.reply.message.tool_calls if request.id not in self._called]
        if not missing:
            return
        following = (event for event in self._solving[place + 1 :] if event.event == "model")
        asked = next(following, None)
        read = {m.tool_call_id: m for m in (asked.input if asked else ()) if m.role == "tool"}
        for request in missing:
            # Some providers show an image apart from its result; the sample's own messages have it in place.
            message = self._last.get(request.id) or read.get(request.id)
            if message is not None:
                yield _told_call(message, request, at=call.at + call.seconds)


def _solving(events: "Iterable[InspectEvent]") -> "Iterator[InspectEvent]":
    """Those outside scorers: a model that grades is no part of the trial."""
    scoring: set[str] = set()
    steps = 0
    for event in events:
        if event.event == "span_begin" and (event.type in _SCORING or event.parent_id in scoring):
            scoring.add(event.id)
        elif event.event == "step" and event.type in _SCORING:
            # What older logs have in place of spans.
            steps += 1 if event.action == "begin" else -1
        elif not steps and event.span_id not in scoring:
            yield event


def _model_call(event: "ModelEvent", at: float, specs: Mapping[str, ToolSpec]) -> ModelCall | Failure:
    kept, seconds = ours(event.metadata), _seconds(event)
    if event.error or not event.output.choices:
        return Failure(
            at=at,
            seconds=seconds,
            boundary="model",
            code="model_call",
            message=clean_text(event.error or event.output.error or "the model gave no reply"),
        )
    return ModelCall(
        at=kept.get("at", at) if kept else at,
        seconds=kept.get("seconds", 0.0) if kept else seconds,
        purpose="final" if kept.get("purpose") == "final" else "ask",
        request=ModelRequest(
            messages=tuple(message_of(message) for message in event.input),
            tools=tuple(specs.get(tool.name) or spec_of(tool) for tool in event.tools),
            tool_choice=kept.get("tool_choice") or choice_of(event.tool_choice),
            parallel_tool_calls=event.config.parallel_tool_calls,
        ),
        reply=_reply(event.output, kept.get("reply")),
        cost_usd=kept.get("cost_usd") if kept else event.output.usage and event.output.usage.total_cost,
    )


def _reply(output: "ModelOutput", kept: Any) -> ModelReply:
    first, *others = output.choices
    if kept is not None:
        return ModelReply.model_validate({**kept, "message": message_of(first.message)})
    return ModelReply(
        message=message_of(first.message),
        finish_reason=_FINISHED.get(first.stop_reason, "other"),
        usage=usage_of(output.usage),
        model=clean_text(output.model),
        response_id=clean_text(output.response_id or ""),
        alternatives=tuple(message_of(choice.message) for choice in others),
        logprobs=json.loads(first.logprobs.model_dump_json(exclude_none=True)) if first.logprobs else None,
    )


def spec_of(tool: "ToolInfo") -> ToolSpec:
    return ToolSpec(
        name=tool.name, description=tool.description, parameters=tool.parameters.model_dump(exclude_none=True)
    )


def choice_of(choice: "ToolChoice") -> str:
    """As a condition of ours says it."""
    if isinstance(choice, str):
        return "required" if choice == "any" else choice
    return choice.name


def _tool_call(event: "ToolEvent", at: float) -> ToolCall:
    kept = ours(event.metadata)
    written = kept.get("arguments")
    return ToolCall.model_validate(
        {
            "at": at,
            "seconds": _seconds(event),
            "call": ToolRequest(
                id=clean_text(event.id),
                name=clean_text(event.function),
                arguments=written if isinstance(written, str) else clean_text(_json(event.arguments)),
            ),
            **_given(event.function, result_of(event.result), event.error, failed=bool(event.failed)),
            "truncated": event.truncated is not None,
            "artifacts": artifacts_of(event.result),
            **({"at": 0.0, "seconds": 0.0} if kept else {}),
            **{key: value for key, value in kept.items() if key != "arguments"},
        }
    )


def _told_call(message: "ChatMessageTool", request: ToolRequest, *, at: float) -> ToolCall:
    return ToolCall.model_validate(
        {
            "at": at,
            "call": request,
            **_given(request.name, text_of(message.content), message.error),
            "artifacts": artifacts_of(message.content),
        }
    )


def _given(tool: str, result: str, error: "ToolCallError | None", *, failed: bool = False) -> dict[str, str]:
    """Output, status and error of a call. Of one that went wrong without a result the model reads the message, and the
    kind of error, where it is one, tells the rest. One that `failed` without an error broke the tool."""
    if error is None:
        return {"output": result} | ({"status": "error"} if failed else {})
    said = clean_text(error.message)
    status = "invalid" if error.type == "parsing" else "error"
    if status == "invalid" and said == clean_text(_UNKNOWN_TOOL.format(tool)):
        return {"output": result or said, "status": status, "error": "unknown_tool"}
    kind = "" if error.type == _NO_KIND else error.type
    return {"output": result or said, "status": status, "error": said if result not in ("", said) else kind}


def _seconds(event: "ModelEvent | ToolEvent") -> float:
    """By the clock where it is known; else the time that was worked."""
    if event.completed is not None:
        return max(0.0, (event.completed - event.timestamp).total_seconds())
    return max(0.0, event.working_time or 0.0)


def from_messages(sample: "EvalSample") -> Iterator[Event]:
    before: list[Message] = []
    called: dict[str, ToolRequest] = {}
    for message in sample.messages:
        ours_now = message_of(message)
        if message.role == "assistant":
            reason: FinishReason = "tool_calls" if ours_now.tool_calls else "stop"
            yield ModelCall(
                at=0.0,
                request=ModelRequest(messages=tuple(before)),
                reply=ModelReply(message=ours_now, finish_reason=reason, model=clean_text(message.model or "")),
            )
            called |= {call.id: call for call in ours_now.tool_calls}
        elif message.role == "tool":
            named = clean_text(message.function or "tool")
            request = called.get(ours_now.tool_call_id)
            yield _told_call(
                message, request or ToolRequest(id=ours_now.tool_call_id, name=named, arguments="{}"), at=0.0
            )
        before.append(ours_now)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def first_request(sample: "EvalSample") -> "ModelEvent | None":
    """The first request to the model that was measured."""
    return next((event for event in _solving(sample.events) if event.event == "model"), None)
