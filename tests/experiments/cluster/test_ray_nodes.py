"""Nodes of a real Ray that are not as a plan needs them, that are lost, and commands that the cluster does not take."""

import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.cluster.test_runs import with_a_file
from tests.experiments.plan_files import endpoint_plan, outcomes, right, wait_for
from tests.servers.chat_server import ChatServer, reply
from tests.servers.ports import free_port
from tests.tools.archive.samples import filled

from toolablate.tools.archive import seal

pytestmark = [pytest.mark.deep, pytest.mark.timeout(400)]
pytest.importorskip("ray")
RIGHT, OTHER = "a" * 64, "b" * 64


START = [str(Path(sys.executable).parent / "ray"), "start", "--num-cpus=1", "--object-store-memory=80000000"]
QUIET = ["--disable-usage-stats", "--include-dashboard=false", "--include-log-monitor=false"]
PASSED = {name: os.environ[name] for name in ("HOME", "PYTHONPATH") if name in os.environ}


def in_folder(folder: Path) -> dict[str, str]:
    """A worker's process that is not there in time is ended by Ray, and started anew without end: on a busy machine its
    60 s may be too few."""
    slow = {"RAY_raylet_start_wait_time_s": "180", "RAY_worker_register_timeout_seconds": "400"}
    return {"RAY_TMPDIR": str(folder), **slow}


