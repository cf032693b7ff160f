"""A trial as spans of OpenInference."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from openinference.semconv.trace import (
    AnnotationAttributes,
    MessageAttributes,
    MessageContentAttributes,
    OpenInferenceMimeTypeValues,
    OpenInferenceSpanKindValues,
    SpanAttributes,
    ToolAttributes,
    ToolCallAttributes,
)

from toolablate.formats.exporting import Exported
from toolablate.formats.otlp.requests import Span, SpanEvent, Value, shown
from toolablate.traces.records import (
    MECHANISM_BOOK,
    Answer,
    Attribution,
    Event,
    Failure,
    LangChainModel,
    Message,
    Model,
    ModelCall,
    OpenAIModel,
    Rebuilt,
    Score,
    ServedModel,
    ToolCall,
    ToolSpec,
    Usage,
)


@dataclass(frozen=True, slots=True)
class _Annotation:
    name: str
    kind: Literal["CODE", "LLM", "HUMAN"]
    label: str | None
    score: float | None = None
    explanation: str = ""
    identifier: str = ""


def annotations(exported: Exported) -> Iterator[tuple[str, Value]]:
    for place, each in enumerate(_annotations(exported)):
        prefix = f"{SpanAttributes.ANNOTATIONS}.{place}"
        yield f"{prefix}.{AnnotationAttributes.ANNOTATION_NAME}", shown(each.name)
        yield f"{prefix}.{AnnotationAttributes.ANNOTATION_ANNOTATOR_KIND}", each.kind
        if each.label is not None:
            yield f"{prefix}.{AnnotationAttributes.ANNOTATION_LABEL}", each.label
        if each.score is not None:
            yield f"{prefix}.{AnnotationAttributes.ANNOTATION_SCORE}", float(each.score)
        if each.explanation:
            yield f"{prefix}.{AnnotationAttributes.ANNOTATION_EXPLANATION}", shown(each.explanation)
        if each.identifier:
            yield f"{prefix}.{AnnotationAttributes.ANNOTATION_IDENTIFIER}", shown(each.identifier)


def _annotations(exported: Exported) -> Iterator[_Annotation]:
    yield from map(_score, exported.scores)
    if exported.reasons.attribution is not None:
        yield _attribution("mechanism", exported.reasons.attribution)
    for hypothesis in exported.reasons.hypotheses:
        yield _attribution("mechanism (hypothesis)", hypothesis)
    for each in exported.diagnoses:
        yield _Annotation("type of error", "LLM", each.error_type, explanation=each.reason, identifier=each.judge)
    for label in exported.labels:
        of = "mechanism" if label.book == MECHANISM_BOOK else label.book
        said = ", ".join(label.said) or None
        yield _Annotation(f"{of} (label)", "HUMAN", said, explanation=label.note, identifier=label.person)


def _score(score: Score) -> _Annotation:
    said = "" if score.judgement is None else score.judgement.calls[-1].reply.message.content
    return _Annotation(
        score.scorer,
        "CODE" if score.judgement is None else "LLM",
        score.verdict,
        score.value,
        explanation=score.explanation or score.reason or said,
        identifier=f"version {score.scorer_version}",
    )


def _attribution(name: str, attribution: Attribution) -> _Annotation:
    kind: Literal["CODE", "LLM"] = "LLM" if attribution.method == "judge" else "CODE"
    return _Annotation(
        name, kind, attribution.mechanism, attribution.confidence, attribution.note, f"by {attribution.method}"
    )


# Messages and tools as OpenInference's attributes name them.


FIRST, LAST = 2, 98
"""Of the messages of a long request these are shown: what was asked, and what came last."""

Attributes = Iterator[tuple[str, Value]]


def input_messages(messages: Sequence[Message]) -> Attributes:
    """Those that are shown, and how many are not."""
    left_out = max(0, len(messages) - FIRST - LAST)
    kept = [*messages[:FIRST], *messages[-LAST:]] if left_out else messages
    for place, message in enumerate(kept):
        yield from _message(f"{SpanAttributes.LLM_INPUT_MESSAGES}.{place}", message)
    if left_out:
        yield "toolablate.messages_left_out", left_out


def output_message(message: Message) -> Attributes:
    yield from _message(f"{SpanAttributes.LLM_OUTPUT_MESSAGES}.0", message)


def offered(tools: Iterable[ToolSpec]) -> Attributes:
    for place, tool in enumerate(tools):
        schema = json.dumps({"type": "function", "function": tool.model_dump()}, ensure_ascii=False)
        yield f"{SpanAttributes.LLM_TOOLS}.{place}.{ToolAttributes.TOOL_JSON_SCHEMA}", shown(schema)


def _message(prefix: str, message: Message) -> Attributes:
    yield f"{prefix}.{MessageAttributes.MESSAGE_ROLE}", message.role
    if message.reasoning:
        parts = (("reasoning", message.reasoning), ("text", message.content))
        for place, (kind, text) in enumerate(part for part in parts if part[1]):
            part = f"{prefix}.{MessageAttributes.MESSAGE_CONTENTS}.{place}"
            yield f"{part}.{MessageContentAttributes.MESSAGE_CONTENT_TYPE}", kind
            yield f"{part}.{MessageContentAttributes.MESSAGE_CONTENT_TEXT}", shown(text)
    else:
        yield f"{prefix}.{MessageAttributes.MESSAGE_CONTENT}", shown(message.content)
    if message.tool_call_id:
        yield f"{prefix}.{MessageAttributes.MESSAGE_TOOL_CALL_ID}", shown(message.tool_call_id)
    for place, call in enumerate(message.tool_calls):
        part = f"{prefix}.{MessageAttributes.MESSAGE_TOOL_CALLS}.{place}"
        yield f"{part}.{ToolCallAttributes.TOOL_CALL_ID}", shown(call.id)
        yield f"{part}.{ToolCallAttributes.TOOL_CALL_FUNCTION_NAME}", shown(call.name)
        yield f"{part}.{ToolCallAttributes.TOOL_CALL_FUNCTION_ARGUMENTS_JSON}", shown(call.arguments)


# A trial as spans by the conventions of OpenInference: an AGENT, and below it LLM and TOOL spans in their order.


_JSON = OpenInferenceMimeTypeValues.JSON.value
_SPAN_KINDS = {
    "model_call": OpenInferenceSpanKindValues.LLM,
    "tool_call": OpenInferenceSpanKindValues.TOOL,
    "failure": OpenInferenceSpanKindValues.CHAIN,
    "rebuilt": OpenInferenceSpanKindValues.CHAIN,
}
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = 2**63 - 1


def spans_of(exported: Exported) -> Iterator[Span]:
    """The agent's span first. The same attempt at a trial gives the same ids, whenever it is asked."""
    trace, began = exported.trace, _nanoseconds(exported.trace.started_at)
    key = f"{exported.trial} {trace.attempt} {trace.started_at.isoformat()}"
    identity, root = _digest(key, 16), _digest(f"{key} agent", 8)
    failed = next((event for event in reversed(trace.events) if event.kind == "failure"), None)
    yield Span(
        *(identity, root, None),
        name=shown(f"{exported.called.question} · {exported.called.condition}"),
        begin=began,
        end=_later(began, max([trace.seconds, *(event.at + event.seconds for event in trace.events)])),
        attributes=dict(_agent(exported)),
        error=f"failed: {failed.code if failed else 'no reason'}" if trace.outcome == "failed" else None,
    )
    for seq, event in enumerate(trace.events):
        if not isinstance(event, Answer):
            begin = _later(began, event.at)
            yield Span(
                *(identity, _digest(f"{key} {seq}", 8), root),
                name=_name(event, exported.model),
                begin=begin,
                end=_later(begin, event.seconds),
                attributes={"toolablate.event": seq, **dict(_attributes(event, exported.model))},
                events=tuple(_exceptions(event, began)),
                error=_error(event),
            )


