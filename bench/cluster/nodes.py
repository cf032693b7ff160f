"""python -m bench.cluster.nodes FOLDER COUNT: a Ray cluster of several nodes on this machine; its head runs no trials.

It prints what it has, a line of JSON each, and does what the lines of its standard input say until these end:

    add           another node; its number and the process of its raylet are printed
    remove N      the processes of node N are killed
"""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from bench.kernels.load import Key, processes

_CLOSE_SECONDS = 60
# On a busy machine a node starts late, and its beats come late. A node that is silent is lost after about 8 s.
_SETTINGS = {
    "RAY_raylet_start_wait_time_s": "180",
    "RAY_health_check_initial_delay_ms": "3000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
}


@dataclass(slots=True)
class Nodes:
    """`env` is what a driver needs to join; `raylets` are the processes of the nodes that are there, by number."""

    address: str
    folder: Path
    env: Mapping[str, str]
    raylets: dict[int, int]
    _process: "subprocess.Popen[str]" = field(repr=False)

    def add(self) -> int:
        added = self._asked("add")
        self.raylets[added["node"]] = added["raylet"]
        return int(added["node"])

    def remove(self, node: int) -> None:
        """As a machine that loses its power."""
        self._asked(f"remove {node}")
        del self.raylets[node]

    def workers(self) -> dict[int, int]:
        """The processes that run trials, and the raylet that each belongs to."""
        seen = processes()
        return {pid: seen[pid].parent for pid in ray_workers(self.folder) if pid in seen}

    def _asked(self, command: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return _read(self._process)


def ray_env(folder: Path, token: str) -> dict[str, str]:
    """What processes of a cluster, and drivers that join it, are started with."""
    return {**os.environ, **_SETTINGS, "RAY_AUTH_TOKEN": token, "RAY_TMPDIR": str(folder)}


@contextmanager
def open_nodes(folder: Path, wanted: int) -> Iterator[Nodes]:
    """`folder` has a short path, since sockets lie in it; processes that people start with `env` are known by it."""
    env = ray_env(folder, secrets.token_hex(32))
    command = [sys.executable, "-m", __name__, str(folder), str(wanted)]
    with (
        (folder / "nodes.txt").open("wb") as errors,
        subprocess.Popen(
            command,
            cwd=Path(__file__).parents[2],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        opened = _read(process)
        raylets = {int(node): raylet for node, raylet in opened["raylets"].items()}
        try:
            yield Nodes(opened["address"], folder, env, raylets, process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(_CLOSE_SECONDS)


def ray_workers(folder: Path) -> list[int]:
    """Processes of the Ray that keeps its files there, which have opened a plan."""
    return [pid for pid in processes_of(folder) if b"RayWorker" in _read_of(pid, "cmdline")]


def processes_of(folder: Path) -> list[int]:
    """All that were started with `RAY_TMPDIR`, but for kernels, which are told nothing."""
    marked = f"RAY_TMPDIR={folder}".encode()
    return [pid for pid in processes() if marked in _read_of(pid, "environ").split(b"\0")]


def is_idle_worker(process: Key) -> bool:
    """Whether Ray started it for whoever may want it."""
    return b"ray::IDLE" in _read_of(process[0], "cmdline")


def still_there(wanted: set[Key]) -> set[Key]:
    """Those that run still; not those that have only not been waited for yet."""
    there = wanted & {each.key for each in processes().values()}
    return {key for key in there if _read_of(key[0], "cmdline")}


def _read_of(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _read(process: "subprocess.Popen[str]") -> dict[str, Any]:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{"):
            read: dict[str, Any] = json.loads(line)
            return read
    raise RuntimeError("the cluster has ended; what it said is in nodes.txt")


def main() -> None:
    from ray.cluster_utils import Cluster

    folder, wanted = sys.argv[1:]
    shared = {"include_dashboard": False, "temp_dir": str(Path(folder) / "ray")}
    cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **shared})
    nodes, numbers = dict[int, Any](), count()

    def add(*, wait: bool) -> int:
        node = next(numbers)
        # More than a worker needs: a new one may start where another is being ended.
        nodes[node] = cluster.add_node(wait=wait, num_cpus=4)
        return node

    for _ in range(int(wanted)):
        add(wait=False)
    cluster.wait_for_nodes(120)
    _print(address=cluster.address, raylets={node: _raylet(nodes[node]) for node in nodes})
    for line in sys.stdin:
        match line.split():
            case ["add"]:
                node = add(wait=True)
                _print(node=node, raylet=_raylet(nodes[node]))
            case ["remove", number]:
                cluster.remove_node(nodes.pop(int(number)), allow_graceful=False)
                _print()
    cluster.shutdown()


def _raylet(node: Any) -> int:
    return int(node.all_processes["raylet"][0].process.pid)


def _print(**said: Any) -> None:
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
