"""Which nodes have workers: what is waited for, left out, tried again and told."""

import asyncio
import re
import sys
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.experiments.cluster.fleets import Scripted, Tapped, Workers, fleet, planned, texts, until
from tests.servers.chat_server import closed_port

from toolablate.agents import Line
from toolablate.agents.pacing import EndpointPace
from toolablate.experiments.cluster import fleet as driver
from toolablate.experiments.cluster import node
from toolablate.experiments.cluster.fleet import FleetExecutor
from toolablate.experiments.cluster.joining import Head
from toolablate.experiments.cluster.messages import (
    ToDriver,
    WorkerLost,
    WorkerSetupError,
)
from toolablate.experiments.cluster.on_ray import RayChannel
from toolablate.experiments.running.execution import Executor, ExecutorGoneError
from toolablate.traces.errors import InputError

pytestmark = pytest.mark.usefixtures("at_once")


@dataclass(frozen=True)
class Slow(Scripted):
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    async def open(self, stack: AsyncExitStack, lines: Mapping[str, Line]) -> Executor:
        await self.ready.wait()
        return await super().open(stack, lines)


async def test_workers_are_waited_for_and_late_ones_join(monkeypatch: pytest.MonkeyPatch) -> None:
    late = Slow()
    opened = FleetExecutor(Workers([Scripted(), late]), {}, workers=2, kernels=1, warn=lambda _: None)
    opening = asyncio.create_task(opened.open())
    await until(lambda: opened._ready)
    asyncio.get_running_loop().call_later(0.05, late.ready.set)
    await opening
    assert len(opened._ready) == 2, "within the time in which others may join"
    await opened.close()

    monkeypatch.setattr(driver, "JOIN_SECONDS", 0.001)
    late = Slow()
    async with fleet(Workers([Scripted(), late])) as (executor, _, _line):
        assert len(executor._ready) == 1
        late.ready.set()
        await until(lambda: len(executor._ready) == 2)


async def test_what_was_left_out_is_tried_again_and_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "LEFT_OUT_SECONDS", 0.001)
    failed = 0

    class FullForAMoment(Scripted):
        async def open(self, stack: AsyncExitStack, lines: Mapping[str, Line]) -> Executor:
            nonlocal failed
            if failed < 3:
                failed += 1
                raise InputError("no memory for a kernel", code="no_memory")
            return await super().open(stack, lines)

    async with fleet(Workers([Scripted(), *[FullForAMoment()] * 4])) as (executor, warned, _):
        await until(lambda: len(executor._ready) == 2)
        assert {each.state for each in executor.workers} == {"ready"}
    assert [each.partition("is left out: ")[2] for each in warned] == ["no memory for a kernel"]


@dataclass(frozen=True)
class Starved(Scripted):
    async def open(self, stack: AsyncExitStack, lines: Mapping[str, Line]) -> Executor:
        raise InputError("no memory for a kernel", code="no_memory")


async def test_one_that_is_lost_while_others_are_waited_for_is_replaced_as_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(driver, "JOIN_SECONDS", 0.2)
    replaces = Slow()
    engine = Workers([Starved(), Scripted(), Slow(), replaces])
    opened = FleetExecutor(engine, {}, workers=3, kernels=1, warn=lambda _: None)
    opening = asyncio.create_task(opened.open())
    await until(lambda: opened._ready)
    engine.started[1].kill()
    await opening
    replaces.ready.set()
    assert await texts(opened, planned("say 1")) == ["0"]
    await opened.close()


async def test_beside_a_node_that_is_left_out_another_has_a_worker_at_once() -> None:
    """As where all workers were placed on one node; it is tried again after minutes."""
    engine = Workers([Starved(), Starved()], nodes=["full", "good"])
    async with asyncio.timeout(30), fleet(engine) as (executor, warned, _):
        assert await texts(executor, planned("say 1")) == ["0"]
        assert [each.place() for each in engine.started] == ["full", "full", "good"]
        assert sorted(each.state for each in executor.workers) == ["left out", "ready"]
        # In the place of one that is lost none is started where it would be left out.
        engine.started[-1].kill()
        await until(lambda: len(engine.started) == 4 and executor._ready)
        assert engine.started[-1].place() == "good"
    assert "is left out: no memory for a kernel" in warned[0]


