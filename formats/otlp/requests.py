"""Spans as the bodies of OTLP requests."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolablate.formats.exporting import Exported
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install
from toolablate.traces.records import clean_text

if TYPE_CHECKING:
    from opentelemetry.proto.common.v1.common_pb2 import KeyValue
    from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan

SHOWN_CHARACTERS = 100_000
"""Of one text in a span: collectors refuse requests of many megabytes."""

Value = str | bool | int | float | Sequence[str]


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """`at` is in nanoseconds since 1970."""

    name: str
    at: int
    attributes: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Span:
    """`trace` has 16 bytes, `id` and `parent` 8; `begin` and `end` are in nanoseconds since 1970. `error` says what
    went wrong, None where nothing did."""

    trace: bytes
    id: bytes
    parent: bytes | None
    name: str
    begin: int
    end: int
    attributes: Mapping[str, Value]
    events: tuple[SpanEvent, ...] = ()
    error: str | None = None


def shown(text: str) -> str:
    """As UTF-8 can carry it, and no longer than a span should be; what is left out is told."""
    left = len(text) - SHOWN_CHARACTERS
    if left <= 0:
        return clean_text(text)
    half = SHOWN_CHARACTERS // 2
    return clean_text(f"{text[:half]}\n[... {left:,} characters left out ...]\n{text[-half:]}")


# Spans as the bodies of OTLP requests.


REQUEST_SPANS = 512
REQUEST_BYTES = 4_000_000
"""A request is sent when it has so many spans or bytes."""

_LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class SpanRequest:
    """`body` is an ExportTraceServiceRequest. `trials` counts those whose last span is in it."""

    body: bytes
    spans: int
    trials: int


def require_otlp() -> None:
    """Raises InputError where what spans are made with is not installed."""
    try:
        import openinference.semconv.trace  # noqa: F401
        import opentelemetry.proto.collector.trace.v1.trace_service_pb2  # noqa: F401
    except ImportError:
        raise InputError("OpenTelemetry is not installed", hint=to_install("otlp"), code="no_otlp") from None


def span_requests(exported: Iterable[Exported], *, project: str, version: str) -> Iterator[SpanRequest]:
    """The spans of trials, in their order. `project` is what collectors file them under, `version` that of this
    program. Holds one request at a time."""
    from toolablate.formats.otlp.spans import spans_of

    waiting: list[WireSpan] = []
    size = trials = 0
    for each in exported:
        for span in spans_of(each):
            waiting.append(_span(span))
            size += waiting[-1].ByteSize()
            if len(waiting) >= REQUEST_SPANS or size >= REQUEST_BYTES:
                yield SpanRequest(_body(waiting, project, version), len(waiting), trials)
                waiting, size, trials = [], 0, 0
        trials += 1
    if waiting or trials:
        yield SpanRequest(_body(waiting, project, version), len(waiting), trials)


def thrown_away(response: bytes) -> tuple[int, str]:
    """How many spans a collector that took a request threw away, and why, by the body of its response."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    try:
        partial = ExportTraceServiceResponse.FromString(response).partial_success
    except DecodeError:
        return 0, ""
    return int(partial.rejected_spans), str(partial.error_message)


def _body(spans: "Iterable[WireSpan]", project: str, version: str) -> bytes:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans

    about = {"service.name": "toolablate", "service.version": version, "openinference.project.name": project}
    scope = InstrumentationScope(name="toolablate", version=version)
    of_scope = ScopeSpans(scope=scope, spans=spans)
    resource = Resource(attributes=[_pair(name, value) for name, value in about.items()])
    sent = ExportTraceServiceRequest(resource_spans=[ResourceSpans(resource=resource, scope_spans=[of_scope])])
    return bytes(sent.SerializeToString())


def _span(span: Span) -> "WireSpan":
    from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan
    from opentelemetry.proto.trace.v1.trace_pb2 import Status

    ended = Status(code=Status.STATUS_CODE_OK)
    return WireSpan(
        trace_id=span.trace,
        span_id=span.id,
        parent_span_id=span.parent or b"",
        name=span.name,
        kind=WireSpan.SPAN_KIND_INTERNAL,
        start_time_unix_nano=span.begin,
        end_time_unix_nano=span.end,
        attributes=[_pair(name, value) for name, value in span.attributes.items()],
        events=[_event(event) for event in span.events],
        status=ended if span.error is None else Status(code=Status.STATUS_CODE_ERROR, message=span.error),
    )


def _event(event: SpanEvent) -> "WireSpan.Event":
    from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan

    pairs = [_pair(name, value) for name, value in event.attributes.items()]
    return WireSpan.Event(name=event.name, time_unix_nano=event.at, attributes=pairs)


def _pair(name: str, value: Value) -> "KeyValue":
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue

    match value:
        case bool():
            found = AnyValue(bool_value=value)
        case int():
            found = AnyValue(int_value=max(-_LARGEST, min(value, _LARGEST - 1)))
        case float():
            found = AnyValue(double_value=value)
        case str():
            found = AnyValue(string_value=value)
        case _:
            found = AnyValue(array_value=ArrayValue(values=[AnyValue(string_value=each) for each in value]))
    return KeyValue(key=name, value=found)
