"""A trial as a sample of Inspect, with its messages, events and scores."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from inspect_ai.event import ErrorEvent, Event, InfoEvent, ModelEvent, ToolEvent
from inspect_ai.log import EvalError, EvalSample, EvalSampleLimit
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.scorer import Value
from inspect_ai.tool import ToolCall as InspectCall
from inspect_ai.tool import ToolCallError, ToolChoice, ToolFunction, ToolInfo, ToolParams

from toolablate.formats.exporting import Exported
from toolablate.formats.inspect.export_logs import COUNTED, KEY
from toolablate.traces.records import (
    Answer,
    Message,
    ModelCall,
    ModelRequest,
    Picture,
    Question,
    Score,
    ToolCall,
    ToolSpec,
    Trace,
    Usage,
    digest_json,
)
from toolablate.traces.records.pictures import order_of, parts_of


class Messages:
    """One message of Inspect for each of ours, so that a log holds what requests repeat once."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._known: dict[str, ChatMessage] = {}
        self._called: dict[str, str] = {}

    def of(self, message: Message) -> ChatMessage:
        key = digest_json(message.model_dump(mode="json", exclude_defaults=True))
        if key not in self._known:
            self._called |= {call.id: call.name for call in message.tool_calls}
            self._known[key] = self._made(message, key)
        return self._known[key]

    def all_of(self, messages: Iterable[Message]) -> list[ChatMessage]:
        return [self.of(message) for message in messages]

    def reply(self, message: Message) -> ChatMessageAssistant:
        made = self.of(message)
        assert isinstance(made, ChatMessageAssistant)
        return made

    def _made(self, message: Message, key: str) -> ChatMessage:
        said: dict[str, Any] = {"id": key, "content": _content(message), "metadata": _kept_of_message(message)}
        if message.role == "system":
            return ChatMessageSystem(**said)
        if message.role == "user":
            return ChatMessageUser(**said)
        if message.role == "tool":
            function = self._called.get(message.tool_call_id)
            return ChatMessageTool(**said, tool_call_id=message.tool_call_id, function=function)
        calls = [tool_call(call.id, call.name, call.arguments) for call in message.tool_calls]
        return ChatMessageAssistant(**said, tool_calls=calls or None, model=self._model, source="generate")


def _content(message: Message) -> str | list[Content]:
    if message.images:
        return [_part(part) for part in parts_of(message.content, message.images)]
    if not message.reasoning:
        return message.content
    thought = ContentReasoning(reasoning=message.reasoning)
    return [thought, ContentText(text=message.content)] if message.content else [thought]


def _part(part: str | Picture) -> Content:
    return ContentText(text=part) if isinstance(part, str) else ContentImage(image=part.url)


def _kept_of_message(message: Message) -> dict[str, Any] | None:
    kept: dict[str, Any] = message.model_dump(mode="json", include={"reasoning_key", "items"}, exclude_defaults=True)
    if message.images:
        # Which picture stands where; the text is that of all parts.
        kept["images"] = order_of(message.content, len(message.images))
    odd = {call.id: call.arguments for call in message.tool_calls if _read(call.arguments)[1] != call.arguments}
    if odd:
        kept["arguments"] = odd
    return {KEY: kept} if kept else None


def tool_call(identity: str, name: str, arguments: str) -> InspectCall:
    read, _ = _read(arguments)
    broken = None if read is not None else "the arguments are no JSON object"
    return InspectCall(id=identity, function=name, arguments=read or {}, parse_error=broken)


def arguments_of(arguments: str) -> tuple[dict[str, Any], bool]:
    """As an object, and whether that tells all of the text that the model wrote."""
    read, written = _read(arguments)
    return read or {}, written == arguments


def _read(arguments: str) -> tuple[dict[str, Any] | None, str]:
    """The object, None where the text holds none, and the text that an import makes of it."""
    try:
        read = json.loads(arguments)
    except (ValueError, RecursionError):
        return None, "{}"
    return (read, json.dumps(read, ensure_ascii=False)) if isinstance(read, dict) else (None, "{}")


