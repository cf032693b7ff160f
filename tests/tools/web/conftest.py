import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.tools.web.roads import Roads
from tests.tools.web_server import WebServer

from toolablate.tools.web import FetchError, LiveHttpClient, WebPolicy

DATA = Path(os.environ.get("TOOLABLATE_DATA", Path(__file__).parents[4] / "shared" / "data"))
HOW_TO_GET_CASES = (
    "save url/resources/urltestdata.json of https://github.com/web-platform-tests/wpt under that name, "
    "and set TOOLABLATE_DATA to its folder"
)

Opening = Callable[..., LiveHttpClient]


@pytest.fixture
def policy(web: WebServer) -> WebPolicy:
    """Lets the test's server be asked as often as a test likes, within small limits."""
    return WebPolicy(
        wire_bytes=100_000,
        decoded_bytes=300_000,
        seconds=5.0,
        allow=frozenset({web.host}),
        robots=False,
        delay_seconds=0.0,
    )


@pytest.fixture
async def live() -> AsyncIterator[Opening]:
    """Opens live HTTP clients and closes them after the test."""
    opened: list[LiveHttpClient] = []

    def opening(policy: WebPolicy, **edges: Any) -> LiveHttpClient:
        opened.append(LiveHttpClient(policy, **edges))
        return opened[-1]

    yield opening
    for client in opened:
        await client.close()


@pytest.fixture
async def roads(monkeypatch: pytest.MonkeyPatch) -> Roads:
    roads, loop = Roads(), asyncio.get_running_loop()
    connect = loop.create_connection

    async def rerouted(protocol: Any, host: str, port: int, **options: Any) -> Any:
        assert roads.server
        roads.wanted.append((host, port))
        return await connect(protocol, roads.server.address, roads.server.port, **options)

    monkeypatch.setattr(loop, "create_connection", rerouted)
    return roads


@pytest.fixture
def url_cases() -> list[dict[str, Any]]:
    """The URL standard's own test cases; where they are absent it skips."""
    path = DATA / "wpt_urltestdata.json"
    if not path.exists():
        pytest.skip(f"{path.name} is not in {DATA}: {HOW_TO_GET_CASES}")
    return [case for case in json.loads(path.read_text(encoding="utf-8")) if isinstance(case, dict)]


@pytest.fixture
def failure() -> Callable[[Awaitable[object]], Awaitable[FetchError]]:
    """Awaits what is to fail, and returns how."""

    async def failed(attempt: Awaitable[object]) -> FetchError:
        with pytest.raises(FetchError) as raised:
            await attempt
        assert len(raised.value.message) < 700
        assert raised.value.message.isprintable()
        return raised.value

    return failed
