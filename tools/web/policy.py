"""What may be fetched: URLs, hosts, public network addresses, and resolving names to such addresses only."""

import asyncio
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import unquote

from toolablate.tools.text import one_line
from toolablate.tools.web.exchange import FetchError
from toolablate.tools.web.urls import Target, normal_url, target_of

_SPECIAL_4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_GLOBAL_6 = IPv6Network("2000::/3")
_SPECIAL_6 = tuple(
    IPv6Network(network) for network in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)
_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Whether an address, as text, is one of the open internet; what cannot be read is not."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address):
        return _is_public_6(parsed)
    return _is_public_4(parsed)


def _is_public_4(address: IPv4Address) -> bool:
    return not any(address in network for network in _SPECIAL_4)


def _is_public_6(address: IPv6Address) -> bool:
    if address.scope_id is not None:
        return False
    if address.ipv4_mapped is not None:
        return _is_public_4(address.ipv4_mapped)
    if address in _NAT64:
        return _is_public_4(IPv4Address(int(address) & 0xFFFF_FFFF))
    return address in _GLOBAL_6 and not any(address in network for network in _SPECIAL_6)


_HOST_AND_PORT = re.compile(r"(?:\[[^\[\]/?#@\s]+\]|[^\[\]:/?#@\s]+):\d{1,5}")
_HOST_AND_PATH = re.compile(r"(?:\[[^\[\]/?#@\s]+\]|[^\[\]:/?#@\s]+)(?:/[^?#\s]*)?")
_CONTROLS = re.compile(r"[\x00-\x1f]")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")
# How often a path may be escaped over again.
_MAX_UNQUOTED = 20


@dataclass(frozen=True, slots=True)
class WebPolicy:
    """The limits of one page, and what is not to be fetched at all.

    `wire_bytes` and `decoded_bytes` hold for each reply as sent and as unpacked, `seconds` for all requests of a page
    together and the robots.txt of their sites, apart from the wait for a host's turn; `redirects` are followed.

    `allow` lists `host:port` pairs (IPv6 in brackets) that may be fetched although they are private or on another port,
    for tests and intranets. Everything else must be on one of `ports` and resolve to public addresses only.

    `blocked_hosts` are hosts, with all below them, or parts of their pages (`example.org/data`); they come before
    `allow`. `robots` heeds robots.txt, and `delay_seconds` is the least time between the starts of two requests to one
    host. `language` is the one that pages are asked for in.

    Raises ValueError where an entry cannot be read.
    """

    wire_bytes: int = 3_000_000
    decoded_bytes: int = 4_000_000
    seconds: float = 30.0
    redirects: int = 5
    ports: tuple[int, ...] = (80, 443, 8080, 8443)
    allow: frozenset[str] = frozenset()
    blocked_hosts: frozenset[str] = frozenset()
    robots: bool = True
    delay_seconds: float = 1.0
    language: str = "en"

    def __post_init__(self) -> None:
        _allowed(self.allow)
        _blocked(self.blocked_hosts)
        if not _LANGUAGE.fullmatch(self.language):
            raise ValueError(f"language: {self.language!r} is not a language code such as 'en' or 'zh-CN'")

    def allows(self, target: Target) -> bool:
        """Whether the target is on the allow-list."""
        return (target.name, target.port) in _allowed(self.allow)

    def blocks(self, target: Target) -> bool:
        """Whether the target is one of the blocked hosts, or lies below one."""
        paths = [path for host, path in _blocked(self.blocked_hosts) if _is_host_of(target, host)]
        if not paths or "" in paths:
            return bool(paths)
        readings = _readings(target)
        return any(reading.startswith(f"{path}/") for path in paths for reading in readings)


def check_url(url: str, policy: WebPolicy) -> Target:
    """What can be told of a URL in normal form without resolving its host, so that it is the same in a replay.

    Raises FetchError: `blocked_host`, or `blocked` for a port or an address that is not open to the public.
    """
    target = target_of(url)
    if policy.blocks(target):
        raise FetchError(f"{one_line(url, 300)} may not be opened", code="blocked_host", policy=True)
    # To the system port 0 means any port, and to HTTP clients the scheme's own.
    if target.port and policy.allows(target):
        return target
    if not target.port or target.port not in policy.ports:
        message = f"{one_line(url, 300)}: port {target.port} may not be opened"
        raise FetchError(message, code="blocked", policy=True)
    if target.address:
        check_addresses(url, target, [target.address])
    return target


def check_addresses(url: str, target: Target, addresses: Iterable[str]) -> None:
    """Raises FetchError (`blocked`) if one of the addresses is none of the open internet."""
    if not all(map(is_public, addresses)):
        message = f"{one_line(url, 300)}: {one_line(target.host, 100)} is not on the public internet"
        raise FetchError(message, code="blocked", policy=True)


@lru_cache(maxsize=64)
def _allowed(entries: frozenset[str]) -> frozenset[tuple[str, int]]:
    return frozenset((target.name, target.port) for target in _targets(entries, _HOST_AND_PORT, "allow", "host:port"))


@lru_cache(maxsize=64)
def _blocked(entries: frozenset[str]) -> tuple[tuple[str, str], ...]:
    targets = _targets(entries, _HOST_AND_PATH, "blocked_hosts", "a host or host/path")
    return tuple((target.name, _readings(target)[0].rstrip("/")) for target in targets)


def _targets(entries: frozenset[str], form: re.Pattern[str], key: str, wanted: str) -> list[Target]:
    targets = []
    for entry in sorted(entries):
        try:
            if not form.fullmatch(entry):
                raise ValueError(entry)
            targets.append(target_of(normal_url(f"http://{entry}")))
        except (ValueError, FetchError):
            raise ValueError(f"{key}: {one_line(entry, 80)!r} is not {wanted}") from None
    return targets


def _is_host_of(target: Target, host: str) -> bool:
    return target.name == host or target.name.endswith(f".{host}")


def _readings(target: Target) -> tuple[str, str]:
    """The path, with a slash at its end, as servers may read it, so that no other spelling gets by: with parameters
    dropped and steps up and back taken where they were escaped, and as it stands."""
    path = target.path.partition("?")[0]
    for _ in range(_MAX_UNQUOTED):
        path, before = unquote(path), path
        if path == before:
            break
    path = f"{_CONTROLS.sub('', path)}/".replace("\\", "/").casefold()
    steps: list[str] = []
    for segment in path.split("/"):
        step = segment.partition(";")[0]
        if step == "..":
            del steps[-1:]
        elif step not in ("", "."):
            steps.append(step)
    return "/".join(["", *steps, ""]), re.sub("/+", "/", path)


# From a host's name to addresses that were all checked.


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
