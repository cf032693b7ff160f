"""The SDK's clients of one endpoint.

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
from openai import AsyncOpenAI, AsyncStream, DefaultAsyncHttpxClient, Omit
from openai._types import RequestOptions

from toolablate.agents.endpoint.environment import open_certificates, require_proxies
from toolablate.agents.pacing.waits import watched_sending
from toolablate.traces.records import OpenAIModel

_PER_LANE = 16


@dataclass(slots=True)
class _Lane:
    client: AsyncOpenAI
    in_flight: int = 0


class RefusedError(Exception):
    """An answer that is no success, before the SDK reads it: it would read a body of any size."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        super().__init__(status)
        self.status, self.headers, self.body = status, headers, body


class Lanes:
    """`most_bytes` is how much of a refusal is read. Raises InputError where the environment names proxies or
    certificates that cannot be used."""

    def __init__(self, model: OpenAIModel, key: str, *, most_bytes: int) -> None:
        self._model = model
        self._key = key
        self._most_bytes = most_bytes
        require_proxies()
        # Reading the machine's certificates takes 15 ms; all lanes share them.
        self._certificates = open_certificates()
        self._lanes: list[_Lane] = []
        # All that it knows anyhow is told the client at each request, since it would copy its own defaults deeply.
        # Without a key no Authorization is sent, whatever the client would have found in the environment.
        self._options: RequestOptions = {
            "headers": {} if key else {"Authorization": Omit()},
            "security": {"bearer_auth": True},
            "timeout": model.timeout_seconds,
            "max_retries": 0,
        }

    @asynccontextmanager
    async def post(self, path: str, content: bytes) -> AsyncIterator[httpx2.Response]:
        """The response to a JSON body, unread. Raises RefusedError, what openai raises, and what httpx2 raises."""
        lane = next((lane for lane in self._lanes if lane.in_flight < _PER_LANE), None)
        if lane is None:
            lane = _Lane(self._open())
            self._lanes.append(lane)
        lane.in_flight += 1
        try:
            # The typed methods of the SDK walk through each message of the body, at a third of the cost of a call.
            response = await lane.client.post(
                path,
                cast_to=httpx2.Response,
                content=content,
                options=self._options,
                stream=True,
                stream_cls=AsyncStream[Any],
            )
            assert isinstance(response, httpx2.Response)
            try:
                yield response
            finally:
                await response.aclose()
        finally:
            lane.in_flight -= 1

    async def close(self) -> None:
        for lane in self._lanes:
            await lane.client.close()

    def _open(self) -> AsyncOpenAI:
        client = AsyncOpenAI(
            api_key=self._key,
            base_url=self._model.endpoint,
            max_retries=0,
            timeout=self._model.timeout_seconds,
            http_client=DefaultAsyncHttpxClient(
                timeout=self._model.timeout_seconds,
                verify=self._certificates,
                event_hooks={"request": [_watch], "response": [self._refuse]},
                # Questions and conversations go to no other place than the plan's, and after a redirect a request
                # would be another one: without its key, or a GET without its body.
                follow_redirects=False,
                # What an endpoint remembers of one trial must not reach the next.
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            ),
            _enforce_credentials=False,
        )
        # The client takes these from the environment (OPENAI_ORG_ID, OPENAI_PROJECT_ID, OPENAI_CUSTOM_HEADERS) for any
        # endpoint; what is meant for one must not reach another. An empty argument would be sent as an empty header.
        client.organization = client.project = client.admin_api_key = None
        client._custom_headers = {}
        return client

    async def _refuse(self, response: httpx2.Response) -> None:
        if response.is_success:
            return
        body = b""
        async for part in response.aiter_bytes():
            body += part
            if len(body) >= self._most_bytes:
                break
        raise RefusedError(response.status_code, dict(response.headers), body[: self._most_bytes])


async def _watch(request: httpx2.Request) -> None:
    """Tells who wants to know when the request has been written."""
    told = watched_sending()
    if told is None:
        return

    async def trace(event: str, _info: Mapping[str, Any]) -> None:
        if event.endswith("send_request_body.complete"):
            told()

    request.extensions["trace"] = trace