class Full(Workers):
    async def start(self, avoiding: Collection[str]) -> Tapped:
        # As Ray does, it waits where no place is left.
        if set(self.nodes) <= set(avoiding):
            self.openers = [*self.openers[: len(self.started)], Slow()]
        return await super().start(avoiding)


async def test_where_a_ready_worker_is_lost_another_may_be_though_one_was_left_out_beside_it() -> None:
    """As on a node that has memory for one."""
    async with asyncio.timeout(30), fleet(engine := Full([Scripted(), Starved()])) as (executor, _, _line):
        assert [each.state for each in executor.workers] == ["ready", "left out"]
        engine.started[0].kill()
        await until(lambda: len(engine.started) == 3 and executor._ready)
        assert await texts(executor, planned("say 1")) == ["0"]


async def test_where_a_ready_worker_is_lost_another_may_be_though_one_is_left_out_there_just_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else the run would wait for the only node for as long as it waits for any, and end."""

    @dataclass(frozen=True)
    class StarvedLater(Scripted):
        starved: asyncio.Event = field(default_factory=asyncio.Event)

        async def open(self, stack: AsyncExitStack, lines: Mapping[str, Line]) -> Executor:
            await self.starved.wait()
            raise InputError("no memory for a kernel", code="no_memory")

    monkeypatch.setattr(driver, "JOIN_SECONDS", 0.001)
    monkeypatch.setattr(driver, "FIRST_REST_SECONDS", 0.2)
    engine = Full([Scripted(), late := StarvedLater()])
    async with asyncio.timeout(30), fleet(engine) as (executor, _, _line):
        engine.started[0].kill()
        await until(lambda: not executor._ready)
        late.starved.set()
        await until(lambda: [each.state for each in executor.workers] == ["lost", "left out"])
        assert len(engine.started) == 2, "before another is started"
        await until(lambda: executor._ready)
        assert await texts(executor, planned("say 1")) == ["0"]
        assert [each.state for each in executor.workers] == ["ready", "lost", "left out"]


async def test_a_node_that_joins_has_a_worker_while_another_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "LOOK_SECONDS", 0.001)

    class First(Workers):
        async def start(self, avoiding: Collection[str]) -> Tapped:
            made = await super().start(avoiding)
            made.at = "good" if len(self.started) == 1 else made.at
            return made

    engine = First([Scripted(), Starved()], nodes=["full", "good"])
    async with asyncio.timeout(30), fleet(engine) as (executor, _, _line):
        # Each of the two nodes was tried.
        assert len(engine.started) == 2
        engine.nodes.insert(1, "new")
        await until(lambda: len(executor._ready) == 2)
        assert [each.place() for each in engine.started] == ["good", "full", "new"]
        assert [each.state for each in executor.workers] == ["ready", "ready"]


async def test_a_head_that_does_not_answer_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the cluster's places, while slots that were left out look for another."""
    monkeypatch.setattr(driver, "LOOK_SECONDS", 0.001)
    answers, held_up = threading.Event(), list[int]()
    answers.set()

    class Frozen(Workers):
        def places(self) -> Sequence[str]:
            if not answers.is_set():
                held_up.append(len(held_up))
                answers.wait(60)
            return self.nodes

        async def start(self, avoiding: Collection[str]) -> Tapped:
            made = await super().start(avoiding)
            made.at = self.nodes[len(self.started) - 1]
            return made

    engine = Frozen([Scripted(), Starved(), Starved()], nodes=["good", "full", "full too"])
    async with asyncio.timeout(50), fleet(engine, count=3) as (executor, _, _line):
        assert [each.state for each in executor.workers] == ["ready", "left out", "left out"]
        answers.clear()
        await until(lambda: held_up)
        assert await texts(executor, planned("say 3; ask")) == ["0", "1", "2"]
        # Both that rest wait for one answer.
        await asyncio.sleep(0.02)
        assert held_up == [0]
        answers.set()


