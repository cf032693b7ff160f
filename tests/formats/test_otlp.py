"""Trials as spans of OpenInference."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.formats.collector import Step, TestCollector, collecting, threw_away
from tests.formats.conftest import all_of
from tests.formats.stores import BARE, FAILED, HOSTILE, LONG, TOOLS
from tests.formats.test_jsonl import REASONS, called

from toolablate.formats.exporting import Exported
from toolablate.formats.otlp import requests, sending
from toolablate.formats.otlp.requests import SHOWN_CHARACTERS, Span, SpanRequest, span_requests
from toolablate.formats.otlp.spans import spans_of
from toolablate.traces.errors import ToolablateError
from toolablate.traces.records import Message, ModelCall, ModelReply, ModelRequest, Usage

pytest.importorskip("openinference.semconv.trace")
pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")


BEGAN = 1767323045678901000
SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def exported(store: Path) -> Mapping[str, Exported]:
    return {each.trial: each for each in all_of(store, REASONS)}


@pytest.fixture(scope="module")
def spans(exported: Mapping[str, Exported]) -> Sequence[Span]:
    return list(spans_of(exported[TOOLS.id]))


def sent(exported: Sequence[Exported]) -> list[SpanRequest]:
    return list(span_requests(exported, project="p", version="1"))


def read(request: SpanRequest) -> Any:
    (resource,) = ExportTraceServiceRequest.FromString(request.body).resource_spans
    return resource


def test_a_trial_is_an_agent_with_calls_below_it(spans: Sequence[Span]) -> None:
    agent, *below = spans
    assert agent.parent is None
    assert {span.parent for span in below} == {agent.id}
    assert {span.trace for span in spans} == {agent.trace}
    assert len({span.id for span in spans}) == len(spans)
    kinds = [span.attributes["openinference.span.kind"] for span in spans]
    assert kinds == ["AGENT", "CHAIN", "LLM", "TOOL", "LLM"]
    assert [span.name for span in spans] == ["q0 · python", "model failed", "gpt-x", "web/../search", "gpt-x"]
    assert [span.attributes["toolablate.event"] for span in below] == [0, 1, 2, 3]


def test_times_are_those_of_the_trace(spans: Sequence[Span]) -> None:
    assert (spans[0].begin, spans[0].end) == (BEGAN, BEGAN + 5 * SECOND)
    assert (spans[2].begin, spans[2].end) == (BEGAN + SECOND // 2, BEGAN + SECOND * 7 // 4)


def test_the_agent_says_what_the_trial_was_and_what_came_of_it(spans: Sequence[Span]) -> None:
    found = spans[0].attributes
    assert str(found["input.value"]).startswith("Question 0")
    assert found["output.value"] == "Answer: B"
    assert found["session.id"] == found["toolablate.trial"] == TOOLS.id
    assert found["tag.tags"] == ["gpt-x", "python"]
    facts = json.loads(str(found["metadata"]))
    assert (facts["outcome"], facts["limit"], facts["mechanism"]) == ("budget", "turns", "budget")
    assert facts["values"] == {"choice": 0.0, "judge[gpt-x@00000000]": 0.5}
    assert spans[0].error is None


def test_scores_attributions_and_labels_are_annotations(spans: Sequence[Span]) -> None:
    found = spans[0].attributes

    def annotation(place: int) -> tuple[Any, ...]:
        keys = ("name", "annotator_kind", "label", "score", "identifier")
        return tuple(found.get(f"annotations.{place}.annotation.{key}") for key in keys)

    assert annotation(0) == ("choice", "CODE", "wrong", 0.0, "version 1")
    assert annotation(1) == ("judge[gpt-x@00000000]", "LLM", "partial", 0.5, "version 1")
    assert annotation(2) == ("mechanism", "CODE", "budget", 0.5, "by trace")
    assert annotation(3) == ("mechanism (hypothesis)", "LLM", "sampling_noise", 0.1, "by judge")
    assert annotation(4) == ("type of error", "LLM", "knowledge", None, "reader@00000000")
    assert annotation(5) == ("mechanism (label)", "HUMAN", "lock_in", None, "Ada\u202e")
    assert annotation(6)[4] == "Bob"
    assert annotation(7) == (None,) * 5


def test_a_call_of_the_model_has_its_messages_tokens_and_tools(spans: Sequence[Span]) -> None:
    found = spans[2].attributes
    assert found["llm.model_name"] == "gpt-x-2026"
    assert found["llm.provider"] == "openai"
    assert json.loads(str(found["llm.invocation_parameters"])) == {"tool_choice": "auto"}
    assert found["llm.input_messages.0.message.role"] == "system"
    assert found["llm.input_messages.1.message.content"] == HOSTILE
    out = "llm.output_messages.0.message"
    assert (found[f"{out}.contents.0.message_content.type"], found[f"{out}.contents.1.message_content.text"]) == (
        *("reasoning", HOSTILE),
    )
    assert found[f"{out}.tool_calls.1.tool_call.function.name"] == "web/../search"
    assert str(found[f"{out}.tool_calls.0.tool_call.function.arguments"]).startswith('{"query": "éé')
    counts = {name.removeprefix("llm.token_count."): value for name, value in found.items() if ".token_count." in name}
    assert counts == {
        "prompt": 7,
        "completion": 5,
        "total": 12,
        "prompt_details.cache_read": 3,
        "prompt_details.cache_write": 2,
        "completion_details.reasoning": 1,
    }
    assert found["llm.cost.total"] == 0.25
    assert json.loads(str(found["llm.tools.0.tool.json_schema"]))["function"]["name"] == "python"
    later = spans[4].attributes
    assert later["llm.input_messages.3.message.tool_call_id"] == "call/0"
    assert not any("token_count" in name for name in later)


def test_a_call_of_a_tool_that_went_wrong_is_an_error(spans: Sequence[Span]) -> None:
    call = spans[3]
    assert call.attributes["tool.name"] == "web/../search"
    assert call.attributes["toolablate.miss"] == "not_in_archive"
    assert call.error == "ValueError"
    text = str(call.attributes["output.value"])
    assert text.startswith(LONG[:1000])
    assert f"[... {len(LONG) - SHOWN_CHARACTERS:,} characters left out ...]" in text
    assert len(text) < SHOWN_CHARACTERS + 100


def test_a_failure_is_an_exception_and_so_is_a_trial_that_failed(exported: Mapping[str, Exported]) -> None:
    agent, failure = spans_of(exported[FAILED.id])
    assert agent.error == "failed: gone"
    assert failure.error == "gone"
    (event,) = failure.events
    assert (event.name, event.attributes["exception.message"]) == ("exception", "no kernel")


def test_a_replay_is_in_the_session_of_its_parent(exported: Mapping[str, Exported]) -> None:
    (replay,) = (each for each in exported.values() if each.parent)
    agent, rebuilt = spans_of(replay)
    assert agent.attributes["session.id"] == TOOLS.id
    assert (rebuilt.name, rebuilt.attributes["toolablate.mismatches"]) == ("rebuilt", 1)


def test_ids_are_of_the_attempt_and_of_nothing_else(exported: Mapping[str, Exported]) -> None:
    one = exported[BARE.id]
    again = one.model_copy(update={"scores": (), "called": one.called.model_copy(update={"model": "other"})})
    assert [span.id for span in spans_of(one)] == [span.id for span in spans_of(again)]
    other = one.model_copy(update={"trace": one.trace.model_copy(update={"attempt": 2})})
    assert not {span.id for span in spans_of(one)} & {span.id for span in spans_of(other)}


def test_of_a_long_request_the_beginning_and_the_end_are_shown(exported: Mapping[str, Exported]) -> None:
    messages = tuple(Message(role="user", content=str(number)) for number in range(500))
    reply = ModelReply(message=Message(role="assistant", content="a\ud800"), finish_reason="stop")
    huge = ModelReply(**(dict(reply) | {"usage": Usage(input_tokens=10**30, output_tokens=1)}))
    call = ModelCall(at=1e300, request=ModelRequest(messages=messages), reply=huge)
    one = exported[BARE.id]
    one = one.model_copy(update={"trace": one.trace.model_copy(update={"events": (call,)})})
    _, found = spans_of(one)
    assert found.attributes["llm.input_messages.1.message.content"] == "1"
    assert found.attributes["llm.input_messages.2.message.content"] == "402"
    assert found.attributes["llm.input_messages.99.message.content"] == "499"
    assert found.attributes["toolablate.messages_left_out"] == 400
    assert found.attributes["output.value"] == "a\ufffd"
    (request,) = sent([one])
    (_, span) = read(request).scope_spans[0].spans
    tokens = {each.key: each.value.int_value for each in span.attributes}
    assert tokens["llm.token_count.prompt"] == 2**63 - 1


def test_requests_hold_all_spans_in_their_order(
    exported: Mapping[str, Exported], monkeypatch: pytest.MonkeyPatch
) -> None:
    (whole,) = sent(list(exported.values()))
    assert whole.trials == 5
    resource = read(whole).resource
    about = {each.key: each.value.string_value for each in resource.attributes}
    assert about == {"service.name": "toolablate", "service.version": "1", "openinference.project.name": "p"}
    monkeypatch.setattr(requests, "REQUEST_SPANS", 3)
    parts = sent(list(exported.values()))
    assert len(parts) > 3
    assert sum(part.trials for part in parts) == 5
    assert sum(part.spans for part in parts) == whole.spans
    wire = [span for part in parts for span in read(part).scope_spans[0].spans]
    assert wire == list(read(whole).scope_spans[0].spans)
    assert wire[0].status.code == 1
    assert len(wire[0].trace_id) == 16
    assert len(wire[0].span_id) == 8


# `toolablate export otlp`, against a collector that really listens.


pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")


SECRET = "sk-very-secret-0123456789"


@pytest.fixture
def collector() -> Iterator[TestCollector]:
    with collecting() as found:
        yield found


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long it would have waited."""
    found: list[float] = []
    monkeypatch.setattr(sending.time, "sleep", found.append)
    return found


