"""Whether a later result came again in replays that draw its calls again, on a trial that it misled."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.attribution.scenes import swayed
from tests.experiments.replay.scenes import endpoint_plan, run, trial_of
from tests.servers.chat_server import ChatServer, Step

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.experiments.attribution.replay_rounds import attribute
from toolablate.experiments.attribution.store_report import read_explanation
from toolablate.reports.why.page import why
from toolablate.traces.records import ReplayDesign


def misled_by(second: Callable[[int], str]) -> Callable[[dict[str, Any]], Step]:
    """Runs two cells, the second one by how often it was asked for, and says 7 once a result has it."""
    times = 0

    def decide(request: dict[str, Any]) -> Step:
        nonlocal times
        asked = sum(message["role"] == "assistant" for message in request["messages"]) == 1
        times += asked and bool(request.get("tools")) and request.get("tool_choice") != "none"
        return swayed(["print(5)", second(times)], lambda shown: "7" in shown)(request)

    return decide


@pytest.mark.deep
@pytest.mark.parametrize(
    ("second", "times"),
    [(lambda _: "print(7)", 2), (lambda asked: "print(7)" if asked == 1 else "print(8)", 0)],
    ids=["each time", "in the trial alone"],
)
def test_in_how_many_redraws_a_later_result_came_again_stands_beside_them(
    chat_server: ChatServer, tmp_path: Path, second: Callable[[int], str], times: int
) -> None:
    chat_server.answers(misled_by(second))
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['none', 'python']"))
    attribute(store, ReplayDesign(failures=1, successes=0, samples=2, rollouts=2, precision=0.5))
    told = read_explanation(store, trial_of(store, "python"))
    assert isinstance(told, Explanation)
    assert told.explained.evidence.came_again == {3: times}
    names = [row.name for part in why(told) for rung in part.rungs for row in rung.rows]
    (name,) = (each for each in names if each.startswith("with all replies after its first result drawn again"))
    assert f"(event 3's result came again in {times} of 2)" in name