def command(*arguments: str | Path, cwd: Path, env: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    """As `cli`, for as long as the test may take: what Ray takes depends on who else uses the machine."""
    whole = [sys.executable, "-P", "-m", "toolablate", *map(str, arguments)]
    own = {**os.environ, **env, "RAY_raylet_start_wait_time_s": "180"}
    return subprocess.run(whole, env=own, cwd=cwd, capture_output=True, text=True, check=False)


@contextmanager
def head(env: Mapping[str, str], before: Sequence[str] = ()) -> Iterator[str]:
    """The address of a cluster of one node that is started with this environment and no other; `before` comes before
    the command."""
    port = free_port()
    # Short, since sockets lie in it.
    folder = Path(tempfile.mkdtemp(prefix="tr", dir="/tmp"))
    # Not `ray stop`, which ends every Ray of the machine.
    started = subprocess.Popen(
        [*before, *START, *QUIET, "--head", "--block", f"--port={port}"],
        env={**PASSED, **env, **in_folder(folder)},
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


@contextmanager
def joined(address: str, env: Mapping[str, str]) -> Iterator[None]:
    """One node more, of a cluster at this address."""
    folder = Path(tempfile.mkdtemp(prefix="tr", dir="/tmp"))
    started = subprocess.Popen(
        [*START, "--disable-usage-stats", "--block", f"--address={address}"],
        env={**PASSED, "PATH": os.environ["PATH"], **env, **in_folder(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert started.stdout is not None
    try:
        assert any("Ray runtime started" in line for line in started.stdout)
        yield
    finally:
        started.terminate()
        started.communicate(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)


def test_what_a_node_lacks_is_named_by_doctor_and_by_a_run_and_another_token_is_refused(
    chat_server: ChatServer, tmp_path: Path
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
        looked = command("doctor", plan, "--cluster", address, cwd=tmp_path, env=mine)
        ran = command("run", plan, "--cluster", address, cwd=tmp_path, env=mine)
        other = command("run", plan, "--cluster", address, cwd=tmp_path, env={**mine, "RAY_AUTH_TOKEN": OTHER})
    assert looked.returncode == 1, looked.stdout + looked.stderr
    shown = " ".join(looked.stdout.split())
    assert "does not work" in shown
    assert "bubblewrap" in shown
    assert "MY_KEY is not set" in shown
    assert "where `ray start` is called on that node" in shown
    assert "sk-mine" not in shown
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert "is left out" in " ".join(ran.stderr.split())
    assert "'bubblewrap' does not work here" in " ".join(ran.stderr.split())
    assert other.returncode == 2, other.stdout + other.stderr
    assert "does not take the token of this command" in " ".join(other.stderr.split())
    assert chat_server.requests == []


def test_a_cluster_that_takes_any_token_is_refused(chat_server: ChatServer, tmp_path: Path) -> None:
    plan = endpoint_plan(tmp_path, chat_server.url, count=1)
    mine = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": RIGHT}
    with head({"RAY_AUTH_MODE": "disabled", "PATH": os.environ["PATH"]}) as address:
        ran = command("run", plan, "--cluster", address, cwd=tmp_path, env=mine)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    port = address.rpartition(":")[2]
    assert f":{port}' has none" in " ".join(ran.stderr.split())


def test_a_node_without_toolablate_is_named_at_once_with_what_to_do(chat_server: ChatServer, tmp_path: Path) -> None:
    plan = endpoint_plan(tmp_path, chat_server.url, count=1)
    mine = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": RIGHT}
    (tmp_path / "toolablate").mkdir()
    (tmp_path / "toolablate" / "__init__.py").touch()
    with head({**mine, "PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)}) as address:
        ran = command("run", plan, "--cluster", address, cwd=tmp_path, env=mine)
    told = " ".join(ran.stderr.split())
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert re.search(r"no worker can be started; at the node \S+: ModuleNotFoundError", told), told
    assert "install toolablate there as it is here" in told


def test_a_node_with_another_archive_is_named_by_doctor_and_by_a_run(chat_server: ChatServer, tmp_path: Path) -> None:
    """There another folder is mounted in the place of the plan's archive."""
    within = ["unshare", "--mount", "--propagation", "private"]
    if not shutil.which("unshare") or subprocess.run([*within, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespace of mounts can be made here")
    chat_server.answers(right)
    plan = endpoint_plan(tmp_path, chat_server.url, count=1, extra="[web]\nmode = 'replay'\narchive = 'kept'")
    tools = "[{ name = 'c', tools = ['browser_open'] }]"
    plan.write_text(plan.read_text(encoding="utf-8").replace("['none']", tools), encoding="utf-8")
    here = seal(filled(tmp_path / "kept", 1)).root
    there = seal(filled(tmp_path / "other", 2)).root
    mine = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": RIGHT}
    mounted = ["sh", "-c", f'mount --bind {tmp_path}/other {tmp_path}/kept && exec "$@"', "sh"]
    with head({**mine, "PATH": os.environ["PATH"]}, [*within, *mounted]) as address:
        looked = command("doctor", plan, "--cluster", address, cwd=tmp_path, env=mine)
        ran = command("run", plan, "--cluster", address, cwd=tmp_path, env=mine)
    assert (looked.returncode, ran.returncode) == (1, 2), looked.stdout + ran.stderr
    differs = f"its environment is another: web: replay {there} there, replay {here} at the driver"
    told = " ".join(ran.stderr.split())
    assert re.search(rf"no worker can be started; at {re.escape(socket.gethostname())}, process \d+: {differs}", told)
    assert "copy the plan's folder, and what else the plan names, to the same path" in told
    shown = "".join(looked.stdout.split())
    assert "".join(differs.split()) in shown
    assert chat_server.requests == []
    assert not (tmp_path / "runs" / "plan.sqlite").exists()


def with_own_tool(folder: Path, url: str) -> Path:
    path = endpoint_plan(folder, url, count=2)
    own = "def double(number: int) -> int:\n    'Doubles.'\n    return 2 * number\n"
    (folder / "ours.py").write_text(f"from toolablate.tools import tool\n\n@tool\n{own}", encoding="utf-8")
    conditions = "[{ name = 'own', tools = ['ours:double'] }]"
    path.write_text(path.read_text(encoding="utf-8").replace("['none']", conditions), encoding="utf-8")
    return path


def test_a_node_without_the_plans_files_is_left_out_at_the_start_and_others_do_its_work(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    """Else each trial there would end by itself. Where no node has them nothing is asked."""
    within = ["unshare", "--mount", "--propagation", "private"]
    if not shutil.which("unshare") or subprocess.run([*within, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespace of mounts can be made here")
    chat_server.answers(read_first)
    plans = {}
    for name, made in (("file", with_a_file), ("tool", with_own_tool)):
        (tmp_path / "given" / name).mkdir(parents=True)
        plans[name] = made(tmp_path / "given" / name, chat_server.url)
    lacks = {
        "file": "it has not what the driver has: the question's file table.csv cannot be read: No such file or directory",
        "tool": "it has not what the driver has: ",
    }
    mine = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": RIGHT}
    emptied = ["sh", "-c", f'mount -t tmpfs none {tmp_path}/given && exec "$@"', "sh"]
    with head({**mine, "PATH": os.environ["PATH"]}, [*within, *emptied]) as address:
        for name, plan in plans.items():
            ran = command("run", plan, "--cluster", address, cwd=tmp_path, env=mine)
            told = " ".join(ran.stderr.split())
            assert ran.returncode == 2, told
            assert re.search(rf"no worker can be started; at {re.escape(socket.gethostname())}, process \d+: ", told)
            assert lacks[name] in told
            assert "copy the plan's folder, and what else the plan names, to the same path" in told
            assert not list(plan.parent.rglob("*.sqlite"))
        looked = command("doctor", plans["file"], "--cluster", address, cwd=tmp_path, env=mine)
        assert looked.returncode == 1
        assert "".join(lacks["file"].split()) in "".join(looked.stdout.split())
        assert chat_server.requests == []
        with joined(address, mine):
            for name, plan in plans.items():
                ran = command("run", plan, "--cluster", address, cwd=tmp_path, env=mine)
                told = " ".join(ran.stderr.split())
                assert ran.returncode == 0, told
                assert re.search(rf"the worker at \S+, process \d+ is left out: {re.escape(lacks[name])}", told), told
                assert set(outcomes(next(plan.parent.rglob("*.sqlite"))).values()) == {("answered", "correct")}


def read_first(request: dict[str, Any]) -> Any:
    """With `python` the answer is in a file beside the code."""
    tools = [each["function"]["name"] for each in request.get("tools", [])]
    asked = next(each["content"] for each in request["messages"] if each["role"] == "user").split()[1]
    if tools == ["python"] and request["messages"][-1]["role"] != "tool":
        return reply(None, ("python", {"code": "print(open('table.csv').read())"}))
    if tools == ["python"]:
        assert "a,1" in request["messages"][-1]["content"]
    return reply(f"Answer: {asked}")


TO_RAY = "import ray._private.utils as u; u.compute_version_info = lambda: (u.ray.__version__, '3.12.4')"
TO_US = "import platform; platform.python_version = lambda: '3.12.4'"


def pretending(folder: Path, *lines: str) -> dict[str, str]:
    """For processes that say that their Python is another: to Ray, which asks it of drivers alone, or to us."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("\n".join(lines), encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))}


def test_a_node_with_another_python_is_refused_before_anything_is_asked(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    chat_server.answers(right)
    plan = endpoint_plan(tmp_path, chat_server.url, count=1)
    mine = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": RIGHT}
    node, driver = pretending(tmp_path / "node", TO_RAY, TO_US), pretending(tmp_path / "driver", TO_RAY)
    with head({**mine, **node, "PATH": os.environ["PATH"]}) as address:
        joining = command("run", plan, "--cluster", address, cwd=tmp_path, env=mine)
        ran = command("run", plan, "--cluster", address, cwd=tmp_path, env={**mine, **driver})
        looked = command("doctor", plan, "--cluster", address, cwd=tmp_path, env={**mine, **driver})
    own, ray = platform.python_version(), version("ray")
    told = " ".join(joining.stderr.split())
    assert joining.returncode == 2, told
    assert f"has Ray {ray} and Python 3.12.4, this command Ray {ray} and Python {own}" in told
    told = " ".join(ran.stderr.split())
    assert ran.returncode == 2, told
    assert f"its versions are others: python: 3.12.4 there, {own} at the driver" in told
    assert "install the same Python" in told
    assert looked.returncode == 1
    assert f"python 3.12.4 there, {own} at the driver" in " ".join(looked.stdout.split())
    assert chat_server.requests == []


@contextmanager
def without_block(env: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """A cluster whose other processes stay where its node is killed: its address and its folder."""
    folder, port = Path(tempfile.mkdtemp(prefix="tr", dir="/tmp")), free_port()
    own = {**PASSED, "PATH": os.environ["PATH"], **env, **in_folder(folder)}
    try:
        subprocess.run([*START, *QUIET, "--head", f"--port={port}"], env=own, capture_output=True, check=True)
        yield f"127.0.0.1:{port}", folder
    finally:
        for process in of_ray(folder):
            os.kill(process, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def of_ray(folder: Path, name: str = "") -> list[int]:
    """Processes of the Ray that keeps its files there."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            ours = f"RAY_TMPDIR={folder}".encode() in (process / "environ").read_bytes()
            if ours and name.encode() in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("lost", ["node", "head"])
def test_where_the_only_node_is_lost_the_next_one_goes_on(chat_server: ChatServer, tmp_path: Path, lost: str) -> None:
    """By its node Ray knows the driver: with it Ray would give that no worker any more. Of a head that is started anew
    Ray would end the driver that asks it anything."""

    def slowly(request: dict[str, Any]) -> Any:
        time.sleep(0.3)
        return right(request)

    chat_server.answers(slowly)
    plan = endpoint_plan(tmp_path, chat_server.url, count=40)
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": RIGHT}
    with without_block(token) as (address, folder):
        own = {**os.environ, **token, **in_folder(folder)}
        command = [sys.executable, "-m", "toolablate", "run", str(plan), "--cluster", address]
        with subprocess.Popen(command, env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
            wait_for(lambda: len(chat_server.requests) > 4)
            for process in of_ray(folder, "raylet/raylet" if lost == "node" else ""):
                if process != running.pid:
                    os.kill(process, signal.SIGKILL)
            joins = [f"--address={address}"]
            if lost == "head":
                wait_for(lambda: of_ray(folder) == [running.pid])
                joins = ["--include-dashboard=false", "--head", f"--port={address.rpartition(':')[2]}"]
            starts = [*START, "--disable-usage-stats", *joins]
            subprocess.run(starts, env=own, capture_output=True, check=True)
            told = running.communicate(timeout=200)[0]
    assert running.returncode == 0, told
    assert "is unavailable" not in told
    assert set(outcomes(tmp_path / "runs" / "plan.sqlite").values()) == {("answered", "correct")}


# The command line, with less patience: (seconds, arguments).
IMPATIENT = """
import runpy, sys
from toolablate.experiments.cluster.fleet import FleetExecutor
FleetExecutor.__init__.__kwdefaults__["patience"] = float(sys.argv.pop(1))
runpy.run_module("toolablate", run_name="__main__")
"""


def test_where_the_head_comes_back_at_another_address_the_run_ends_in_words_and_goes_on_there(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    """Without it, nodes end themselves and their workers; Ray would end the driver as well, and say nothing. Nobody
    tells a run of the other address."""

    def slowly(request: dict[str, Any]) -> Any:
        time.sleep(0.3)
        return right(request)

    chat_server.answers(slowly)
    plan = endpoint_plan(tmp_path, chat_server.url, count=60)
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": RIGHT}
    store = tmp_path / "runs" / "plan.sqlite"
    with (
        without_block({**token, "RAY_gcs_rpc_server_reconnect_timeout_s": "2"}) as (address, folder),
        ExitStack() as later,
    ):
        own = {**os.environ, **token, **in_folder(folder), "COLUMNS": "500"}
        driver = [sys.executable, "-c", IMPATIENT, "10", "run", str(plan), "--cluster", address]
        with subprocess.Popen(driver, env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
            wait_for(lambda: len(chat_server.requests) > 4)
            for process in of_ray(folder, "gcs_server"):
                os.kill(process, signal.SIGKILL)
            other, _ = later.enter_context(without_block(token))
            told = running.communicate(timeout=300)[0]
        assert running.returncode == 2, told
        assert of_ray(folder, "RayWorker") == []
        done = [each for each in outcomes(store).values() if each == ("answered", "correct")]
        assert set(outcomes(store).values()) <= {("answered", "correct"), ("failed", None)}
        assert 0 < len(done) < 60
        asked = len(chat_server.requests)
        again = command("run", plan, "--cluster", address, cwd=tmp_path, env=token)
        ran = command("run", plan, "--cluster", other, cwd=tmp_path, env=token)
    assert again.returncode == 2
    assert f"there is no cluster to join at '{address}'" in " ".join(again.stderr.split())
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert len(chat_server.requests) - asked == 60 - len(done)
    assert list(outcomes(store).values()) == [("answered", "correct")] * 60
    assert command("verify", store, cwd=tmp_path, env={}).returncode == 0
    assert "No worker is left: the run ends if there is none within 10 s" in told
    assert re.search(rf"the head of the cluster \(\S+:{address.rpartition(':')[2]}\) does not answer", told)
    assert "there has been no worker for 10 s" in told
    assert "the same command goes on with what is missing" in told
    assert "where its head has another address by then, with --cluster ADDRESS" in told
