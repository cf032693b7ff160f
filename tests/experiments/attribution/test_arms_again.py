"""Arms in which nothing is called, run again beside the replays of a wrong trial."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.experiments.replay.scenes import endpoint_plan, run, trial_of
from tests.servers.chat_server import ChatServer, Step, reply

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.experiments.attribution.explained import explained
from toolablate.experiments.attribution.replay_evidence import AGAIN
from toolablate.experiments.attribution.replay_rounds import attribute
from toolablate.experiments.attribution.store_report import read_explanation
from toolablate.reports.why.page import why
from toolablate.traces.records import ReplayDesign
from toolablate.traces.store import Store

ONCE = ReplayDesign(failures=1, successes=1, samples=2, rollouts=1)


def answering(with_tools: int, without: int = 4) -> Callable[[dict[str, Any]], Step]:
    return lambda request: reply(f"Answer: {with_tools if request.get('tools') else without}")


def again_of(store: Path, condition: str) -> int:
    trial = trial_of(store, condition)
    with Store(store) as opened:
        return sum(AGAIN in each.resumption.purposes for each in opened.counterfactuals(trial=trial).get(trial, ()))


def test_what_a_wrong_trial_is_compared_with_is_run_twice_more(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(answering(7))
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['none', 'python']"))
    done = attribute(store, ONCE)
    assert (done.missing, done.refused) == (0, ())
    assert again_of(store, "none") == 2
    (each,) = explained(store).explained
    assert (each.evidence.inputs.arms.none, each.evidence.inputs.arms.without_tools) == ((1,), (1, 1, 1))
    assert each.attribution is not None
    assert each.attribution.note.endswith("3 of 3 trials without tools are right")
    told = read_explanation(store, trial_of(store, "python"))
    assert isinstance(told, Explanation)
    rows = {row.name: row.came or rung.came for part in why(told) for rung in part.rungs for row in rung.rows}
    name = "without tools: 4; 4; 4 (1 trial, 2 more runs)"
    assert [came for row, came in rows.items() if row.startswith(name)] == ["3 of 3"]
    asked = len(chat_server.requests)
    attribute(store, ONCE)
    assert len(chat_server.requests) == asked


def test_a_right_trial_asks_nothing_of_its_arms(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(answering(4))
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['none', 'python']"))
    attribute(store, ONCE)
    assert again_of(store, "none") == 0
