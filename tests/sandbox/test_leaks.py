"""Many kernels, in a row and at once: nothing of them is left, not even when their host is killed."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

IN_A_ROW = {"forkserver": 500, "bubblewrap": 30, "docker": 5}
"""Of a fork server, so many that what one kernel in 170 leaves is found 95 times in 100: 1 - (1 - 1 / 170) ** 500. Each
of its ids of users, of which it has fewer here than it would, is taken up again several times."""
AT_ONCE = 50

HOST = """
import asyncio, json, sys
from toolablate.sandbox import KernelUnavailable, Limits, open_sandbox
from toolablate.sandbox.backends import forkserver

forkserver._USERS = 101

async def use(sandbox):
    kernel = await sandbox.start()
    result = await kernel.execute("import numpy; int(numpy.ones(6).sum()) * 7")
    assert result.text == "42\\n", result
    return kernel

async def main(backend, in_a_row, at_once):
    sandbox = open_sandbox(backend, Limits(start_seconds=200))
    try:
        await (await use(sandbox)).close()
    except KernelUnavailable as unavailable:
        print(json.dumps({"code": unavailable.code, "message": unavailable.message}), flush=True)
        return
    print("{}", flush=True)
    sys.stdin.readline()
    for _ in range(in_a_row):
        await (await use(sandbox)).close()
    kernels = await asyncio.gather(*(use(sandbox) for _ in range(at_once)))
    print("running", flush=True)
    sys.stdin.readline()
    await asyncio.gather(*(kernel.close() for kernel in kernels))
    print("closed", flush=True)
    sys.stdin.readline()
    await sandbox.close()

asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
"""


class Host:
    """A process that opens a sandbox and waits for a word before each of its steps."""

    def __init__(self, backend: str, in_a_row: int, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOST, backend, str(in_a_row), str(AT_ONCE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(folder)},
        )
        if told := json.loads(self.hear()):
            optional = backend == "docker" and os.environ.get("TOOLABLATE_REQUIRE_DOCKER") != "1"
            (pytest.skip if optional else pytest.fail)(f"{told['message']} ({told['code']})")

    def __enter__(self) -> "Host":
        return self

    def __exit__(self, *_: object) -> None:
        with self.process:
            self.process.kill()

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def belongings(self) -> dict[str, Any]:
        """Of the host: its descriptors, files and the processes below it."""
        pid = self.process.pid
        return {
            "descriptors": len(list(Path(f"/proc/{pid}/fd").iterdir())),
            "files": len(list(self.folder.rglob("*"))),
            "processes": len(descendants(pid)),
        }


def cgroups_of(processes: set[int]) -> set[Path]:
    """Those that were made for them, in all hierarchies."""
    lines = [line for pid in processes for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()]
    runs = {part for line in lines for part in line.split("/") if part.startswith("toolablate-run-")}
    # Not by pathlib, which fails for a folder that goes while it looks.
    return {Path(name) for name, _, _ in os.walk("/sys/fs/cgroup") if runs & set(name.split("/"))}


def descendants(pid: int) -> set[int]:
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):  # it may end while it is looked at
            for child in map(int, (task / "children").read_text().split()):
                found |= {child} | descendants(child)
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="t-") as name:
        yield Path(name)


@pytest.mark.timeout(600)
def test_kernels_in_a_row_and_at_once_leave_nothing(isolating_backend: str, folder: Path) -> None:
    with Host(isolating_backend, IN_A_ROW[isolating_backend], folder) as host:
        before = host.belongings()
        host.go_on()
        assert host.hear() == "running\n"
        groups = cgroups_of(descendants(host.process.pid))
        assert host.belongings()["files"] > before["files"]
        host.go_on()
        assert host.hear() == "closed\n"
        after = host.belongings()
        left = {group for group in groups if group.exists() and group.name.startswith("kernel-")}
        host.go_on()
        assert host.process.wait(60) == 0
    assert (after, left) == (before, set())
    assert not [path for path in (*groups, *folder.iterdir()) if path.exists()]


@pytest.mark.timeout(300)
def test_kernels_of_a_killed_host_leave_nothing(isolating_backend: str, folder: Path) -> None:
    with Host(isolating_backend, 0, folder) as host:
        host.go_on()
        assert host.hear() == "running\n"
        processes = descendants(host.process.pid)
        paths = cgroups_of(processes) | {Path(f"/proc/{pid}") for pid in processes}
    while any(path.exists() for path in paths) or list(folder.iterdir()):
        time.sleep(0.05)  # the test's own time limit ends this
