"""Nodes of a real Ray that are not as a plan needs them, and commands that the cluster does not take."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.experiments.plan_files import endpoint_plan, right
from tests.servers.chat_server import ChatServer

pytestmark = [pytest.mark.deep, pytest.mark.timeout(400)]
pytest.importorskip("ray")
RIGHT, OTHER = "a" * 64, "b" * 64


@contextmanager
def head(env: Mapping[str, str]) -> Iterator[str]:
    """The address of a cluster of one node that is started with this environment and no other."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # Short, since sockets lie in it.
    folder = Path(tempfile.mkdtemp(prefix="tr", dir="/tmp"))
    passed = {name: os.environ[name] for name in ("HOME", "PYTHONPATH") if name in os.environ}
    # Not `ray stop`, which ends every Ray of the machine.
    command = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--block", f"--port={port}", "--num-cpus=1"]
    options = ["--disable-usage-stats", "--include-dashboard=false", "--object-store-memory=80000000"]
    started = subprocess.Popen(
        [*command, *options],
        env={**passed, **env, "RAY_TMPDIR": str(folder), "RAY_raylet_start_wait_time_s": "180"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert started.stdout is not None
    try:
        told: list[str] = []
        for line in started.stdout:
            told.append(line)
            if "Ray runtime started" in line:
                break
        else:
            raise AssertionError("".join(told))
        yield f"127.0.0.1:{port}"
    finally:
        started.terminate()
        started.communicate(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)


def test_what_a_node_lacks_is_named_by_doctor_and_by_a_run_and_another_token_is_refused(
    chat_server: ChatServer, tmp_path: Path, cli: Cli
) -> None:
    chat_server.answers(right)
    plan = endpoint_plan(
        tmp_path, chat_server.url, count=1, model="api_key_env = 'MY_KEY'", extra="sandbox = 'bubblewrap'"
    )
    plan.write_text(plan.read_text().replace("['none']", "['python']"))
    mine = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": RIGHT, "MY_KEY": "sk-mine"}
    nothing = tmp_path / "empty"
    nothing.mkdir()
    with head({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": RIGHT, "PATH": str(nothing)}) as address:
        looked = cli("doctor", plan, "--cluster", address, env=mine)
        ran = cli("run", plan, "--cluster", address, env=mine)
        other = cli("run", plan, "--cluster", address, env={**mine, "RAY_AUTH_TOKEN": OTHER})
    assert looked.returncode == 1, looked.stdout + looked.stderr
    shown = " ".join(looked.stdout.split())
    assert "does not work" in shown
    assert "bubblewrap" in shown
    assert "MY_KEY is not set" in shown
    assert "sk-mine" not in shown
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert "is left out" in " ".join(ran.stderr.split())
    assert "'bubblewrap' does not work here" in " ".join(ran.stderr.split())
    assert other.returncode == 2, other.stdout + other.stderr
    assert "does not take the token of this command" in " ".join(other.stderr.split())
    assert chat_server.requests == []


def test_a_cluster_that_takes_any_token_is_refused(chat_server: ChatServer, tmp_path: Path, cli: Cli) -> None:
    plan = endpoint_plan(tmp_path, chat_server.url, count=1)
    mine = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": RIGHT}
    with head({"RAY_AUTH_MODE": "disabled", "PATH": os.environ["PATH"]}) as address:
        ran = cli("run", plan, "--cluster", address, env=mine)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    port = address.rpartition(":")[2]
    assert f":{port}' has none" in " ".join(ran.stderr.split())
