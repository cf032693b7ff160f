"""`toolablate attribute` on wrong trials that a judge reads, and on those of a scripted model."""

import json
from pathlib import Path

import pytest
from tests.experiments.attributing.test_attribute import called, called_through, said
from tests.experiments.diagnosing.failures import failing_store, reads
from tests.servers.chat_server import ChatServer

from toolablate.traces.errors import InputError


def test_a_judge_reads_wrong_trials_and_its_labels_are_shown(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(reads)
    store = failing_store(tmp_path, chat_server)
    told = called("attribute", store, "--judge", "j")
    assert told.exit_code == 0, told.output
    assert "Judge j: 3 failures labelled" in told.stderr
    found = json.loads(said("attribute", store, "--json"))["trials"]
    labels = {each["question"]: [read["error_type"] for read in each["diagnoses"]] for each in found}
    assert not any("calls" in read for each in found for read in each["diagnoses"])
    assert labels == {"q0": ["reasoning"], "q1": ["calculation"], "q2": ["reasoning"], "q3": []}
    wrong = next(each["trial"] for each in found if each["question"] == "q0")
    assert "reads reasoning (event 1), a hypothesis" in " ".join(said("explain", store, wrong).split())
    asked = len(chat_server.requests)
    assert called("attribute", store, "--judge", "j").exit_code == 0
    assert len(chat_server.requests) == asked


def test_what_judges_may_cost_is_refused_before_they_are_asked(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(reads)
    store = failing_store(tmp_path, chat_server)
    with pytest.raises(InputError, match="--max-cost"):
        called_through("attribute", store, "--judge", "j", "--max-cost", "0")
    assert not chat_server.requests


def test_a_scripted_model_is_not_replayed(chat_server: ChatServer, tmp_path: Path) -> None:
    store = failing_store(tmp_path, chat_server)
    with pytest.raises(InputError, match="is scripted, and says what its script says"):
        called_through("attribute", store, "--replay")
    page = " ".join(
        said("explain", store, json.loads(said("attribute", store, "--json"))["trials"][0]["trial"]).split()
    )
    assert "says what its script says whatever is changed" in page
