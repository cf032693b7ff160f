"""A real Ray on this machine: the same trials, workers that are killed, and keys that stay where they are."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from bench.cluster.nodes import still_there
from bench.kernels.load import Key, descendants, processes
from tests.conftest import Cli
from tests.experiments.cluster.test_runs import run
from tests.experiments.plan_files import KERNELS, endpoint_plan, right, wait_for
from tests.servers.chat_server import ChatServer, Slow, Step, reply

from toolablate.traces.records import Failure, ToolCall
from toolablate.traces.store import Store

pytestmark = [pytest.mark.deep, pytest.mark.timeout(400)]
pytest.importorskip("ray")
KEY = "sk-" + "c0ffee" * 6


@pytest.fixture
def ray_folder() -> Iterator[Path]:
    """Short, since sockets lie in it."""
    folder = Path(tempfile.mkdtemp(prefix="tr", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def on_ray(plan: Path, store: Path, folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "toolablate", "run", str(plan), "--store", str(store), "--cluster", "local"],
        env={**os.environ, "RAY_TMPDIR": str(folder), "RAY_raylet_start_wait_time_s": "180", "MY_KEY": KEY},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # As a command of a shell has it, whose Ctrl-C reaches all of them.
        process_group=0,
    )


def workers(folder: Path) -> list[int]:
    """Processes of the Ray that keeps its files there, which have opened a plan."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            ours = f"RAY_TMPDIR={folder}".encode() in (process / "environ").read_bytes()
            if ours and b"RayWorker" in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def below(roots: Iterable[int]) -> set[Key]:
    """Processes that these have started."""
    seen, above = processes(), set(roots)
    return {seen[pid].key for pid in descendants(seen, above) - above}


def until_said(output: IO[str], words: str) -> None:
    """What is said until then is read."""
    assert any(words in line for line in output)


def coding(request: dict[str, Any]) -> Step:
    """With `python`, the first question's cells set a name, take too long, and print the name. One that waits lacks no
    processor, however many others want one."""
    cells = ["x = 1", "import time; time.sleep(100)", "print(x + 1)"]
    done = sum(message["role"] == "tool" for message in request["messages"])
    prompt = next(message["content"] for message in request["messages"] if message["role"] == "user")
    if request.get("tools") and "Question 1" in prompt and done < len(cells):
        return reply(None, ("python", {"code": cells[done]}))
    return reply("Answer: 1")


def test_replies_recorded_on_ray_give_the_same_trials_here_and_a_cell_over_its_limit_keeps_its_state(
    chat_server: ChatServer, tmp_path: Path, ray_folder: Path, cli: Cli
) -> None:
    # The default backend; doctor's test interrupts cells of bubblewrap's on each node.
    sandbox = "sandbox = { limits = { cell_seconds = 1 } }"
    path = endpoint_plan(tmp_path, chat_server.url, count=2, extra=f"{sandbox}\n[replies]\nmode = 'record'")
    recording = path.read_text(encoding="utf-8").replace("['none']", "['none', 'python']")
    path.write_text(recording, encoding="utf-8")
    replaying = tmp_path / "replay.toml"
    replaying.write_text(recording.replace("'record'", "'replay'"), encoding="utf-8")
    here, there = tmp_path / "here.sqlite", tmp_path / "there.sqlite"
    chat_server.answers(coding)
    ran = on_ray(path, there, ray_folder)
    said, _ = ran.communicate(timeout=300)
    assert ran.returncode == 0, said
    assert "Starting 2 workers" in said
    asked = len(chat_server.requests)
    again = run(path, there)
    assert (again.done_before, again.missing) == (4, 0)
    assert run(replaying, here).missing == 0
    assert len(chat_server.requests) == asked
    compared = cli("verify", here, "--same-as", there)
    assert compared.returncode == 0, compared.stdout
    with Store(there) as opened:
        cells = [
            (event.error, event.output.strip())
            for trace in opened.traces()
            for event in trace.events
            if isinstance(event, ToolCall)
        ]
    assert [error for error, _ in cells] == ["", "timeout", ""]
    assert cells[-1][1] == "2"


