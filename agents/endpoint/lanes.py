"""The HTTP clients of one endpoint.

A client looks through all its connections at each request, so that many requests in flight cost more than the sum of
them: 1.23 ms of CPU for one of 500 on one client, 0.58 ms where no client has more than 16 (Python 3.11). So
there are several, and a new one only when all are full.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx2

from toolablate import __version__
from toolablate.agents.endpoint.environment import open_certificates, require_proxies
from toolablate.agents.pacing.waits import watched_sending
from toolablate.traces.records import OpenAIModel

_PER_LANE = 16


@dataclass(slots=True)
class _Lane:
    client: httpx2.AsyncClient
    in_flight: int = 0


class RefusedError(Exception):
    """An answer that is no success, and the beginning of its body."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        super().__init__(status)
        self.status, self.headers, self.body = status, headers, body


class Lanes:
    """`most_bytes` is how much of a refusal is read. Raises InputError where the environment names proxies or
    certificates that cannot be used."""

    def __init__(self, model: OpenAIModel, key: str, *, most_bytes: int) -> None:
        self._model = model
        self._most_bytes = most_bytes
        require_proxies()
        # Reading the machine's certificates takes 15 ms; all lanes share them.
        self._certificates = open_certificates()
        self._lanes: list[_Lane] = []
        self._headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": f"toolablate/{__version__}",
        }
        if key:
            self._headers["Authorization"] = f"Bearer {key}"

    @asynccontextmanager
    async def post(self, path: str, content: bytes) -> AsyncIterator[httpx2.Response]:
        """The response to a JSON body, unread. Raises RefusedError, what httpx2 raises, and ssl.SSLError."""
        lane = next((lane for lane in self._lanes if lane.in_flight < _PER_LANE), None)
        if lane is None:
            lane = _Lane(self._open())
            self._lanes.append(lane)
        lane.in_flight += 1
        try:
            async with lane.client.stream("POST", path, content=content) as response:
                if not response.is_success:
                    raise await self._refusal(response)
                yield response
        finally:
            lane.in_flight -= 1

    async def close(self) -> None:
        for lane in self._lanes:
            await lane.client.aclose()

    def _open(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            base_url=self._model.endpoint,
            headers=self._headers,
            timeout=self._model.timeout_seconds,
            verify=self._certificates,
            event_hooks={"request": [_watch]},
            # Questions and conversations go to no other place than the plan's, and after a redirect a request
            # would be another one: without its key, or a GET without its body.
            follow_redirects=False,
            # What an endpoint remembers of one trial must not reach the next.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        )

    async def _refusal(self, response: httpx2.Response) -> RefusedError:
        body = b""
        async for part in response.aiter_bytes():
            body += part
            if len(body) >= self._most_bytes:
                break
        return RefusedError(response.status_code, dict(response.headers), body[: self._most_bytes])


async def _watch(request: httpx2.Request) -> None:
    """Tells who wants to know when the request has been written."""
    told = watched_sending()
    if told is None:
        return

    async def trace(event: str, _info: Mapping[str, Any]) -> None:
        if event.endswith("send_request_body.complete"):
            told()

    request.extensions["trace"] = trace