def refused(*arguments: str | Path) -> str:
    result = called("otlp", *arguments)
    assert isinstance(result.exception, ToolablateError), result.output
    assert SECRET not in str(result.exception) + result.output
    return f"{result.exception}\n{result.stderr}"


def test_every_span_arrives_and_sent_again_they_are_the_same(store: Path, collector: TestCollector) -> None:
    header = f"api-key={SECRET}=="
    result = called("otlp", store, "--endpoint", collector.url, "--header", header, "--replays")
    assert result.exit_code == 0, result.output
    assert SECRET not in result.output
    assert "spans of 5 trials sent to" in result.stderr
    first = collector.spans
    assert len({span.trace_id for span in first}) == 5
    assert collector.headers[0]["api-key"] == f"{SECRET}=="
    assert collector.headers[0]["content-type"] == "application/x-protobuf"
    assert called("otlp", store, "--endpoint", collector.url, "--replays").exit_code == 0
    assert collector.spans[len(first) :] == first
    about = {each.key: each.value.string_value for each in collector.taken[0].resource_spans[0].resource.attributes}
    assert about["openinference.project.name"] == store.stem


def test_a_busy_collector_is_asked_again(store: Path, collector: TestCollector, waits: list[float]) -> None:
    collector.steps = [Step(503), Step(429, headers={"retry-after": "7"}), Step(502)]
    result = called("otlp", store, "--endpoint", collector.url, "--no-attributions")
    assert result.exit_code == 0, result.output
    assert waits == [0.5, 7, 2]
    assert len(collector.taken) == 1


