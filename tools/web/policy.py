"""What may be fetched, and how much of it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from toolablate.tools.plain import one_line
from toolablate.tools.web.addresses import is_public
from toolablate.tools.web.exchange import FetchError
from toolablate.tools.web.urls import Target, normal_url, target_of

_HOST_AND_PORT = re.compile(r"(?:\[[^\[\]/?#@\s]+\]|[^\[\]:/?#@\s]+):\d{1,5}")
_HOST_AND_PATH = re.compile(r"(?:\[[^\[\]/?#@\s]+\]|[^\[\]:/?#@\s]+)(?:/[^?#\s]*)?")
_CONTROLS = re.compile(r"[\x00-\x1f]")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")
# How often a path may be escaped over again.
_MAX_UNQUOTED = 20


@dataclass(frozen=True, slots=True)
class WebPolicy:
    """The limits of one page, and what is not to be fetched at all.

    `wire_bytes` and `decoded_bytes` hold for each reply as sent and as unpacked, `seconds` for all hops of a page
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
            raise ValueError(f"language: {self.language!r} is no language such as 'en' or 'zh-CN'")

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