def usage_of(usage: Usage) -> ModelUsage | None:
    """Inspect counts what came from a cache or went there apart; None where nothing is known."""
    if usage.input_tokens is None and usage.output_tokens is None:
        return None
    cached, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
    read, output = usage.input_tokens or 0, usage.output_tokens or 0
    return ModelUsage(
        input_tokens=max(0, read - cached - written),
        output_tokens=output,
        total_tokens=read + output,
        input_tokens_cache_read=usage.cached_tokens,
        input_tokens_cache_write=usage.cache_write_tokens,
        reasoning_tokens=usage.reasoning_tokens,
    )


# Our events as Inspect's.


_STOPPED = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "length": "max_tokens",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "paused": "unknown",
    "other": "unknown",
}
_PLACED = {"at", "seconds"}
_SHOWN_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


class Events:
    """The events of one trace, in their order; an answer is the sample's output and no event there."""

    def __init__(self, trace: Trace, model: str) -> None:
        self._trace = trace
        self._model = model
        self.messages = Messages(model)

    def __iter__(self) -> Iterator[Event]:
        for place, event in enumerate(self._trace.events):
            began = self._trace.started_at + timedelta(seconds=event.at)
            placed = {
                "uuid": f"{self._trace.trial.id}-{place}",
                "timestamp": began,
                "working_start": event.at,
            }
            done = {"completed": began + timedelta(seconds=event.seconds), "working_time": event.seconds}
            if isinstance(event, ModelCall):
                yield self._model_event(event, placed | done)
            elif isinstance(event, ToolCall):
                yield _tool_event(event, placed | done)
            elif not isinstance(event, Answer):
                yield InfoEvent(**placed, source=KEY, data=event.model_dump(mode="json", exclude_defaults=True))
        if (error := error_of(self._trace)) is not None:
            yield ErrorEvent(uuid=f"{self._trace.trial.id}-error", timestamp=self._ended(), error=error)

    def _ended(self) -> datetime:
        return self._trace.started_at + timedelta(seconds=self._trace.seconds)

    def _model_event(self, event: ModelCall, placed: dict[str, Any]) -> ModelEvent:
        request = event.request
        return ModelEvent(
            **placed,
            model=self._model,
            input=self.messages.all_of(request.messages),
            tools=[tool_info(tool) for tool in request.tools],
            tool_choice=_choice(request),
            config=GenerateConfig(parallel_tool_calls=request.parallel_tool_calls),
            output=self.output_of(event),
            metadata={KEY: _kept_of_call(event)},
        )

    def output_of(self, event: ModelCall) -> ModelOutput:
        reply = event.reply
        stopped: Any = _STOPPED[reply.finish_reason]
        usage = usage_of(reply.usage)
        if usage is not None:
            usage.total_cost = event.cost_usd
        return ModelOutput(
            model=reply.model or self._model,
            choices=[
                ChatCompletionChoice(message=self.messages.reply(message), stop_reason=stopped)
                for message in (reply.message, *reply.alternatives)
            ],
            usage=usage,
            time=event.seconds,
            response_id=reply.response_id or None,
        )


def _kept_of_call(event: ModelCall) -> dict[str, Any]:
    reply = event.reply.model_dump(mode="json", exclude_defaults=True, exclude={"message"})
    kept = event.model_dump(mode="json", include={*_PLACED, "purpose", "cost_usd"}, exclude_defaults=True)
    return kept | {"reply": reply, "tool_choice": event.request.tool_choice}


def tool_info(tool: ToolSpec) -> ToolInfo:
    """As far as Inspect knows the schema of its parameters."""
    try:
        parameters = ToolParams.model_validate(tool.parameters)
    except ValueError:
        parameters = ToolParams()
    return ToolInfo(name=tool.name, description=tool.description, parameters=parameters)


