"""Readings that are stopped or killed go on where they stopped: what was paid for is kept."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.diagnosing.failures import PRICED, diagnoses, failing_store, reads
from tests.experiments.judged import judge_at
from tests.experiments.plan_files import wait_for
from tests.servers.chat_server import ChatServer, Until

from toolablate.experiments.diagnosing import diagnose
from toolablate.traces.store import verify

PROGRAM = "import sys\nfrom toolablate.experiments.diagnosing import diagnose, diagnoses_told\n"
PROGRAM += "print(*diagnoses_told(diagnose(sys.argv[1])), sep='\\n')"


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_what_was_read_is_kept(chat_server: ChatServer, tmp_path: Path, sign: signal.Signals) -> None:
    stopped = list[signal.Signals]()

    def until_stopped(request: dict[str, Any]) -> Any:
        return Until(lambda: stopped, reads(request)) if len(chat_server.requests) > 4 else reads(request)

    chat_server.answers(until_stopped)
    store = failing_store(tmp_path, chat_server, count=9, judges=judge_at(chat_server.url, more=PRICED))
    command = [sys.executable, "-c", PROGRAM, str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: len(chat_server.requests) >= 5)
        running.send_signal(sign)
        stopped.append(sign)
        output, errors = running.communicate(timeout=60)
    assert "Traceback" not in errors
    read, asked = len(diagnoses(store)), len(chat_server.requests)
    assert 3 <= read < 8
    if sign == signal.SIGINT:
        assert read == asked
        assert f"{8 - read} failure" in output
        assert "not read yet (you stopped it); the same command reads them." in output
    chat_server.answers(reads)
    assert diagnose(store).missing == 0
    assert len(chat_server.requests) == asked + 8 - read
    assert verify(store).ok
