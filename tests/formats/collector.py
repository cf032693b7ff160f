"""A collector of spans on 127.0.0.1, that answers as real ones do."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass(frozen=True)
class Step:
    """What happens to one request: a reply, or none where `status` is 0; `echo` names a header that the body quotes."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    echo: str = ""


def threw_away(count: int, reason: str) -> Step:
    partial = ExportTracePartialSuccess(rejected_spans=count, error_message=reason)
    return Step(body=ExportTraceServiceResponse(partial_success=partial).SerializeToString())


@dataclass
class TestCollector:
    """`steps` happen to the first requests; after them everything is taken."""

    __test__ = False

    url: str = ""
    steps: list[Step] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    taken: list[ExportTraceServiceRequest] = field(default_factory=list)

    @property
    def spans(self) -> list[Span]:
        return [
            span
            for request in self.taken
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@contextmanager
def collecting() -> Iterator[TestCollector]:
    collector = TestCollector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            collector.headers.append({name.lower(): value for name, value in self.headers.items()})
            step = collector.steps.pop(0) if collector.steps else Step()
            if step.status == 200:
                collector.taken.append(ExportTraceServiceRequest.FromString(body))
            if not step.status:
                self.close_connection = True
                return
            self.send_response(step.status)
            said = step.body + self.headers.get(step.echo, "").encode()
            for name, value in {"content-length": str(len(said)), **step.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    collector.url = f"http://127.0.0.1:{server.server_address[1]}/v1/traces"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
