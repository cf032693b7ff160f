"""A driver and its workers, whatever is late, doubled, lost or too much."""

import asyncio
import pickle
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.experiments.cluster.fleets import BusyError, Scripted, Tapped, Workers, fleet, into, planned, texts, until

from toolablate.agents import Line
from toolablate.agents.chat import NoReplyError
from toolablate.agents.pacing import EndpointLine, LetGo
from toolablate.experiments.cluster import fleet as driver
from toolablate.experiments.cluster import node
from toolablate.experiments.cluster import worker as workers
from toolablate.experiments.cluster.in_process import InProcess
from toolablate.experiments.cluster.messages import (
    Attempt,
    Cancel,
    Packer,
    Recorded,
    Shared,
    Start,
    ToDriver,
    ToWorker,
    Unpacker,
    WorkerLost,
    crossing,
)
from toolablate.experiments.running.execution import AttemptLostError, Executor, ExecutorGoneError
from toolablate.traces.errors import InputError, InternalError, ModelError, StoreError
from toolablate.traces.records import Answer, Environment, Event, Message, ModelReply
from toolablate.traces.store.digests import EventContents, Written

pytestmark = pytest.mark.usefixtures("at_once")


async def test_events_come_in_order_and_trials_are_shared_out() -> None:
    async with fleet(Workers()) as (executor, warned, line):
        said = await asyncio.gather(*(texts(executor, planned("say 3; ask; say 40; ask", n)) for n in range(12)))
        with pytest.raises(ModelError, match="no"):
            await texts(executor, planned("fail"))
        with pytest.raises(InternalError, match="RuntimeError: a bug"):
            await texts(executor, planned("bug"))
        hanging = [asyncio.create_task(texts(executor, planned("hang", n))) for n in range(4)]
        await asyncio.sleep(0)
        assert [len(node.trials) for node in executor._ready] == [2, 2]
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)
    assert said == [[str(n) for n in range(43)]] * 12
    assert warned == []
    assert cast(EndpointLine, line).in_flight == 0


async def test_a_cancelled_trial_says_what_it_was_at_and_leaves_its_place() -> None:
    async with fleet(Workers(), places=1) as (executor, _, line):
        said: list[Event] = []
        running = asyncio.create_task(executor.run(planned("say 1; hang"), into(said)))
        place = await line.enter()
        waiting = asyncio.create_task(executor.run(planned("ask", 1), into(said)))
        await until(lambda: cast(EndpointLine, line).waiting and said)
        for task in (running, waiting):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        line.leave(place)
        assert await texts(executor, planned("ask; say 1")) == ["0"]
    assert [event.text for event in said if isinstance(event, Answer)] == ["0", "cut off"]


async def test_who_has_had_no_reply_is_let_go() -> None:
    async with fleet(Workers(), places=1) as (executor, _, line):
        await line.enter()
        first = asyncio.create_task(texts(executor, planned("ask")))
        await until(lambda: cast(EndpointLine, line).waiting)
        line.let_go()
        with pytest.raises(LetGo):
            await first


async def test_one_of_those_that_reach_nobody_says_so_and_the_others_are_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("toolablate.agents.pacing.line.FIRST_BACKOFF_SECONDS", 0.01)
    async with fleet(Workers()) as (executor, _, _line):
        trials = [texts(executor, planned("knock", n)) for n in range(4)]
        ended = await asyncio.gather(*trials, return_exceptions=True)
    failed = [each for each in ended if isinstance(each, ModelError)]
    assert ["nothing was ever heard of it" in each.message for each in failed] == [True]
    assert [type(each) for each in ended if each not in failed] == [LetGo] * 3


async def test_a_lost_worker_costs_attempts_and_holds_no_place() -> None:
    engine = Workers()
    async with fleet(engine, 1, places=1) as (executor, warned, line):
        said: list[Event] = []
        running = asyncio.create_task(executor.run(planned("say 2; ask; hang"), into(said)))
        stuck = asyncio.create_task(executor.run(planned("hang", 1), into(said)))
        await until(lambda: len(said) == 2)
        engine.started[0].kill()
        for task in (running, stuck):
            with pytest.raises(AttemptLostError, match="was lost while the trial ran there: it was ended"):
                await task
        assert await texts(executor, planned("ask; say 1", 2)) == ["0"]
    assert len(engine.started) == 2
    assert len(warned) == 1
    assert cast(EndpointLine, line).in_flight == 0


