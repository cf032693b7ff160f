"""Trials as spans of OpenInference, and these as requests of OTLP."""

from toolablate.formats.exports.spans.requests import SpanRequest, require_otlp, span_requests, thrown_away
from toolablate.formats.exports.spans.span import Span, SpanEvent

__all__ = ["Span", "SpanEvent", "SpanRequest", "require_otlp", "span_requests", "thrown_away"]