def test_what_is_refused_says_how_far_it_came_and_quotes_no_key(
    store: Path, collector: TestCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "REQUEST_SPANS", 7)
    collector.steps = [Step(), Step(401, body=b"no \x1b[31mkey ", echo="authorization")]
    message = refused(store, "--endpoint", collector.url, "--header", f"authorization={SECRET}", "--no-attributions")
    assert "refuses spans: HTTP 401: no key [key]" in message
    assert "the collector wants a key" in message
    assert "7 spans of 1 trial sent to http://" in message


def test_a_collector_that_stays_busy_or_leads_elsewhere_is_given_up(
    store: Path, collector: TestCollector, waits: list[float]
) -> None:
    collector.steps = [Step(503)] * sending.TRIES
    assert "refuses spans: HTTP 503" in refused(store, "--endpoint", collector.url, "--no-attributions")
    assert waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    collector.steps = [Step(307, headers={"location": "http://127.0.0.1:1/"})]
    assert "it leads elsewhere" in refused(store, "--endpoint", collector.url, "--no-attributions")
    assert collector.taken == []


def test_a_page_that_answers_is_no_collector(store: Path, collector: TestCollector) -> None:
    collector.steps = [Step(200, body=b"<!doctype html>", headers={"content-type": "text/html; charset=utf-8"})]
    message = refused(store, "--endpoint", collector.url, "--no-attributions")
    assert "answers with a page: it takes no spans" in message
    assert "0 spans of 0 trials sent" in message