async def test_that_a_worker_was_lost_is_told_before_it_is_closed() -> None:
    """To close one that does not answer takes as long as it may."""
    closed = asyncio.Event()

    class Stuck(Tapped):
        async def close(self) -> None:
            await closed.wait()
            await super().close()

    class FirstIsStuck(Workers):
        async def start(self, avoiding: Collection[str]) -> Tapped:
            made = await super().start(avoiding)
            if len(self.started) == 1:
                await made.close()
                self.started[0] = Stuck(Scripted(), {"models.m": False}, self.hears)
            return self.started[-1]

    engine = FirstIsStuck()
    async with asyncio.timeout(30), fleet(engine, 1) as (executor, warned, _):
        engine.started[0].kill()
        await until(lambda: len(warned) == 1)
        assert await texts(executor, planned("say 1")) == ["0"]
        assert "was lost: it was ended; its trials are tried again" in warned[0]
        closed.set()


@pytest.mark.parametrize(("retries", "said"), [(0, "have failed (cluster.retries = 0)"), (2, "are tried again")])
async def test_what_becomes_of_the_trials_of_a_lost_worker_is_told(retries: int, said: str) -> None:
    engine = Workers()
    async with fleet(engine, 1, retries=retries) as (_, warned, _line):
        engine.started[0].kill()
        await until(lambda: warned)
    assert f"was lost: it was ended; its trials {said}, and another is started" in warned[0]


async def test_where_no_worker_comes_the_run_ends() -> None:
    class Gone(Workers):
        async def start(self, avoiding: Collection[str]) -> Tapped:
            if self.started:
                raise WorkerLost("there is no node")
            return await super().start(avoiding)

    engine = Gone()
    async with fleet(engine, 1) as (executor, _, _line):
        executor._patience = 0.05
        engine.started[0].kill()
        await until(lambda: not executor._ready)
        with pytest.raises(ExecutorGoneError, match="no worker"):
            await texts(executor, planned("ask"))


async def test_a_worker_unlike_the_first_is_left_out_and_named() -> None:
    engine = Workers([Scripted(), Scripted(Environment(versions={"python": "4"}))])
    async with fleet(engine) as (executor, warned, _):
        assert await texts(executor, planned("say 1")) == ["0"]
        assert len(executor._ready) == 1
    assert "versions: python 4 there, python 3 at the first" in warned[0]


async def test_where_every_worker_is_left_out_nothing_is_run() -> None:
    class Refusing(Scripted):
        async def open(self, stack: object, lines: object) -> Scripted:
            raise InputError("another archive", code="other_world")

    with pytest.raises(InputError, match="another archive"):
        async with fleet(Workers([Refusing(), Refusing()])):
            pass


async def test_an_error_of_the_store_ends_the_trial_as_it_does_here() -> None:
    def record(event: Event, written: Written | None = None) -> None:
        raise StoreError("the disk is full", code="disk_full")

    async with fleet(Workers()) as (executor, _, _line):
        with pytest.raises(StoreError, match="full"):
            await executor.run(planned("say 1; hang"), record)


async def test_who_is_not_listened_to_makes_no_request_and_ends_its_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(workers, "BEAT_SECONDS", 0.001)
    worker = workers.Worker(Scripted(), {"models.m": False}, clock=lambda: now)
    running = asyncio.create_task(worker.run())
    await worker.take()
    worker.put([Start(Attempt("t", 0), planned("large; ask"))])
    # It goes on to `ask` in the same step of the loop.
    await until(lambda: worker._outbox.full() is not None)
    assert [type(each).__name__ for each in await worker.take()] == ["Recorded"]
    assert [type(each).__name__ for each in await worker.take()] == ["Enters"]
    now = 61.0
    await running
    with pytest.raises(WorkerLost, match="not listened to"):
        await worker.take()


async def test_a_trial_that_is_cancelled_before_it_begins_says_so() -> None:
    channel = InProcess(Scripted(), {})
    await channel.take()
    attempt = Attempt("t", 0)
    await channel.put([Start(attempt, planned("hang")), Cancel(attempt)])
    assert [type(each).__name__ for each in await channel.take()] == ["Ended"]
    await channel.close()


@settings(max_examples=15)
@given(
    doubled=st.lists(st.booleans(), max_size=30),
    late=st.lists(st.booleans(), max_size=30),
    kills=st.sets(st.integers(5, 60), max_size=2),
)
def test_whatever_is_late_doubled_or_killed_each_event_comes_once(
    doubled: list[bool], late: list[bool], kills: set[int]
) -> None:
    """Late is what comes again when its attempt has ended."""
    heard, again = 0, defaultdict[Tapped, list[ToDriver]](list)

    def hears(worker: Tapped, messages: Sequence[ToDriver]) -> Sequence[ToDriver]:
        nonlocal heard
        out: list[ToDriver] = []
        for message in messages:
            heard += 1
            out += [message] * (1 + bool(doubled and doubled[heard % len(doubled)]))
            if late and late[heard % len(late)]:
                again[worker].append(message)
            if heard in kills:
                worker.kill()
        return [*out, *again[worker]]

    async def one(executor: driver.FleetExecutor, number: int) -> list[str]:
        for _ in range(4):
            try:
                return await texts(executor, planned("say 2; ask; say 2; ask; say 1", number))
            except AttemptLostError:
                continue
        raise AssertionError

    async def main() -> None:
        async with fleet(Workers(hears=hears), places=2) as (executor, _, line):
            said = await asyncio.gather(*(one(executor, number) for number in range(6)))
            assert said == [["0", "1", "2", "3", "4"]] * 6
            assert [node.trials for node in executor._ready if node.trials] == []
        assert cast(EndpointLine, line).in_flight == 0

    asyncio.run(main())