async def test_a_node_that_has_left_the_cluster_is_told_of_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "LOOK_SECONDS", 0.001)
    engine = Workers([Scripted(), Starved(), Slow()], nodes=["full"])
    async with asyncio.timeout(30), fleet(engine) as (executor, _, _line):
        assert [each.state for each in executor.workers] == ["ready", "left out"]
        engine.nodes[:] = ["new", "another"]
        await until(lambda: len(engine.started) == 3)
        assert [each.state for each in executor.workers] == ["ready"]


async def test_nobody_avoids_a_place_that_is_not_known_and_its_slot_rests() -> None:
    avoided = list[list[str]]()

    class Unknown(Workers):
        async def start(self, avoiding: Collection[str]) -> Tapped:
            avoided.append(sorted(avoiding))
            made = await super().start(avoiding)
            made.at = made.at if len(self.started) == 1 else ""
            return made

    engine = Unknown([Scripted(), Starved()], nodes=["good", "another"])
    async with asyncio.timeout(30), fleet(engine) as (executor, _, _line):
        assert [each.state for each in executor.workers] == ["ready", "left out"]
        engine.started[0].kill()
        await until(lambda: len(engine.started) == 3 and executor._ready)
        assert avoided == [[]] * 3


def test_of_a_head_that_is_gone_no_place_is_asked() -> None:
    """Ray would wait for it."""
    gone = Head(f"127.0.0.1:{closed_port()}", "")
    assert not gone.is_there()
    assert RayChannel(None, gone).place() == ""


@pytest.mark.parametrize(("found", "place"), [({"Address": {"NodeID": "7"}}, "7"), ({}, ""), (None, "")])
def test_where_ray_does_not_tell_a_place_it_is_not_known(
    found: dict[str, Any] | None, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def actors(identity: str) -> dict[str, Any]:
        if found is None:
            raise RuntimeError("the cluster is gone")
        return found

    monkeypatch.setitem(sys.modules, "ray._private.state", cast(Any, SimpleNamespace(actors=actors)))
    head = cast(Any, SimpleNamespace(is_there=lambda: True))
    assert RayChannel(SimpleNamespace(_actor_id=b"a"), head).place() == place


async def test_one_that_is_left_out_stays_so_while_another_is_ready_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "LEFT_OUT_SECONDS", 0.001)
    late = Slow()
    engine = Workers([Starved(), late, *[Starved()] * 10_000])
    opened = FleetExecutor(engine, {}, workers=2, kernels=1, warn=(warned := list[str]()).append)
    opening = asyncio.create_task(opened.open())
    await until(lambda: warned)
    late.ready.set()
    await until(lambda: opened._ready)
    tried = len(engine.started)
    await until(lambda: len(engine.started) > tried + 2)
    assert [each.state for each in opened.workers] == ["ready", "left out"]
    assert len(warned) == 1
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)
    await opened.close()