def test_a_collector_that_is_not_there_is_named(store: Path, waits: list[float]) -> None:
    message = refused(store, "--endpoint", "http://127.0.0.1:9/v1/traces", "--no-attributions")
    assert "http://127.0.0.1:9/v1/traces cannot be reached" in message
    assert "0 spans of 0 trials sent" in message
    assert waits == []


def test_a_connection_that_breaks_on_the_way_is_made_again(
    store: Path, collector: TestCollector, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "REQUEST_SPANS", 7)
    collector.steps = [Step(), Step(status=0)]
    result = called("otlp", store, "--endpoint", collector.url, "--no-attributions")
    assert result.exit_code == 0, result.output
    assert waits == [0.5]
    assert len({span.trace_id for span in collector.spans}) == 4


def test_spans_that_are_thrown_away_are_told(store: Path, collector: TestCollector) -> None:
    collector.steps = [threw_away(2, "too \x1b[31mold")]
    result = called("otlp", store, "--endpoint", collector.url, "--no-attributions")
    assert result.exit_code == 1
    assert "The collector threw away 2 spans: too old" in result.stderr


def test_headers_of_the_environment_are_sent(
    store: Path, collector: TestCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"authorization=Bearer%20{SECRET},x=1")
    assert called("otlp", store, "--endpoint", collector.url, "--header", "x=2", "--no-attributions").exit_code == 0
    assert (collector.headers[0]["authorization"], collector.headers[0]["x"]) == (f"Bearer {SECRET}", "2")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", SECRET)
    assert "OTEL_EXPORTER_OTLP_HEADERS: there is one" in refused(store, "--endpoint", collector.url)


@pytest.mark.parametrize("header", ["novalue", f"a b={SECRET}", f"x={SECRET}\n", "x=", f"x={SECRET}é"])
def test_a_header_that_is_none_is_refused_without_its_value(store: Path, header: str) -> None:
    assert "--header: " in refused(store, "--endpoint", "http://127.0.0.1:9/", "--header", header)


@pytest.mark.parametrize(
    "endpoint", ["127.0.0.1:6006", "ftp://a/", f"http://me:{SECRET}@a/", f"http://a/?key={SECRET}", "http://"]
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused(store: Path, endpoint: str) -> None:
    assert "--endpoint: no address" in refused(store, "--endpoint", endpoint)
