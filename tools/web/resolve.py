"""From a host's name to addresses that were all checked."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from toolablate.tools.plain import one_line
from toolablate.tools.web.exchange import FetchError
from toolablate.tools.web.policy import WebPolicy, check_addresses
from toolablate.tools.web.urls import Target

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host; raises OSError (`socket.gaierror`)."""

CONTROL_NAME = "example.com"
"""Looked up where a name server fails, to tell its failure for one name from that for all."""

_THREADS = 32


class SystemResolver:
    """Asks the system, in threads of its own, so that slow name servers hold up nothing but look-ups.

    A look-up cannot be ended. So one that nobody waits for any more keeps its place among those that may go on at once,
    and its thread is a daemon, for which the end of the process does not wait as it does for those of an executor.
    """

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(_THREADS)
        self._answers: set[asyncio.Future[list[str]]] = set()

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        loop = asyncio.get_running_loop()
        await self._places.acquire()
        answer: asyncio.Future[list[str]] = loop.create_future()
        self._answers.add(answer)
        answer.add_done_callback(self._answers.discard)

        def finish(found: list[str] | BaseException) -> None:
            self._places.release()
            if answer.done():
                return
            if isinstance(found, BaseException):
                answer.set_exception(found)
            else:
                answer.set_result(found)

        def ask() -> None:
            found: list[str] | BaseException
            try:
                found = _ask_system(host, port)
            except Exception as error:  # noqa: BLE001 - whoever waits is told
                found = error
            # The loop may be closed by now.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(finish, found)

        threading.Thread(target=ask, name="resolve", daemon=True).start()
        return tuple(dict.fromkeys(await answer))

    def close(self) -> None:
        """Ends the waiting for what is being looked up."""
        for answer in tuple(self._answers):
            answer.cancel()


def _ask_system(host: str, port: int) -> list[str]:
    # As bytes, because Python would put text through an encoding for names that differs from the URL standard's.
    return [str(answer[4][0]) for answer in socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)]


async def checked_addresses(url: str, target: Target, policy: WebPolicy, resolve: Resolve) -> tuple[str, ...]:
    """The addresses to which a connection may be made; the host is looked up once, and one bad answer is enough.

    Raises FetchError: `no_host`, `no_network` where no name at all can be looked up, `blocked`.
    """
    addresses = (target.address,) if target.address else await _resolved(url, target, resolve)
    if not policy.allows(target):
        check_addresses(url, target, addresses)
    return addresses


async def _resolved(url: str, target: Target, resolve: Resolve) -> tuple[str, ...]:
    try:
        addresses = tuple(await resolve(target.host, target.port))
    except OSError as error:
        raise await _not_resolved(url, target, error, resolve) from None
    if not addresses:
        raise FetchError(f"{one_line(url, 300)}: the host has no address", code="no_host")
    return addresses


async def _not_resolved(url: str, target: Target, error: OSError, resolve: Resolve) -> FetchError:
    failing = error.errno == socket.EAI_AGAIN
    if failing and await _fails_for_all(resolve):
        return FetchError("no name can be looked up: there is no network", code="no_network", transient=True)
    reason = one_line(error.strerror or str(error), 100)
    message = f"{one_line(url, 300)}: the host {one_line(target.host, 100)} cannot be found ({reason})"
    return FetchError(message, code="no_host", transient=failing)


async def _fails_for_all(resolve: Resolve) -> bool:
    try:
        await resolve(CONTROL_NAME, 443)
    except OSError as error:
        return error.errno == socket.EAI_AGAIN
    return False