def _choice(request: ModelRequest) -> ToolChoice:
    match request.tool_choice:
        case "auto" | "none" as choice:
            return choice
        case "required":
            return "any"
        case name:
            return ToolFunction(name)


def _tool_event(event: ToolCall, placed: dict[str, Any]) -> ToolEvent:
    arguments, whole = arguments_of(event.call.arguments)
    kept = event.model_dump(mode="json", exclude={"kind", "call", "output", "artifacts"}, exclude_defaults=True)
    if not whole:
        kept["arguments"] = event.call.arguments
    if event.artifacts:
        kept |= {"output": event.output, "artifacts": [each.model_dump() for each in event.artifacts]}
    return ToolEvent(
        **placed,
        id=event.call.id,
        function=event.call.name,
        arguments=arguments,
        result=_result(event),
        error=_tool_error(event),
        failed=True if event.status != "ok" else None,
        metadata={KEY: kept | {"status": event.status, "error": event.error, "truncated": event.truncated}},
    )


def _result(event: ToolCall) -> str | list[Content]:
    images = [each for each in event.artifacts if each.mime in _SHOWN_IMAGES]
    if not images:
        return event.output
    shown: list[Content] = [ContentText(text=event.output)]
    shown += [ContentImage(image=f"data:{each.mime};base64,{each.data}") for each in images]
    return shown


def _tool_error(event: ToolCall) -> ToolCallError | None:
    if event.status == "ok":
        return None
    return ToolCallError("parsing" if event.status == "invalid" else "unknown", event.error or event.output)


def error_of(trace: Trace) -> EvalError | None:
    """What spoiled a trial that failed."""
    if trace.outcome != "failed":
        return None
    failure = next((event for event in reversed(trace.events) if event.kind == "failure"), None)
    said = "the trial failed" if failure is None else f"{failure.boundary}: {failure.code}: {failure.message}"
    return EvalError(message=said, traceback="", traceback_ansi="")


# A trial as a sample of Inspect.


_LIMITS = {
    "turns": "turn",
    "messages": "message",
    "tool_calls": "custom",
    "tokens": "token",
    "cost_usd": "cost",
    "seconds": "time",
    "reply_length": "context",
    "context_length": "context",
}


def sample_of(exported: Exported, scores: Mapping[str, Score]) -> EvalSample:
    """Its scores, by the names that they have there, with verdict and what was read, and why it went as it did among
    its metadata."""
    trace, question = exported.trace, exported.question
    events = Events(trace, exported.called.model)
    made = list(events)
    last = next((event for event in reversed(trace.events) if isinstance(event, ModelCall)), None)
    usage = usage_of(trace.usage)
    if usage is not None:
        usage.total_cost = trace.cost_usd
    ended = trace.started_at + timedelta(seconds=trace.seconds)
    return EvalSample(
        id=exported.called.question,
        epoch=trace.trial.repeat + 1,
        input=_asked(question),
        choices=list(question.choices) or None,
        target=target_of(question),
        messages=events.messages.all_of((*last.request.messages, last.reply.message) if last else ()),
        output=events.output_of(last) if last else ModelOutput(model=exported.called.model),
        scores={name: score_of(score) for name, score in scores.items()} or None,
        metadata=_metadata(exported),
        events=made,
        model_usage={exported.called.model: usage} if usage else {},
        started_at=trace.started_at.isoformat(),
        completed_at=ended.isoformat(),
        total_time=trace.seconds,
        working_time=trace.seconds,
        uuid=exported.trial,
        error=error_of(trace),
        limit=_limit(trace),
        turn_count=sum(isinstance(event, ModelCall) for event in trace.events),
    )


def _asked(question: Question) -> str | list[ChatMessage]:
    if not question.images:
        return question.prompt
    return [ChatMessageUser(content=_content(Message(role="user", content=question.prompt, images=question.images)))]