def test_events_of_one_attempt_are_packed_with_one_memo() -> None:
    shared = Environment(versions={"python": "x" * 10_000})
    packer, unpacker, written = Packer(), Unpacker(), Written({"kind": "answer"}, "0" * 32, 17)
    packed = [packer.pack(cast(Event, shared), written) for _ in range(3)]
    assert [len(each) < 200 for each in packed] == [False, True, True]
    assert [unpacker.unpack(each) for each in packed] == [(shared, written)] * 3


async def test_what_the_store_keeps_of_an_event_is_made_by_the_worker() -> None:
    heard: list[tuple[Event, Written | None]] = []

    def record(event: Event, written: Written | None = None) -> None:
        heard.append((event, written))

    async with fleet(Workers()) as (executor, _, _line):
        await executor.run(planned("say 3"), record)
    contents = EventContents()
    assert heard == [contents.written(Answer(at=0.0, text=str(number))) for number in range(3)]


async def test_a_worker_that_can_be_told_nothing_is_lost_and_another_runs_its_trials() -> None:
    class Deaf(Tapped):
        async def put(self, messages: Sequence[ToWorker]) -> None:
            raise WorkerLost("what is put cannot be read there")

    class FirstIsDeaf(Workers):
        async def start(self, avoiding: Collection[str]) -> Tapped:
            made = await super().start(avoiding)
            if len(self.started) == 1:
                self.started[0] = Deaf(Scripted(), {"models.m": False}, self.hears)
                await made.close()
            return self.started[-1]

    async with fleet(FirstIsDeaf(), count=1) as (executor, warned, _):
        with pytest.raises(AttemptLostError):
            await texts(executor, planned("say 1"))
        assert await texts(executor, planned("say 1")) == ["0"]
    assert len(warned) == 1
    assert "cannot be read there; its trials are tried again" in warned[0]


async def test_an_event_that_the_driver_cannot_take_costs_its_trial_alone() -> None:
    def poisoned(event: Event, written: Written | None = None) -> None:
        raise ValueError("no such event")

    engine = Workers()
    async with fleet(engine, count=1) as (executor, warned, _):
        beside = asyncio.create_task(texts(executor, planned("say 40; ask", 1)))
        with pytest.raises(InternalError, match="no such event"):
            await executor.run(planned("say 3; hang"), poisoned)
        assert len(await beside) == 40
        await until(lambda: not engine.started[0].worker._trials)
    assert warned == []


async def test_who_waits_for_a_place_hears_why_there_is_none() -> None:
    async with fleet(Workers(), count=1) as (executor, _, line):
        cast(Any, line).enter = None
        with pytest.raises(InternalError, match="not callable"):
            await texts(executor, planned("ask"))


async def test_an_engine_that_fails_otherwise_is_told_of_and_tried_again() -> None:
    class Failing(Workers):
        async def start(self, avoiding: Collection[str]) -> Tapped:
            if not self.started:
                await super().start(avoiding)
                raise RuntimeError("no such place")
            return await super().start(avoiding)

    async with fleet(Failing(), count=1) as (executor, warned, _):
        assert await texts(executor, planned("say 1")) == ["0"]
    assert warned == ["a worker could not be started: RuntimeError: no such place"]


async def test_a_trial_is_admitted_once_a_worker_has_room_for_it() -> None:
    class Once(Workers):
        async def start(self, avoiding: Collection[str]) -> Tapped:
            if self.started:
                raise WorkerLost("no node")
            return await super().start(avoiding)

    engine = Once()
    async with fleet(engine, count=1) as (executor, _, _):
        executor._patience = 0.05
        await executor.admit(planned("say 1"))
        engine.started[0].kill()
        await until(lambda: not executor._ready)
        with pytest.raises(ExecutorGoneError):
            await executor.admit(planned("say 1"))


