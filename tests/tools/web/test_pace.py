"""Requests to one host keep their distance."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from tests.tools.web_server import WebServer, redirect, reply

from toolablate.tools.web import LiveHops, WebPolicy, follow
from toolablate.tools.web.pace import Pace

Opening = Callable[..., LiveHops]


async def starts(pace: Pace, *hosts: str, delay: float = 0.0) -> list[tuple[str, float]]:
    """Who had a turn when, in that order."""
    had: list[tuple[str, float]] = []
    begin = time.monotonic()

    async def take(host: str) -> None:
        await pace.turn(host, delay)
        had.append((host, time.monotonic() - begin))

    await asyncio.gather(*map(take, hosts))
    return had


async def test_turns_of_one_host_are_apart_and_those_of_others_are_not_held_up() -> None:
    had = await starts(Pace(0.1), "a", "a", "b", "a", "b", "c")
    for host, count in (("a", 3), ("b", 2), ("c", 1)):
        moments = [moment for name, moment in had if name == host]
        assert len(moments) == count
        assert moments[0] < 0.08
        assert all(later - sooner >= 0.099 for sooner, later in pairwise(moments))
    assert had[-1][1] < 0.4


async def test_first_come_first_served() -> None:
    pace, had = Pace(0.01), []

    async def take(number: int) -> None:
        await pace.turn("a")
        had.append(number)

    await asyncio.gather(*map(take, range(20)))
    assert had == list(range(20))


async def test_without_a_delay_nobody_waits() -> None:
    assert (await starts(Pace(0.0), *["a"] * 1_000))[-1][1] < 0.5


async def test_a_hosts_own_wish_counts_where_it_is_longer() -> None:
    assert (await starts(Pace(0.01), "a", "a", delay=0.2))[-1][1] >= 0.199
    assert (await starts(Pace(0.2), "a", "a", delay=0.01))[-1][1] >= 0.199
    assert (await starts(Pace(0.0), "a", "a", delay=0.2))[-1][1] >= 0.199


async def test_who_is_cancelled_gives_the_turn_to_the_next() -> None:
    pace = Pace(0.2)
    await pace.turn("a")
    begin = time.monotonic()
    waiting = [asyncio.create_task(pace.turn("a")) for _ in range(5)]
    await asyncio.sleep(0.05)
    for task in waiting[:4]:
        task.cancel()
    await waiting[4]
    assert 0.19 <= time.monotonic() - begin < 0.35
    assert all(task.cancelled() for task in waiting[:4])


async def test_hosts_that_could_be_asked_again_are_forgotten() -> None:
    pace = Pace(0.0001)
    for number in range(5_000):
        await pace.turn(f"host{number}")
    assert len(pace._queues) <= 1_001


async def test_hosts_that_could_not_be_asked_again_are_kept() -> None:
    pace = Pace(30.0)
    for number in range(3_000):
        await pace.turn(f"host{number}")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await pace.turn("host0")


async def test_live_requests_are_paced_redirects_and_all_spellings_of_a_host_included(
    web: WebServer, policy: WebPolicy, live: Opening
) -> None:
    moments: list[float] = []

    class Clocked(dict[str, bytes]):
        def get(self, key: str, default: bytes = b"") -> bytes:  # type: ignore[override]
            moments.append(time.monotonic())
            return super().get(key, default)

    web.pages = Clocked({"/": redirect("/b"), "/b": reply("b")})  # type: ignore[assignment]
    slow = replace(policy, delay_seconds=0.3, allow=frozenset({f"pages.test:{web.port}"}))

    async def loopback(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    hops = live(slow, resolve=loopback)
    await asyncio.gather(*(follow(f"http://{name}:{web.port}/", hops, slow) for name in ("pages.test", "PAGES.test.")))
    assert len(moments) == 4
    assert all(later - sooner > 0.2 for sooner, later in pairwise(moments))
