"""`toolablate export otlp`, against a collector that really listens."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.test_export_jsonl import called, store

pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")

from tests.formats.exports.collector import Step, TestCollector, collecting, threw_away

from toolablate.formats.otlp import requests, sending
from toolablate.traces.errors import ToolablateError

__all__ = ["store"]

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