def _agent(exported: Exported) -> Iterator[tuple[str, Value]]:
    trace, called = exported.trace, exported.called
    simulated = exported.model.provider == "simulated"
    yield SpanAttributes.OPENINFERENCE_SPAN_KIND, OpenInferenceSpanKindValues.AGENT.value
    yield SpanAttributes.AGENT_NAME, shown(called.condition)
    yield SpanAttributes.SESSION_ID, exported.parent or exported.trial
    yield SpanAttributes.INPUT_VALUE, shown(exported.question.prompt)
    yield SpanAttributes.OUTPUT_VALUE, shown(trace.answer or "")
    yield SpanAttributes.TAG_TAGS, [shown(called.model), shown(called.condition), *(["SIMULATED"] if simulated else [])]
    facts: dict[str, str | int | None] = {
        "trial": exported.trial,
        "question": called.question,
        "model": called.model,
        "condition": called.condition,
        "repeat": trace.trial.repeat,
        "attempt": trace.attempt,
        "outcome": trace.outcome,
        "limit": next((event.limit for event in trace.events if event.kind == "answer"), None),
        "domain": exported.question.domain,
        "difficulty": exported.question.difficulty,
        "simulated": simulated,
        "parent": exported.parent,
    }
    known = {name: value for name, value in facts.items() if value not in (None, "")}
    for name, value in known.items():
        yield f"toolablate.{name}", shown(value) if isinstance(value, str) else value
    attribution = exported.reasons.attribution
    said = {
        "values": {score.scorer: score.value for score in exported.scores},
        "mechanism": None if attribution is None else attribution.mechanism,
    }
    yield SpanAttributes.METADATA, shown(json.dumps(known | said, ensure_ascii=False))
    yield from annotations(exported)


def _name(event: Event, model: Model) -> str:
    match event:
        case ModelCall():
            return shown(model.name)
        case ToolCall():
            return shown(event.call.name)
        case Failure():
            return f"{event.boundary} failed"
        case _:
            return "rebuilt"