async def test_who_may_not_be_where_workers_were_left_out_waits_no_longer_than_these(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For a place elsewhere, which may never come."""
    monkeypatch.setattr(node, "LATE_SECONDS", 0.001)

    @dataclass(frozen=True)
    class Pending(Scripted):
        async def open(self, stack: AsyncExitStack, lines: Mapping[str, Line]) -> Executor:
            # The place that is avoided stays so: how long is known of it by now.
            monkeypatch.setattr(driver, "LEFT_OUT_SECONDS", 0.05)
            await asyncio.Event().wait()
            raise AssertionError

    engine = Workers([Starved(), Pending(), Scripted()], nodes=["was full", "taken by others"])
    async with asyncio.timeout(30), fleet(engine, 1) as (executor, _, _line):
        assert await texts(executor, planned("say 1")) == ["0"]
        assert engine.started[1].place() == "taken by others"


async def test_that_no_worker_can_be_started_is_told_once_in_whatever_words() -> None:
    class Full(Workers):
        tries = 0

        async def start(self, avoiding: Collection[str]) -> Tapped:
            self.tries += 1
            if 1 < self.tries < 6:
                raise WorkerLost(f"no room for actor {self.tries}")
            return await super().start(avoiding)

    engine = Full()
    async with fleet(engine, 1) as (executor, warned, _):
        engine.started[0].kill()
        await until(lambda: engine.tries == 6 and executor._ready)
    assert warned[1:] == ["a worker could not be started: no room for actor 2"]


async def test_where_no_node_has_what_a_worker_is_made_of_nothing_is_waited_for() -> None:
    def nothing_there(worker: Tapped, messages: Sequence[ToDriver]) -> Sequence[ToDriver]:
        raise WorkerSetupError("ModuleNotFoundError: No module named 'toolablate.traces'", "the node 10.0.0.2")

    with pytest.raises(InputError, match=r"at the node 10\.0\.0\.2: ModuleNotFoundError") as refused:
        async with fleet(Workers(hears=nothing_there)):
            pass
    assert "install toolablate there" in refused.value.hint


async def test_that_no_worker_is_left_is_told_with_how_long_the_run_waits() -> None:
    engine = Workers()
    async with fleet(engine, 1, patience=50) as (executor, warned, _):
        engine.started[0].kill()
        await until(lambda: len(engine.started) == 2 and executor._ready)
    assert warned[0].endswith("No worker is left: the run ends if there is none within 50 s")


async def test_what_a_run_waits_for_is_told_after_a_while_and_where_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that scales by itself begins without a node."""
    monkeypatch.setattr(driver, "TOLD_SECONDS", 0.01)
    nobody = asyncio.Event()

    class Empty(Workers):
        async def start(self, avoiding: Collection[str]) -> Tapped:
            await nobody.wait()
            return await super().start(avoiding)

    engine = Empty(nodes=["small has 0 CPUs"])
    with pytest.raises(ExecutorGoneError, match=r"no worker for 0 s: small has 0 CPUs"):
        async with fleet(engine, 1, patience=0.2):
            pass
    warned: list[str] = []
    line = EndpointPace("e").line(4)
    opened = FleetExecutor(engine, {"models.m": line}, workers=2, kernels=2, warn=warned.append, patience=60)
    opening = asyncio.create_task(opened.open())
    await until(lambda: warned)
    nobody.set()
    await opening
    assert await texts(opened, planned("say 1")) == ["0"]
    await opened.close()
    (told,) = warned
    assert told.startswith("no worker is ready yet: small has 0 CPUs. The run ends if there is none within 60 s")


async def test_who_waits_hears_which_nodes_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "TOLD_SECONDS", 0.01)

    class Unready(Workers):
        """Of two nodes the first is refused, and what is started at the other is never ready."""

        async def start(self, avoiding: Collection[str]) -> Tapped:
            if self.started:
                await asyncio.Event().wait()
            return await super().start(avoiding)

    class Refusing(Scripted):
        async def open(self, stack: AsyncExitStack, lines: Mapping[str, Line]) -> Executor:
            raise InputError("it has no table.csv", hint="copy it", code="other_environment")

    warned: list[str] = []
    engine = Unready([Refusing()], nodes=["a", "b"])
    line = EndpointPace("e").line(4)
    opened = FleetExecutor(engine, {"models.m": line}, workers=2, kernels=2, warn=warned.append, patience=60)
    opening = asyncio.create_task(opened.open())
    waiting = re.compile(r"no worker is ready yet: a, b\. Left out are .+: it has no table\.csv\. The run ends")
    await until(lambda: any(map(waiting.search, warned)))  # on a busy machine not with the first that it says
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)
    await opened.close()
    assert any("is left out" in each for each in warned)
