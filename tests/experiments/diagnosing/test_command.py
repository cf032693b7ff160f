"""`attribute --judge`, as it is called."""

import json
from pathlib import Path

from tests.conftest import Cli
from tests.experiments.diagnosing.failures import diagnoses, failing_store, reads
from tests.servers.chat_server import ChatServer, Status


def test_a_judge_reads_before_the_report(chat_server: ChatServer, tmp_path: Path, cli: Cli) -> None:
    chat_server.answers(reads)
    store = failing_store(tmp_path, chat_server)
    ran = cli("attribute", store, "--judge", "j", "--json")
    assert ran.returncode == 0, ran.stderr
    said = " ".join(ran.stderr.split())
    assert "3 failures to be read by 1 judge, for about $" in said
    assert "Judge j: 3 failures labelled (3 requests, $0.00006)" in said
    json.loads(ran.stdout)
    assert {each.error_type for each in diagnoses(store)} == {"reasoning", "calculation"}
    assert "no judge was asked" in cli("attribute", store, "--judge", "j").stderr
    assert len(chat_server.requests) == 3


def test_what_is_left_unread_is_told(chat_server: ChatServer, tmp_path: Path, cli: Cli) -> None:
    chat_server.answers(lambda request: Status(401))
    store = failing_store(tmp_path, chat_server)
    ran = cli("attribute", store, "--judge", "j")
    assert ran.returncode == 1, ran.stderr
    assert "3 failures could not be read: unauthorized" in " ".join(ran.stderr.split())
    refused = cli("attribute", store, "--judge", "nobody")
    assert refused.returncode == 2
    said = " ".join(refused.stderr.split())
    assert "--judge: the plan has no judge 'nobody'" in said
    assert "its judges are j" in said
    assert diagnoses(store) == []
