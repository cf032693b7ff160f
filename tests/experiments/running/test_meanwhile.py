"""Runs and comparisons while another run of the store is on its way."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.experiments.nursery import nursery
from tests.experiments.plan_files import endpoint_plan, right, wait_for
from tests.servers.chat_server import ChatServer, Step, Until
from tests.traces.samples import attempt, begun, plan

from toolablate.analysis.from_store import read_paired
from toolablate.traces.store import Recorder, Store, standing, verify


def _ended(store: Path) -> int:
    return sum(each.ended for each in standing(store).recorders) if store.exists() else 0


def _finished(store: Path) -> int:
    with Store(store) as opened:
        return len(opened.finished_trials())


def test_an_answer_key_that_is_mended_while_a_run_goes_on_scores_what_that_run_does(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    store, wrong, mended = tmp_path / "store.sqlite", tmp_path / "wrong", tmp_path / "mended"
    for folder in (wrong, mended):
        folder.mkdir()

    def decide(request: dict[str, Any]) -> Step:
        # What the first run is at when the second comes ends last of all.
        at_once = len(chat_server.requests) not in (3, 4)
        return right(request) if at_once else Until(lambda: _finished(store) >= 10, right(request))

    chat_server.answers(decide)
    questions = endpoint_plan(wrong, chat_server.url, count=12).parent / "questions.jsonl"
    lines = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    keyed = [line | {"target": {"kind": "number", "value": 999}} for line in lines]
    questions.write_text("\n".join(map(json.dumps, keyed)), encoding="utf-8")
    with nursery(tmp_path) as runs:
        first = runs.start(wrong / "plan.toml", store)
        wait_for(lambda: _ended(store) >= 2)
        second = runs.start(endpoint_plan(mended, chat_server.url, count=12), store)
        ended = [runs.wait(first), runs.wait(second)]
        assert runs.errors == ""
    assert 0 in ended
    with Store(store) as opened:
        assert len(opened.runs()) == 2
        assert [seen.verdict for seen in opened.summaries()] == ["correct"] * 12
    assert verify(store).ok


def test_a_failed_trial_that_is_run_again_is_left_out_of_no_comparison(tmp_path: Path) -> None:
    async def run_again(recorder: Recorder) -> None:
        first, second, *_ = plan(recorder)
        await attempt(recorder, first, outcome="failed")
        await attempt(recorder, second)
        await begun(recorder, first)

    path = tmp_path / "s.db"
    with Recorder(path) as recorder:
        asyncio.run(run_again(recorder))
        assert [row.running for row in standing(path).counts] == [1, 0]
        paired = read_paired(path)
    assert (len(paired.summaries), paired.left_out) == (2, 0)