async def test_a_driver_that_was_busy_itself_loses_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its recorder makes it wait when the disk is behind."""
    monkeypatch.setattr(driver, "SILENCE_SECONDS", 0.05)
    monkeypatch.setattr(workers, "BEAT_SECONDS", 0.01)

    def busy(event: Event, written: Written | None = None) -> None:
        time.sleep(0.1)

    async with fleet(Workers(), count=3) as (executor, warned, _):
        beside = [asyncio.create_task(texts(executor, planned("say 40; ask", n))) for n in range(1, 4)]
        await executor.run(planned("say 3"), busy)
        assert [len(said) for said in await asyncio.gather(*beside)] == [40] * 3
    assert warned == []


async def test_a_worker_that_says_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "SILENCE_SECONDS", 0.05)
    monkeypatch.setattr(node, "LATE_SECONDS", 0.3)
    monkeypatch.setattr(workers, "BEAT_SECONDS", 0.01)

    class Silent(Tapped):
        async def take(self) -> Sequence[ToDriver]:
            said = await super().take()
            if any(isinstance(each, Recorded) for each in said):
                await asyncio.Event().wait()
            return said

    class FirstIsSilent(Workers):
        async def start(self, avoiding: Collection[str]) -> Tapped:
            made = await super().start(avoiding)
            if len(self.started) == 1:
                await made.close()
                self.started[0] = Silent(Scripted(), {"models.m": False}, self.hears)
            return self.started[-1]

    async with fleet(FirstIsSilent(), count=1) as (executor, warned, _):
        with pytest.raises(AttemptLostError):
            await texts(executor, planned("say 1; hang"))
        await until(lambda: any("nothing was heard of it" in each for each in warned))
    assert "or a tool blocks its event loop" in warned[0]


async def test_an_event_that_did_not_arrive_fails_its_attempt() -> None:
    def gapped(channel: Tapped, messages: Sequence[ToDriver]) -> Sequence[ToDriver]:
        return [each for each in messages if not (isinstance(each, Recorded) and each.number == 1)]

    async with fleet(Workers(hears=gapped), count=1) as (executor, _, _line):
        with pytest.raises(AttemptLostError, match="did not arrive"):
            await texts(executor, planned("say 4"))


EMPTY = ModelReply(message=Message(role="assistant"), finish_reason="stop")


def test_errors_cross_whatever_their_class_wants_to_be_made() -> None:
    error = NoReplyError("empty", EMPTY, code="empty_reply", retryable=True)
    crossed = pickle.loads(pickle.dumps(error))
    assert (type(crossed), str(crossed), crossed.reply) == (NoReplyError, "empty", EMPTY)
    assert (crossed.code, crossed.retryable) == ("empty_reply", True)


def test_of_an_error_that_cannot_be_sent_what_it_says_is() -> None:
    crossed = crossing(BusyError())
    assert type(crossed) is ModelError
    said = crossed.message, crossed.hint, crossed.code, crossed.retryable, crossed.retry_after, crossed.limit_of
    assert said == ("BusyError: busy", "wait", "rate_limited", True, 0.01, "key")


@pytest.mark.parametrize(
    "course", ["cancelled by itself", "panicking", "generator", "mute", "refused by a provider; say 1"]
)
async def test_what_fails_oddly_costs_its_trial_alone(course: str) -> None:
    engine = Workers()
    async with asyncio.timeout(30), fleet(engine, count=1) as (executor, warned, _):
        beside = asyncio.create_task(texts(executor, planned("ask; say 1", 1)))
        if course.startswith("refused"):
            assert await texts(executor, planned(course)) == ["0"]
        else:
            with pytest.raises(InternalError, match=r"CancelledError|BaseException|GeneratorExit|MuteError"):
                await texts(executor, planned(course))
        assert await beside == ["0"]
        assert (len(engine.started), warned) == (1, [])


async def test_what_trials_share_is_sent_once_and_forgotten() -> None:
    said = list[object]()

    class Holding(Scripted):
        async def open(self, stack: AsyncExitStack, lines: Mapping[str, Line]) -> Executor:
            return Holding(self.environment, lines)

        def share(self, shared: Shared) -> None:
            said.append(shared.digest)

        def forget(self, digests: frozenset[str]) -> None:
            said.append(sorted(digests))

    first, second = Shared("1", b""), Shared("2", b"")
    # A message that comes twice is done twice: to share and to forget are the same once more.
    async with fleet(Workers([Holding()]), 1) as (executor, _, _line):
        for _ in range(2):
            await executor.run(planned("say 1"), into([]), needs=(first, second))
        executor.forget_all_but(["2"])
        await executor.run(planned("say 1"), into([]), needs=(second,))
        executor.forget_all_but([])
        await until(lambda: ["2"] in said)
    assert list(dict.fromkeys(map(str, said))) == ["1", "2", "['1']", "['2']"]
    assert said.count("1") == said.count("2") == 2
