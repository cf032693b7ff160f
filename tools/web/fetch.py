"""The live web: one request at a time, to checked addresses only, each host at its pace."""

import asyncio
import math
import ssl
from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from toolablate import __version__
from toolablate.tools.text import one_line
from toolablate.tools.web.exchange import ACCEPTED, Exchange, FetchError, connection_failure, reply_failure
from toolablate.tools.web.follow import spending, within_page
from toolablate.tools.web.policy import Resolve, SystemResolver, WebPolicy, check_url, checked_addresses
from toolablate.tools.web.robots import AGENT, ROBOTS_BYTES, Robots
from toolablate.tools.web.urls import Target, normal_url

if TYPE_CHECKING:
    from httpx2 import Request, Response

_IDLE_HOSTS = 1_000


class _Queue:
    """Those who wait for one host, first come, first served; `started` is when the last one had its turn."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting = 0
        self.started = -math.inf
        self.delay = 0.0


class HostPace:
    """Keeps the starts of requests to one host apart by `delay` seconds, in this process.

    Who is cancelled while waiting gives the turn to the next. Hosts are forgotten once they could be asked at once.
    """

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._queues: OrderedDict[str, _Queue] = OrderedDict()

    async def turn(self, host: str, delay: float = 0.0) -> None:
        """Waits until the host may be asked; by its own wish not sooner than `delay` seconds after the last time."""
        delay = max(delay, self._delay)
        if not delay:
            return
        queue = self._queues.setdefault(host, _Queue())
        self._queues.move_to_end(host)
        queue.waiting += 1
        try:
            async with queue.lock:
                loop = asyncio.get_running_loop()
                moment = max(queue.started + delay, loop.time())
                await asyncio.sleep(moment - loop.time())
                queue.started = max(moment, loop.time())
                queue.delay = delay
        finally:
            queue.waiting -= 1
            self._forget_idle()

    def _forget_idle(self) -> None:
        """Looks at the two that were asked longest ago, which in the long run is more than are added."""
        now = asyncio.get_running_loop().time()
        for _ in range(2 if len(self._queues) > _IDLE_HOSTS else 0):
            host, queue = next(iter(self._queues.items()))
            if queue.waiting or queue.started + queue.delay > now:
                self._queues.move_to_end(host)
            else:
                del self._queues[host]


_MAX_ADDRESSES = 4


class LiveHttpClient:
    """Gets URLs from the web under a policy: no cookies, no proxies, no connection that an earlier request left open.

    For one event loop, and shared by all trials of a run, since it is what keeps requests to one host apart. `resolve`
    and `tls` stand for the system's own, in an intranet or a test.
    """

    def __init__(self, policy: WebPolicy, *, resolve: Resolve | None = None, tls: ssl.SSLContext | None = None) -> None:
        self._policy = policy
        self._system = SystemResolver()
        self._resolve = resolve or self._system
        # Made here and not at the first request, whose start it would put off, but not that of the next.
        self._tls = tls or _system_tls()
        self._pace = HostPace(policy.delay_seconds)
        self._robots = Robots(self._get_robots, policy.seconds) if policy.robots else None

    async def get(self, url: str) -> Exchange:
        """One exchange, whatever its status. Raises FetchError."""
        url = normal_url(url)
        check_url(url, self._policy)
        with within_page(self._policy.seconds):
            delay = await self._robots.delay(url) if self._robots else 0.0
            return await self._get(url, delay)

    async def close(self) -> None:
        self._system.close()

    async def _get_robots(self, url: str) -> Exchange:
        return await self._get(url, limit=ROBOTS_BYTES, cut=True)

    async def _get(self, url: str, delay: float = 0.0, *, limit: int = 0, cut: bool = False) -> Exchange:
        """Reads at most `limit` bytes of a body (by default the policy's); more is cut off, or an error."""
        target = check_url(url, self._policy)
        async with spending(url, self._policy.seconds):
            addresses = await checked_addresses(url, target, self._policy, self._resolve)
        await self._pace.turn(target.name, delay)
        async with spending(url, self._policy.seconds):
            return await self._exchange(url, target, addresses[:_MAX_ADDRESSES], limit or self._policy.wire_bytes, cut)

    async def _exchange(self, url: str, target: Target, addresses: Sequence[str], limit: int, cut: bool) -> Exchange:
        from httpx2 import AsyncHTTPTransport, ConnectError, ConnectTimeout, HTTPError

        failures: list[Exception] = []
        for address in addresses:
            request = self._request(target, address, self._policy.seconds / (len(addresses) + 1))
            async with AsyncHTTPTransport(verify=self._tls, trust_env=False) as transport:
                try:
                    started = datetime.now(UTC)
                    response = await transport.handle_async_request(request)
                    body = await _read(url, response, limit, cut)
                except (ConnectError, ConnectTimeout) as error:
                    failures.append(error)
                    continue
                # TLS takes no host name that is empty, begins with a dot, or has a label of more than 63 characters.
                except (HTTPError, ValueError) as error:
                    raise reply_failure(url, error) from None
            return _recorded(url, request, response, body, started, address)
        raise connection_failure(url, addresses, failures)

    def _request(self, target: Target, address: str, seconds: float) -> "Request":
        """A request that goes to the address and asks, in Host and in TLS, for the name."""
        from httpx2 import Request

        host = f"[{address}]" if ":" in address else address
        return Request(
            "GET",
            f"{target.scheme}://{host}:{target.port}/",
            headers=[
                ("Host", target.authority),
                ("User-Agent", f"{AGENT}/{__version__} (text browser for research)"),
                ("Accept", "text/html, application/xhtml+xml, application/pdf;q=0.9, text/plain;q=0.9, */*;q=0.5"),
                ("Accept-Language", f"{self._policy.language}, *;q=0.5"),
                ("Accept-Encoding", ACCEPTED),
                ("Connection", "close"),
            ],
            extensions={
                # As it is, since another parser could change it.
                "target": target.path.encode("ascii"),
                "sni_hostname": target.name,
                "timeout": {"connect": seconds},
            },
        )


@lru_cache(maxsize=1)
def _system_tls() -> ssl.SSLContext:
    from httpx2 import create_ssl_context

    return create_ssl_context(trust_env=False)


async def _read(url: str, response: "Response", limit: int, cut: bool) -> bytes:
    body = bytearray()
    try:
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > limit:
                if cut:
                    break
                raise FetchError(f"{one_line(url, 300)} is larger than {limit:,} bytes", code="too_large")
    finally:
        await response.aclose()
    del body[limit:]
    return bytes(body)


def _recorded(
    url: str, request: "Request", response: "Response", body: bytes, started: datetime, address: str
) -> Exchange:
    reason = response.extensions.get("reason_phrase", b"")
    return Exchange(
        url=url,
        status=response.status_code,
        reason=reason.decode("latin-1"),
        headers=_as_text(response.headers.raw),
        body=body,
        fetched_at=started,
        request_headers=_as_text(request.headers.raw),
        address=address,
    )


def _as_text(headers: Sequence[tuple[bytes, bytes]]) -> tuple[tuple[str, str], ...]:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
