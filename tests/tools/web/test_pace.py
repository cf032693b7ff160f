"""Requests to one host keep their distance: by a clock that jumps, so that no other program's turn counts."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from tests.agents.virtual_time import at_once
from tests.tools.web_server import WebServer, redirect, reply

from toolablate.tools.web import LiveHttpClient, WebPolicy, follow
from toolablate.tools.web.fetch import HostPace

Opening = Callable[..., LiveHttpClient]


def now() -> float:
    return asyncio.get_running_loop().time()


def starts(pace: HostPace, *hosts: str, delay: float = 0.0) -> list[tuple[str, float]]:
    """Who had a turn when, in that order."""
    had: list[tuple[str, float]] = []

    async def take(host: str) -> None:
        await pace.turn(host, delay)
        had.append((host, now()))

    async def all_at_once() -> None:
        await asyncio.gather(*map(take, hosts))

    at_once(all_at_once())
    return had


def test_turns_of_one_host_are_apart_and_those_of_others_are_not_held_up() -> None:
    had = starts(HostPace(0.1), "a", "a", "b", "a", "b", "c")
    for host, count in (("a", 3), ("b", 2), ("c", 1)):
        moments = [moment for name, moment in had if name == host]
        assert len(moments) == count
        assert moments[0] == 0
        assert all(later - sooner == pytest.approx(0.1) for sooner, later in pairwise(moments))


async def test_first_come_first_served() -> None:
    pace, had = HostPace(0.01), []

    async def take(number: int) -> None:
        await pace.turn("a")
        had.append(number)

    await asyncio.gather(*map(take, range(20)))
    assert had == list(range(20))


def test_without_a_delay_nobody_waits() -> None:
    assert starts(HostPace(0.0), *["a"] * 1_000)[-1][1] == 0


@pytest.mark.parametrize(("own", "wish"), [(0.01, 0.2), (0.2, 0.01), (0.0, 0.2)])
def test_a_hosts_own_wish_counts_where_it_is_longer(own: float, wish: float) -> None:
    assert starts(HostPace(own), "a", "a", delay=wish)[-1][1] == pytest.approx(0.2)


def test_who_is_cancelled_gives_the_turn_to_the_next() -> None:
    async def main() -> float:
        pace = HostPace(0.2)
        await pace.turn("a")
        waiting = [asyncio.create_task(pace.turn("a")) for _ in range(5)]
        await asyncio.sleep(0.05)
        for task in waiting[:4]:
            task.cancel()
        await waiting[4]
        assert all(task.cancelled() for task in waiting[:4])
        return now()

    assert at_once(main()) == pytest.approx(0.2)


async def test_hosts_that_could_be_asked_again_are_forgotten() -> None:
    pace = HostPace(0.0001)
    for number in range(5_000):
        await pace.turn(f"host{number}")
    assert len(pace._queues) <= 1_001


async def test_hosts_that_could_not_be_asked_again_are_kept() -> None:
    pace = HostPace(30.0)
    for number in range(3_000):
        await pace.turn(f"host{number}")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await pace.turn("host0")


async def test_live_requests_are_paced_redirects_and_all_spellings_of_a_host_included(
    web: WebServer, policy: WebPolicy, live: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[tuple[str, float]] = []
    turn = HostPace.turn

    async def noted(pace: HostPace, host: str, delay: float = 0.0) -> None:
        await turn(pace, host, delay)
        turns.append((host, now()))

    monkeypatch.setattr(HostPace, "turn", noted)
    web.pages = {"/": redirect("/b"), "/b": reply("b")}
    slow = replace(policy, delay_seconds=0.3, allow=frozenset({f"pages.test:{web.port}"}))

    async def loopback(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    client = live(slow, resolve=loopback)
    await asyncio.gather(
        *(follow(f"http://{name}:{web.port}/", client, slow) for name in ("pages.test", "PAGES.test."))
    )
    assert len(web.requests) == len(turns) == 4
    assert len({host for host, _ in turns}) == 1
    assert all(later - sooner >= 0.299 for (_, sooner), (_, later) in pairwise(turns))
