"""A node of a Ray cluster that is cut off while it runs trials, and comes back: two network namespaces, a link between."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from bench.cluster.costs import run_coding, write_coding
from bench.cluster.kills import Report, check
from bench.cluster.nodes import processes_of, ray_env, ray_workers, still_there
from bench.kernels.load import descendants, processes
from tests.experiments.plan_files import wait_for

from toolablate.traces.store import Store

pytestmark = [pytest.mark.deep, pytest.mark.timeout(600)]
pytest.importorskip("ray")
HERE, THERE = "10.213.7.1", "10.213.7.2"
ROOT = Path(__file__).parents[3]
TRIALS = 20


def ip(*arguments: str) -> None:
    if subprocess.run(["ip", *arguments], capture_output=True, check=False).returncode:
        pytest.skip("no network namespaces can be made here")


@pytest.fixture
def spaces() -> Iterator[dict[str, str]]:
    """The namespace of each address."""
    if not shutil.which("ip"):
        pytest.skip("there is no ip command")
    names = {HERE: f"tl{os.getpid()}a", THERE: f"tl{os.getpid()}b"}
    try:
        for name in names.values():
            ip("netns", "add", name)
        ip("link", "add", "v", "netns", names[HERE], "type", "veth", "peer", "name", "v", "netns", names[THERE])
        for address, name in names.items():
            ip("-n", name, "address", "add", f"{address}/24", "dev", "v")
            for device in ("lo", "v"):
                ip("-n", name, "link", "set", device, "up")
        yield names
    finally:
        for name in names.values():
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


@pytest.fixture
def envs() -> Iterator[dict[str, dict[str, str]]]:
    """Of the processes at each address, which are ended."""
    token = secrets.token_hex(32)
    folders = {address: Path(tempfile.mkdtemp(prefix="tr", dir="/tmp")) for address in (HERE, THERE)}
    yield {address: ray_env(folder, token) for address, folder in folders.items()}
    for folder in folders.values():
        for pid in processes_of(folder):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def test_a_node_that_is_cut_off_and_comes_back_doubles_nothing(
    spaces: dict[str, str], envs: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    def at(address: str, *command: str) -> list[str]:
        return ["ip", "netns", "exec", spaces[address], *command]

    def ray_start(address: str, *arguments: str) -> None:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", f"--node-ip-address={address}", "--num-cpus=1"]
        subprocess.run(at(address, *command, *arguments), env=envs[address], check=True, capture_output=True)

    ray_start(HERE, "--head", "--port=6379", "--include-dashboard=false")
    ray_start(THERE, f"--address={HERE}:6379")
    serve = at(HERE, sys.executable, "-m", "bench.runner.server", HERE)
    said, store = tmp_path / "said.txt", tmp_path / "store.sqlite"
    with (
        said.open("wb") as saying,
        subprocess.Popen(serve, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server,
    ):
        assert server.stdout is not None
        url = f"http://{HERE}:{int(server.stdout.readline())}/cut/300/v1"
        write_coding(tmp_path, url, trials=TRIALS, in_flight=4, cluster="retries = 3\nkernels = 2")
        drive = at(HERE, *run_coding(tmp_path), "--cluster", f"{HERE}:6379")
        with subprocess.Popen(drive, env=envs[HERE], stdout=saying, stderr=subprocess.STDOUT) as run:
            folder = Path(envs[THERE]["RAY_TMPDIR"])
            wait_for(lambda: run.poll() is not None or (store.exists() and _ended(store) >= 2 and ray_workers(folder)))
            found = processes()
            cut_off = {found[pid].key for pid in descendants(found, set(ray_workers(folder)))}
            ip("-n", spaces[HERE], "link", "set", "v", "down")
            wait_for(lambda: run.poll() is not None or b"was lost: " in said.read_bytes())
            ip("-n", spaces[HERE], "link", "set", "v", "up")
            assert run.wait(200) == 0, said.read_text(encoding="utf-8")
        server.communicate()
    assert b"was lost: " in said.read_bytes()
    wait_for(lambda: not still_there(cut_off))
    report = Report()
    check(tmp_path, TRIALS, report)
    assert report.wrong == []
    assert report.lost["worker_lost"] >= 1


def _ended(store: Path) -> int:
    with Store(store) as opened:
        return opened.ended_trials()