def target_of(question: Question) -> str | list[str]:
    target = question.target
    match target.kind:
        case "choice":
            return target.letters[0] if len(target.letters) == 1 else list(target.letters)
        case "number":
            return f"{target.value:.15g}"
        case "spans":
            return list(target.stated)
        case "reference":
            return target.answer
        case "text" | "math":
            return target.answers[0] if len(target.answers) == 1 else list(target.answers)
        case "regex":
            return target.pattern
        case "checklist":
            return [f"{item.name}: {item.reference or 'N/A'}" for item in target.items]
        case "code":
            return target.tests[0] if len(target.tests) == 1 else list(target.tests)


def scores_told(exported: Exported, counting: Sequence[str] = ()) -> dict[str, Score]:
    """By the name of a scorer, the first that of the score that counts, since Inspect shows the first; where several
    are `counting`, theirs is one. Those of an older version of a scorer are told by no log."""
    newest = {score.scorer: score for score in sorted(exported.scores, key=lambda score: score.scorer_version)}
    first = [name for name in counting if name in newest]
    ordered = {name: newest[name] for name in dict.fromkeys((*first, *newest))}
    if len(counting) < 2 or not first or COUNTED in (*counting, *newest):
        return ordered
    # Of two scorers of a run the first counts for a trial; what else was said of it stays under its own name.
    return {COUNTED: ordered.pop(first[0]), **ordered}


def score_of(score: Score) -> InspectScore:
    """What is not scored has the value that Inspect leaves out of averages."""
    kept = score.model_dump(mode="json", exclude_defaults=True, exclude={"trial", "target"})
    return InspectScore(
        value=_value(score),
        answer=", ".join(score.extracted) or None,
        explanation=score.explanation or score.reason or None,
        reason="invalid_response_format" if score.verdict == "unparsed" else None,
        metadata=score.metadata | {"verdict": score.verdict, "extracted": list(score.extracted), KEY: {"score": kept}},
    )


def _value(score: Score) -> Value:
    if score.value is None:
        return float("nan")
    return {"correct": "C", "wrong": "I", "unparsed": "N"}.get(score.verdict, score.value)


def _limit(trace: Trace) -> EvalSampleLimit | None:
    last = next(reversed(trace.events), None)
    if trace.outcome != "budget" or not isinstance(last, Answer):
        return None
    kind: Any = _LIMITS.get(last.limit or "", "custom")
    return EvalSampleLimit(type=kind, limit=0, reason=last.limit_note or last.limit)


def _metadata(exported: Exported) -> dict[str, Any]:
    question, reasons = exported.question, exported.reasons
    facts = {
        "trial": exported.trial,
        "condition": exported.called.condition,
        "repeat": exported.trace.trial.repeat,
        "outcome": exported.trace.outcome,
        "domain": question.domain,
        "difficulty": question.difficulty,
        "attribution": reasons.attribution
        and reasons.attribution.model_dump(mode="json", exclude={"version", "trial"}),
        "hypotheses": [each.model_dump(mode="json", exclude={"version", "trial"}) for each in reasons.hypotheses],
        "labels": [each.model_dump(mode="json", exclude={"version", "trial"}) for each in exported.labels],
    }
    return {name: value for name, value in facts.items() if value not in ("", None, [])} | {KEY: _kept(exported)}


def _kept(exported: Exported) -> dict[str, Any]:
    """What an import makes the same trace of again."""
    trace = exported.trace
    specs = {
        tool.name: tool.model_dump(mode="json")
        for event in trace.events
        if isinstance(event, ModelCall)
        for tool in event.request.tools
    }
    return {
        "question": exported.question.model_dump(mode="json", exclude_defaults=True),
        "environment": trace.environment.model_dump(mode="json", exclude_defaults=True),
        "outcome": trace.outcome,
        "usage": trace.usage.model_dump(mode="json", exclude_defaults=True),
        "cost_usd": trace.cost_usd,
        "tools": list(specs.values()),
        "answer": next((_dumped(event) for event in trace.events if isinstance(event, Answer)), None),
    }


def _dumped(event: Answer) -> dict[str, Any]:
    return event.model_dump(mode="json", exclude_defaults=True)
