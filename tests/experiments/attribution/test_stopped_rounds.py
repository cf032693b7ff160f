"""Sequential attributions that are killed, or run out of money, and are started again."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.attribution.scenes import Heard, chosen_of, replays_of, swayed
from tests.experiments.plan_files import wait_for
from tests.experiments.replay.scenes import endpoint_plan, run
from tests.servers.chat_server import ChatServer, Hang, Step

from toolablate.experiments.attribution.explained import explained
from toolablate.experiments.attribution.planned_replays import first_round, run_again
from toolablate.experiments.attribution.replay_rounds import Rounds, attribute
from toolablate.traces.records import Attribution, ReplayDesign
from toolablate.traces.store import Store, verify

DESIGN = ReplayDesign(successes=0, samples=2, rollouts=1)
OPTIONS = ("--replay", "--successes", "0", "--samples", "2", "--rollouts", "1")


def until_the_fifth(request: dict[str, Any]) -> Step:
    """Twelve cells, of which the fifth misleads, in each of two repeats: a search takes some rounds."""
    misled = swayed([f"print({number})" for number in range(100, 112)], lambda shown: "104" in shown)
    return misled(request)


@pytest.fixture
def stores(chat_server: ChatServer, tmp_path: Path) -> tuple[Path, Path]:
    """The same trials twice: two wrong ones, of which nothing was replayed."""
    chat_server.answers(until_the_fifth)
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['none', 'python']", extra="repeats = 2"))
    other = store.with_name("other.sqlite")
    shutil.copy(store, other)
    return store, other


def labels(store: Path) -> list[Attribution | None]:
    return [each.attribution for each in explained(store, design=DESIGN).explained]


def finished(store: Path) -> frozenset[str]:
    with Store(store) as opened:
        return opened.finished_resumptions()


def answering(server: ChatServer, most: int | None = None) -> Callable[[], int]:
    """Answers so many requests and no more; how many it has."""
    answered = 0

    def decide(request: dict[str, Any]) -> Step:
        nonlocal answered
        if answered == most:
            return Hang()
        answered += 1
        return until_the_fifth(request)

    server.answers(decide)
    return lambda: answered


@pytest.mark.deep
@pytest.mark.timeout(300)
def test_killed_in_its_rounds_it_ends_as_without_and_asks_nothing_twice(
    chat_server: ChatServer, stores: tuple[Path, Path]
) -> None:
    whole, killed = stores
    of_whole = answering(chat_server)
    assert attribute(whole, DESIGN).missing == 0
    of_rounds = of_whole() - _requests_of_round_one(whole)
    # What is asked after the first round is answered by one request each, in more than one round.
    assert of_rounds > 2 * DESIGN.samples * 2

    command = [sys.executable, "-m", "toolablate", "attribute", str(killed), *OPTIONS]
    answered = 0
    # Three answers into the rounds, and three before their end: each in the middle of one, of two answers or four.
    for most in (of_whole() - of_rounds + 3, of_rounds - 3 - 3):
        of_killed = answering(chat_server, most)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            there = len(finished(killed))
            wait_for(lambda of_killed=of_killed, most=most: of_killed() == most)  # type: ignore[misc]
            wait_for(lambda there=there: len(finished(killed)) > there and _stands_still(killed))  # type: ignore[misc]
            os.kill(process.pid, signal.SIGKILL)
        answered += most
        assert verify(killed).ok
        assert len(finished(killed)) < len(replays_of(whole))
    of_rest = answering(chat_server)
    done = attribute(killed, DESIGN)
    assert (done.missing, done.replays) == (0, len(replays_of(whole)))
    assert answered + of_rest() == of_whole()
    assert replays_of(killed) == replays_of(whole)
    assert labels(killed) == labels(whole)
    assert None not in labels(whole)


def _requests_of_round_one(store: Path) -> int:
    """Requests that replays of the first round took."""
    first = {
        purpose
        for each in chosen_of(store, DESIGN)
        for asked in first_round(each, DESIGN)
        for purpose in asked.purposes
    }
    with Store(store) as opened:
        return sum(
            sum(event.kind == "model_call" for event in opened.trace(each.trial).events)
            for all_of in opened.counterfactuals().values()
            for purpose in first
            for each in [each for each in all_of if purpose in each.resumption.purposes][
                : DESIGN.samples if purpose.kind in ("early_answer", "ignore_tools") else DESIGN.rollouts
            ]
        )


def _stands_still(store: Path) -> bool:
    """Far longer than the recorder, which writes ten times a second, can need for the last answers."""
    before = finished(store)
    time.sleep(3)
    return finished(store) == before


@pytest.mark.deep
@pytest.mark.timeout(300)
def test_a_later_round_that_is_too_dear_is_left_out_and_done_when_there_is_more(
    chat_server: ChatServer, stores: tuple[Path, Path]
) -> None:
    whole, cut = stores
    of_whole = answering(chat_server)
    attribute(whole, DESIGN)
    of_cut = answering(chat_server)
    with Heard() as heard:
        of_trials = [request for each in chosen_of(cut, DESIGN) for request in first_round(each, DESIGN)]
        with Store(cut) as opened:
            arms = [each.trial for each in opened.summaries() if each.condition == "none"]
            requests = [*of_trials, *filter(None, (run_again(opened, each, DESIGN) for each in arms))]
        of_round_one = Rounds(cut, None, None, live=False, progress=heard).estimate(requests).usd
        assert of_round_one is not None
        part = attribute(cut, DESIGN, max_cost=of_round_one, progress=heard)
    # Round one and nothing else.
    assert part.replays == sum(each.repeats for each in requests) == len(replays_of(cut))
    assert {(each.purpose, each.reason) for each in part.refused} == {("early_answer", "too_dear")}
    assert part.spent_usd <= of_round_one
    assert heard.told[-1].startswith(f"{sum(each.replays for each in part.refused)} replays left out: --max-cost")
    assert replays_of(cut) < replays_of(whole)
    rest = attribute(cut, DESIGN)
    assert (rest.refused, rest.missing) == ((), 0)
    assert replays_of(cut) == replays_of(whole)
    assert of_cut() == of_whole()
    assert labels(cut) == labels(whole)
