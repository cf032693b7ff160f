"""What the rounds of one attribution stand on: opened once for all of them, closed however they end."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.experiments.attribution.scenes import Heard, replays_of, swayed
from tests.experiments.replay.scenes import endpoint_plan, run
from tests.servers.chat_server import ChatServer

from toolablate.api.asking import attribute_async
from toolablate.experiments.attribution import replay_rounds
from toolablate.experiments.attribution.replay_rounds import attribute
from toolablate.experiments.environment import environment, replies
from toolablate.traces.records import ReplayDesign

DESIGN = ReplayDesign(successes=0, samples=2, rollouts=1, each_result=True)
CELLS = [f"print({number})" for number in range(100, 106)]


@pytest.fixture
def store(chat_server: ChatServer, tmp_path: Path) -> Path:
    """A wrong trial of six cells, of which the third misleads: a search takes some rounds."""
    chat_server.answers(swayed(CELLS, lambda shown: "102" in shown))
    return run(endpoint_plan(tmp_path, chat_server, conditions="['none', 'python']"))


class Openings:
    """Counts what is really opened and closed."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.opened: list[str] = []
        self.closed: list[str] = []
        for module, name in ((environment, "open_sandbox"), (replies, "connect")):
            patched.setattr(module, name, self._counted(name, getattr(module, name)))

    def _counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def opened(*args: Any, **words: Any) -> Any:
            made = real(*args, **words)
            close = made.close
            self.opened.append(name)

            async def closed() -> None:
                self.closed.append(name)
                await close()

            made.close = closed
            return made

        return opened


@pytest.fixture
def openings(store: Path, monkeypatch: pytest.MonkeyPatch) -> Openings:
    return Openings(monkeypatch)


def rounds_in(told: list[str]) -> int:
    return sum("to run, for" in each for each in told)


@pytest.mark.deep
def test_all_rounds_stand_on_what_is_opened_once(store: Path, openings: Openings) -> None:
    with Heard() as heard:
        done = attribute(store, DESIGN, progress=heard)
    assert (done.missing, done.refused, done.stopped) == (0, (), False)
    assert rounds_in(heard.told) >= 3
    assert sorted(openings.opened) == sorted(openings.closed) == ["connect", "open_sandbox"]
    # All is there: nothing is opened.
    assert attribute(store, DESIGN).missing == 0
    assert len(openings.opened) == 2


@pytest.mark.deep
def test_ctrl_c_between_rounds_leaves_nothing_running(
    store: Path, openings: Openings, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(psutil.Process().children(recursive=True))
    real = replay_rounds.begun_requests

    def pressed(*args: Any) -> Any:
        # The sandbox still stands: what is asked next would need it.
        assert openings.opened
        assert not openings.closed
        signal.raise_signal(signal.SIGINT)
        return real(*args)

    # Looked up first while it is foreseen what replays will cost, when nothing is open.
    calls = iter(["foreseen"])
    monkeypatch.setattr(
        replay_rounds, "begun_requests", lambda *args: real(*args) if next(calls, "") else pressed(*args)
    )
    with pytest.raises(KeyboardInterrupt):
        attribute(store, DESIGN)
    assert sorted(openings.opened) == sorted(openings.closed) == ["connect", "open_sandbox"]
    assert not {each for each in psutil.Process().children(recursive=True) if each.is_running()} - before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    # The same call does the rest.
    there = replays_of(store)
    monkeypatch.setattr(replay_rounds, "begun_requests", real)
    done = attribute(store, DESIGN)
    assert done.missing == 0
    assert there < replays_of(store)


@pytest.mark.deep
def test_in_a_running_loop_they_are_one_opening_as_well(store: Path, openings: Openings) -> None:
    async def beside() -> Any:
        return await attribute_async(
            store, replay=True, successes=0, samples=2, rollouts=1, precision=0.8, progress=False, max_cost=5.0
        )

    assert not asyncio.run(beside()).undone
    assert sorted(openings.opened) == sorted(openings.closed) == ["connect", "open_sandbox"]
