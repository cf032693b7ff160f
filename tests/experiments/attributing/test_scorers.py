"""Scores that replays would not have are refused before anything is spent."""

import json
from pathlib import Path

import pytest
from tests.experiments.attributing.scenes import ALL, swayed
from tests.experiments.counterfactual.scenes import endpoint_plan, run
from tests.servers.chat_server import ChatServer

from toolablate.experiments.attribution.attributing import attribute
from toolablate.traces.errors import InputError
from toolablate.traces.store import Store

TATQA = "tatqa"


def test_replays_that_would_have_no_score_that_counts_are_not_made(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(swayed(["print(7)"], lambda shown: "7" in shown))
    plan = endpoint_plan(tmp_path, chat_server, conditions="['none', 'python']")
    question = {"id": "q1", "prompt": "What is 2 + 2?", "target": {"kind": "spans", "spans": ["4"]}}
    (tmp_path / "questions.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    store, first = run(plan), tmp_path / "first.toml"
    first.write_text(plan.read_text(), encoding="utf-8")
    plan.write_text(plan.read_text().replace("file =", "scorer = 'tatqa'\nfile ="), encoding="utf-8")
    run(plan)
    asked = len(chat_server.requests)
    by_the_first = ALL.model_copy(update={"scorer": "spans"})
    with pytest.raises(InputError, match=r"would be scored by tatqa.*the scores of spans are") as caught:
        attribute(store, by_the_first)
    assert caught.value.code == "other_scorer"
    with pytest.raises(InputError, match="would be scored by spans, where"):
        attribute(store, ALL.model_copy(update={"scorer": TATQA}), plan=first)
    assert len(chat_server.requests) == asked
    with Store(store) as opened:
        assert opened.counterfactuals(scorers=["spans"]) == {}
