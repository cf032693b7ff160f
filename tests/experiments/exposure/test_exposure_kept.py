"""What `toolablate exposure` keeps: stopped, killed, damaged, written by two, asked otherwise."""

import fcntl
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.experiments.exposure.exposure_plans import (
    few,
    kept,
    ran,
    remembering,
    write_plan,
)
from tests.experiments.plan_files import wait_for
from tests.servers.chat_server import ChatServer, Until

from toolablate.traces.errors import InputError


def start(plan: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "toolablate", "exposure", str(plan)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_a_test_that_is_stopped_goes_on_where_it_stopped(
    chat_server: ChatServer, tmp_path: Path, sign: signal.Signals
) -> None:
    known = few(20)
    stopped, answer = list[signal.Signals](), remembering(known)
    chat_server.answers(
        lambda request: Until(lambda: stopped, answer(request)) if len(chat_server.requests) > 5 else answer(request)
    )
    plan = write_plan(tmp_path, chat_server.url, {"B": known})
    with start(plan) as running:
        wait_for(lambda: len(chat_server.requests) >= 6)
        running.send_signal(sign)
        stopped.append(sign)
        _, errors = running.communicate(timeout=60)
    assert "Traceback" not in errors
    if sign == signal.SIGINT:
        assert running.returncode == 1
        assert "Stopped; what was finished is kept, and the same command goes on from there." in errors
    before, asked = kept(plan), len(chat_server.requests)
    assert 2 <= len(before) < 20
    done = ran(plan, "--json")
    assert done.exit_code == 0, done.output
    assert len(chat_server.requests) - asked == 20 - len(before)
    assert kept(plan)[: len(before)] == before
    assert len(kept(plan)) == 20
    assert f"{20 - len(before)} of 20 prompts to continue ({len(before)} are there already)" in done.stderr


@pytest.fixture
def complete(chat_server: ChatServer, tmp_path: Path) -> Path:
    known = few()
    chat_server.answers(remembering(known))
    plan = write_plan(tmp_path, chat_server.url, {"B": known})
    assert ran(plan).exit_code == 0
    return plan


@pytest.mark.parametrize("left", [1, 15, 25, 100, -1])
def test_a_line_that_was_cut_off_is_dropped_and_asked_again(chat_server: ChatServer, complete: Path, left: int) -> None:
    """By a byte after its beginning, and so on; -1 leaves all but the line's end, which is whole."""
    file = complete.parent / "kept/came.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]) + lines[-1][:left])
    before = len(chat_server.requests)
    assert ran(complete).exit_code == 0
    assert len(chat_server.requests) - before == (0 if left == -1 else 1)
    assert len(kept(complete)) == 12
    assert file.read_bytes().splitlines(keepends=True)[:-1] == lines[:-1]
    assert file.read_bytes().endswith(b"}\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{}\n", "model: Field required"),
        (b"{broken\n", "Invalid JSON"),
        (b"notes of mine", "Invalid JSON"),
        (b'{"version":2}\n', "version: Input should be 1"),
        (b"\xff\xfe\n", ":4: no continuation"),
    ],
)
def test_other_damage_is_told_with_its_line_and_nothing_is_touched(
    chat_server: ChatServer, complete: Path, line: bytes, said: str
) -> None:
    file = complete.parent / "kept/came.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    damaged = b"".join(lines[:3]) + line if not line.endswith(b"\n") else b"".join([*lines[:3], line, *lines[3:]])
    file.write_bytes(damaged)
    before = len(chat_server.requests)
    done = ran(complete)
    assert isinstance(done.exception, InputError)
    assert f"{file}:4: no continuation of a prompt" in str(done.exception)
    assert said in str(done.exception)
    assert file.read_bytes() == damaged
    assert len(chat_server.requests) == before


def test_a_file_that_another_process_writes_is_left_alone(complete: Path) -> None:
    with (complete.parent / "kept/came.jsonl").open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = ran(complete)
    assert isinstance(done.exception, InputError)
    assert "is being written by another process" in str(done.exception)


def test_another_share_limit_or_model_is_asked_and_what_came_before_is_kept(
    chat_server: ChatServer, complete: Path
) -> None:
    original = complete.read_text(encoding="utf-8")
    for change, asked in (("share = 0.5\n", 12), ("share = 0.5\nlimit = 5\n", 0), ("limit = 5\n", 0), ("", 0)):
        complete.write_text(change + original, encoding="utf-8")
        before = len(chat_server.requests)
        done = ran(complete, "--json")
        assert len(chat_server.requests) - before == asked
        (figure,) = json.loads(done.stdout)["exposures"]
        assert figure["questions"] == (5 if "limit" in change else 12)
    complete.write_text(original + "sampling = { temperature = 1.0 }\n", encoding="utf-8")
    ran(complete)
    assert len(kept(complete)) == 36