def test_killed_workers_cost_attempts_and_no_trial_and_keys_are_in_nothing_that_is_kept(
    chat_server: ChatServer, tmp_path: Path, ray_folder: Path
) -> None:
    asked, killed = 0, list[int]()

    def dies(request: dict[str, Any]) -> Step:
        nonlocal asked
        asked += 1
        if asked == 3:
            killed.extend(workers(ray_folder))
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
        return Slow(0.2, right(request))

    chat_server.answers(dies)
    path, store = (
        endpoint_plan(tmp_path, chat_server.url, count=8, concurrency=2, model="api_key_env = 'MY_KEY'"),
        tmp_path / "run.sqlite",
    )
    ran = on_ray(path, store, ray_folder)
    said, _ = ran.communicate(timeout=300)
    assert ran.returncode == 0, said
    assert len(killed) == 2
    with Store(store) as opened:
        assert Counter((each.outcome, each.verdict) for each in opened.summaries()) == {("answered", "correct"): 8}
        traces = list(opened.traces())
    assert [event for trace in traces for event in trace.events if isinstance(event, Failure)] == []
    # What a store keeps is compressed.
    assert KEY not in "".join(trace.model_dump_json() for trace in traces)
    assert {headers.get("authorization") for headers in chat_server.headers} == {f"Bearer {KEY}"}
    kept = [file for folder in (ray_folder, tmp_path) for file in folder.rglob("*") if file.is_file()]
    assert any("raylet" in file.name for file in kept)
    assert [file for file in kept if KEY.encode() in file.read_bytes()] == []
    assert KEY not in said
    assert workers(ray_folder) == []


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_ends_a_run_its_workers_and_their_kernels_and_the_same_command_goes_on(
    chat_server: ChatServer, tmp_path: Path, ray_folder: Path, presses: int
) -> None:
    """Once lets the trials end that have begun, twice cancels them. In a terminal it reaches Ray's processes too."""
    pressed = 0

    def answers(request: dict[str, Any]) -> Step:
        if any(message["role"] == "tool" for message in request["messages"]):
            question = next(each["content"] for each in request["messages"] if each["role"] == "user")
            return reply(f"Answer: {question.split()[1]}")
        seconds = 2 if presses == 1 or pressed == presses else 100
        return reply(None, ("python", {"code": f"import time; time.sleep({seconds})"}))

    chat_server.answers(answers)
    path = endpoint_plan(tmp_path, chat_server.url, count=6, concurrency=2, extra=KERNELS)
    path.write_text(path.read_text(encoding="utf-8").replace("['none']", "['python']"), encoding="utf-8")
    store = tmp_path / "run.sqlite"
    with on_ray(path, store, ray_folder) as running:
        wait_for(lambda: len(chat_server.requests) >= 2 and below(workers(ray_folder)))
        begun = below([running.pid])
        asked = len(chat_server.requests)
        os.killpg(running.pid, signal.SIGINT)
        pressed = 1
        if presses == 2:
            assert running.stdout is not None
            until_said(running.stdout, "Stopping")
            os.killpg(running.pid, signal.SIGINT)
            pressed = 2
        said, _ = running.communicate(timeout=300)
    assert running.returncode == 1, said
    assert "you stopped the run" in said
    assert ("Cancelling running trials" in said) == (presses == 2)
    wait_for(lambda: not still_there(begun))
    cancelled = asked if presses == 2 else 0
    again = on_ray(path, store, ray_folder)
    said, _ = again.communicate(timeout=300)
    assert again.returncode == 0, said
    assert len(chat_server.requests) == 2 * 6 + cancelled
    with Store(store) as opened:
        ended = [[each.outcome for each in opened.attempts(seen.trial)] for seen in opened.summaries()]
    assert ended == [["answered"]] * 6
