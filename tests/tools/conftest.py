import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.tools.web_server import WebServer

from toolablate.sandbox import jupyter as execution
from toolablate.tools import ToolResult, Toolset
from toolablate.traces.records import ToolRequest

Caller = Callable[..., Awaitable[ToolResult]]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells that a busy machine keeps from running get their own time, however long that takes."""
    monkeypatch.setattr(execution, "_MOST_TIMES", 1_000)


@pytest.fixture
async def web() -> AsyncIterator[WebServer]:
    async with WebServer().running() as server:
        yield server


@pytest.fixture
def call() -> Caller:
    async def call_tool(tools: Toolset, name: str, **arguments: Any) -> ToolResult:
        return await tools.call(ToolRequest(id="1", name=name, arguments=json.dumps(arguments)))

    return call_tool


DOCUMENTS = (
    {
        "id": "harmonic",
        "url": "https://example.org/harmonic",
        "title": "Harmonic series",
        "published": "2020-01-02",
        "text": "The harmonic series is the sum of the reciprocals of the integers. It diverges.\nIts partial sums grow like a logarithm.",
    },
    {
        "id": "geometric",
        "url": "https://www.example.org/geometric/",
        "title": "Geometric series",
        "text": "A geometric series converges if its ratio is smaller than one in absolute value.",
    },
    {
        "id": "zh",
        "url": "https://example.org/zh?id=1",
        "title": "调和级数",
        "text": "调和级数是发散的。几何级数在公比小于一时收敛。",
    },
)


@pytest.fixture
def corpus_file(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(json.dumps(document, ensure_ascii=False) for document in DOCUMENTS), encoding="utf-8")
    return path