def _attributes(event: Event, model: Model) -> Iterator[tuple[str, Value]]:
    yield SpanAttributes.OPENINFERENCE_SPAN_KIND, _SPAN_KINDS[event.kind].value
    match event:
        case ModelCall():
            yield from _model_call(event, model)
        case ToolCall():
            yield from _tool_call(event)
        case Failure():
            yield SpanAttributes.OUTPUT_VALUE, shown(event.message)
            yield "toolablate.code", shown(event.code)
            yield "toolablate.retried", event.retried
        case Rebuilt():
            yield "toolablate.calls", event.calls
            yield "toolablate.mismatches", len(event.mismatches)


def _model_call(event: ModelCall, model: Model) -> Iterator[tuple[str, Value]]:
    request, reply = event.request, event.reply
    yield SpanAttributes.LLM_MODEL_NAME, shown(reply.model or _wire_name(model))
    if isinstance(model, OpenAIModel) and model.is_openai:
        yield SpanAttributes.LLM_PROVIDER, "openai"
    yield SpanAttributes.LLM_INVOCATION_PARAMETERS, shown(json.dumps(_parameters(event, model), ensure_ascii=False))
    yield SpanAttributes.LLM_FINISH_REASON, reply.finish_reason
    yield SpanAttributes.INPUT_VALUE, shown(request.messages[-1].content if request.messages else "")
    yield SpanAttributes.OUTPUT_VALUE, shown(reply.message.content)
    yield from input_messages(request.messages)
    yield from output_message(reply.message)
    yield from offered(request.tools)
    yield from _tokens(reply.usage)
    if event.cost_usd is not None:
        yield SpanAttributes.LLM_COST_TOTAL, event.cost_usd
    yield "toolablate.purpose", event.purpose


def _wire_name(model: Model) -> str:
    return model.wire_name if isinstance(model, ServedModel) else model.name


def _parameters(event: ModelCall, model: Model) -> dict[str, object]:
    sampling: dict[str, object] = {}
    if isinstance(model, OpenAIModel):
        sampling = model.sampling.model_dump(mode="json", exclude_defaults=True)
    elif isinstance(model, LangChainModel):
        sampling = dict(model.kwargs)
    request = event.request.model_dump(include={"tool_choice", "parallel_tool_calls"}, exclude_none=True)
    return {**sampling, **(request if event.request.tools else {})}


def _tokens(usage: Usage) -> Iterator[tuple[str, Value]]:
    both = usage.input_tokens is not None and usage.output_tokens is not None
    counts = {
        SpanAttributes.LLM_TOKEN_COUNT_PROMPT: usage.input_tokens,
        SpanAttributes.LLM_TOKEN_COUNT_COMPLETION: usage.output_tokens,
        SpanAttributes.LLM_TOKEN_COUNT_TOTAL: (usage.input_tokens or 0) + (usage.output_tokens or 0) if both else None,
        SpanAttributes.LLM_TOKEN_COUNT_PROMPT_DETAILS_CACHE_READ: usage.cached_tokens,
        SpanAttributes.LLM_TOKEN_COUNT_PROMPT_DETAILS_CACHE_WRITE: usage.cache_write_tokens,
        SpanAttributes.LLM_TOKEN_COUNT_COMPLETION_DETAILS_REASONING: usage.reasoning_tokens,
    }
    yield from ((name, count) for name, count in counts.items() if count is not None)


def _tool_call(event: ToolCall) -> Iterator[tuple[str, Value]]:
    yield SpanAttributes.TOOL_NAME, shown(event.call.name)
    yield SpanAttributes.TOOL_ID, shown(event.call.id)
    yield SpanAttributes.TOOL_PARAMETERS, shown(event.call.arguments)
    yield SpanAttributes.INPUT_VALUE, shown(event.call.arguments)
    yield SpanAttributes.INPUT_MIME_TYPE, _JSON
    yield SpanAttributes.OUTPUT_VALUE, shown(event.output)
    yield "toolablate.status", event.status
    if event.by_provider:
        yield "toolablate.by_provider", True
    if event.changes:
        yield "toolablate.changes", [shown(change.intervention) for change in event.changes]
    if event.markers:
        yield "toolablate.markers", [marker.kind for marker in event.markers]
    if event.lookup is not None and event.lookup.miss is not None:
        yield "toolablate.miss", event.lookup.miss


def _error(event: Event) -> str | None:
    if isinstance(event, Failure):
        return shown(event.code)
    return shown(event.error or event.status) if isinstance(event, ToolCall) and event.status != "ok" else None


def _exceptions(event: Event, began: int) -> Iterator[SpanEvent]:
    """Of what failed, as OpenTelemetry tells of exceptions."""
    if isinstance(event, Failure):
        said = {"exception.type": shown(event.code), "exception.message": shown(event.message)}
        yield SpanEvent("exception", _later(began, event.at + event.seconds), said)


def _digest(text: str, size: int) -> bytes:
    return hashlib.sha256(f"toolablate span {text}".encode()).digest()[:size]


def _nanoseconds(when: datetime) -> int:
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0, (aware - _BEGINNING) // timedelta(microseconds=1) * 1000)


def _later(begin: int, seconds: float) -> int:
    return min(_LATEST, begin + round(min(seconds * 1e9, _LATEST)))
