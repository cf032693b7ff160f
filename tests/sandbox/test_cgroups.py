import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from toolablate.sandbox.cgroups import Cgroup, Cgroups, NoCgroups, look_for_cgroups

MB = 1_000_000


@pytest.fixture(scope="module")
def cgroups() -> Iterator[Cgroups]:
    found = look_for_cgroups()
    if isinstance(found, NoCgroups):
        pytest.skip(f"{found.reason} ({found.remedy})")
    yield found
    found.close()
    assert not any(folder.exists() for folder in found.folders)


@pytest_asyncio.fixture
async def group(cgroups: Cgroups) -> AsyncIterator[Cgroup]:
    made = cgroups.create("k", 60 * MB, 24, cpus=0.5)
    yield made
    await made.remove()
    assert not any(folder.exists() for folder in made.folders.values())


@contextlib.contextmanager
def inside(group: Cgroup, program: str, *, user: int | None = None) -> Iterator["subprocess.Popen[bytes]"]:
    """Runs a program that joins the group by descriptors before it does anything else."""
    python = sys.executable if user is None else shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    descriptors = group.open_procs()
    join = f"import os\nfor d in {descriptors}: os.write(d, b'0'), os.close(d)\n"
    process = subprocess.Popen(
        [python, "-I", "-S", "-c", join + program],
        pass_fds=descriptors,
        user=user,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    for descriptor in descriptors:
        os.close(descriptor)
    try:
        yield process
    finally:
        group.kill()
        process.kill()
        process.communicate()


def in_groups(pid: int) -> str:
    return Path(f"/proc/{pid}/cgroup").read_text()


@pytest.mark.parametrize("user", [None, 0x7000_0001])
async def test_a_process_joins_by_descriptor_whoever_it_is(group: Cgroup, user: int | None) -> None:
    if user is not None and os.geteuid() != 0:
        pytest.skip("only root becomes somebody else")
    with inside(group, "print(flush=True)\ninput()", user=user) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        assert group.members() == [process.pid]
        own = f"{group.places[0].parent.name}/{group.name}\n"
        assert in_groups(process.pid).count(own) == len(group.places)


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
async def test_a_process_joins_from_within_its_namespaces(group: Cgroup) -> None:
    descriptors = group.open_procs()
    join = f"import os\nfor d in {descriptors}: os.write(d, b'0')\nprint(os.getpid(), flush=True)\ninput()"
    command = ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "--unshare-user", "--as-pid-1", "--proc", "/proc"]
    process = subprocess.Popen(  # noqa: ASYNC220
        [*command, sys.executable, "-I", "-S", "-c", join],
        pass_fds=descriptors,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    for descriptor in descriptors:
        os.close(descriptor)
    assert process.stdout is not None
    assert process.stdout.readline() == b"1\n"
    assert len(group.members()) == 1
    assert group.members() != [process.pid]  # the kernel within, not bubblewrap around it
    await group.remove()
    process.communicate()
    assert process.returncode == 128 + signal.SIGKILL


BOMBS = {
    "anonymous": "x = bytearray(200_000_000)",
    "children": "[os.fork() for _ in range(3)]\nx = bytearray(25_000_000)\nimport time\ntime.sleep(100)",
    "tmpfs": "f = os.memfd_create('x')\nfor _ in range(200): os.write(f, b'x' * 1_000_000)",
    "unix sockets": """
import socket
kept = []
while True:
    a, b = socket.socketpair()
    kept.append((a, b))
    a.setblocking(False)
    a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    try:
        while True: a.send(b"x" * 60_000)
    except BlockingIOError: pass
""",
    "pipes": """
import fcntl
kept = []
while True:
    kept.append(os.pipe())
    fcntl.fcntl(kept[-1][1], 1031, 1 << 20) if os.geteuid() == 0 else None
    os.set_blocking(kept[-1][1], False)
    try:
        while True: os.write(kept[-1][1], b"x" * 60_000)
    except BlockingIOError: pass
""",
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
async def test_memory_is_limited_whatever_it_is_used_for(group: Cgroup, bomb: str) -> None:
    assert not group.oom_killed()
    limits = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))\n"
    with inside(group, limits + bomb) as process:
        while not group.oom_killed():
            await asyncio.sleep(0.01)
            assert process.poll() in (None, -signal.SIGKILL)
    peak = group.memory_peak()
    assert peak is None or 50 * MB < peak <= 60 * MB
    await group.remove()
    assert group.oom_killed()  # still known


async def test_what_fits_is_no_death_of_memory(group: Cgroup) -> None:
    with inside(group, "x = bytearray(20_000_000)\ndel x") as process:
        process.communicate()
        assert process.returncode == 0
    assert not group.oom_killed()
    peak = group.memory_peak()
    assert peak is None or 20 * MB < peak < 60 * MB


async def test_a_kill_by_somebody_else_is_no_death_of_memory(group: Cgroup) -> None:
    with inside(group, "import signal\nos.kill(os.getpid(), signal.SIGKILL)") as process:
        assert process.wait() == -signal.SIGKILL
    assert not group.oom_killed()


async def test_pages_read_from_files_are_given_back_and_kill_nobody(group: Cgroup, tmp_path: Path) -> None:
    big = tmp_path / "big"
    with big.open("wb") as file:
        for _ in range(150):
            file.write(os.urandom(MB))
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with inside(group, f"f = open({str(big)!r}, 'rb')\nwhile f.read(1_000_000): pass") as process:
        process.communicate()
        assert process.returncode == 0
    assert not group.oom_killed()


async def test_processes_and_threads_are_counted_together(group: Cgroup) -> None:
    if "pids" not in group.folders:
        pytest.skip("no controller for processes here")
    program = """
import _thread, time
started = 0
for start in (os.fork, lambda: _thread.start_new_thread(time.sleep, (100,)) and 1):
    for _ in range(12 if start is os.fork else 100):
        try:
            child = start()
        except (OSError, RuntimeError):
            break
        if child == 0: time.sleep(100)
        started += 1
print(started, flush=True)
input()
"""
    with inside(group, program) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"23\n"


FORK_BOMB = """
import signal
for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
print(flush=True)
while True:
    try: os.setsid() if os.fork() == 0 else None
    except OSError: pass
"""
STOPPED = "import signal\nos.fork()\nprint(flush=True)\nos.kill(os.getpid(), signal.SIGSTOP)"
ORPHANS = "os.fork()\nos.setsid() if os.fork() == 0 else None\nprint(flush=True)\nimport time\ntime.sleep(1000)"


@pytest.mark.parametrize("program", [FORK_BOMB, STOPPED, ORPHANS], ids=["fork bomb", "stopped", "orphans"])
async def test_removing_ends_everything(group: Cgroup, program: str) -> None:
    with inside(group, program) as process:
        assert process.stdout is not None
        process.stdout.readline()
        await asyncio.sleep(0.05)
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        await group.remove()
        ticking.cancel()
        assert group.members() == []
        assert ticks > 1  # others had their turn meanwhile
    await group.remove()


def test_a_process_is_added_from_outside(group: Cgroup) -> None:
    process = subprocess.Popen(["sleep", "1000"])
    group.add(process.pid)
    assert group.members() == [process.pid]
    asyncio.run(group.remove())
    assert process.wait() == -signal.SIGKILL
    with pytest.raises(OSError):
        group.add(os.getpid())


def test_one_that_has_ended_cannot_be_added(group: Cgroup) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    with pytest.raises(ProcessLookupError):
        group.add(process.pid)


@pytest_asyncio.fixture
async def slow(cgroups: Cgroups) -> AsyncIterator[Cgroup]:
    """Of so little processor time that it is exceeded beside whatever else the machine does."""
    made = cgroups.create("slow", 60 * MB, 24, cpus=0.02)
    yield made
    await made.remove()


async def test_processor_time_is_limited(slow: Cgroup) -> None:
    if "cpu" not in slow.folders:
        pytest.skip("no controller for processor time here")
    with inside(slow, "while True: pass"):
        stat = slow.folders["cpu"] / "cpu.stat"
        while "nr_throttled 0\n" in stat.read_text():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/etc", ".hidden", "a\nb"])
def test_names_stay_below(cgroups: Cgroups, name: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        cgroups.create(name, MB, 1)


async def test_a_name_that_is_taken_leaves_its_owner_alone(cgroups: Cgroups, group: Cgroup) -> None:
    with pytest.raises(FileExistsError):
        cgroups.create(group.name, MB, 1)
    with inside(group, "print(flush=True)\ninput()") as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert group.members() == [process.pid]


@pytest.mark.parametrize(
    ("memory", "processes", "cpus"),
    [
        (10**30, 5, None),
        (0, 5, None),
        (-1, 5, None),
        (MB, -7, None),
        (MB, 0, None),
        (MB, 10**20, None),
        (MB, 5, 1e15),
        (MB, 5, 0.0),
        (MB, 5, float("nan")),
    ],
)
def test_a_limit_that_is_none_leaves_nothing(cgroups: Cgroups, memory: int, processes: int, cpus: float | None) -> None:
    with pytest.raises(ValueError, match="limit"):
        cgroups.create("bad", memory, processes, cpus)
    assert not any((folder / "bad").exists() for folder in cgroups.folders)


async def test_more_processors_than_there_are_for_us_are_no_error(cgroups: Cgroups) -> None:
    fresh = look_for_cgroups()
    assert isinstance(fresh, Cgroups)
    for folder in fresh.folders:
        if (folder / "cpu.cfs_quota_us").exists():  # version 1 alone refuses its children more
            (folder / "cpu.cfs_quota_us").write_text("10000")
    await fresh.create("greedy", MB, 5, cpus=2).remove()
    fresh.close()


def test_a_hundred_leave_no_trace(cgroups: Cgroups) -> None:
    opened = set(Path("/proc/self/fd").iterdir())
    groups = [cgroups.create(f"n{number}", 20 * MB, 8) for number in range(100)]
    for each in groups[:20]:
        with inside(each, ""):
            pass

    async def remove() -> None:
        await asyncio.gather(*(each.remove() for each in groups))

    asyncio.run(remove())
    assert set(Path("/proc/self/fd").iterdir()) == opened
    assert [entry for folder in cgroups.folders for entry in folder.iterdir() if entry.is_dir()] == []


async def test_one_that_was_removed_with_everything_is_made_again(cgroups: Cgroups) -> None:
    cgroups.close()
    cgroups.close()
    again = cgroups.create("again", 20 * MB, 8)
    await again.remove()


def test_what_a_killed_host_left_is_swept_and_what_lives_is_not(cgroups: Cgroups) -> None:
    program = """
import os, subprocess, sys
from toolablate.sandbox.cgroups import find_cgroups
groups = find_cgroups()
process = subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL)
groups.create("left", 20_000_000, 8).add(process.pid)
print(process.pid, *groups.folders, flush=True)
sys.stdin.read()
"""
    host = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert host.stdout is not None
    pid, *names = host.stdout.readline().decode().split()
    folders = [Path(name) for name in names]
    look_again = look_for_cgroups()
    assert isinstance(look_again, Cgroups)
    look_again.close()
    assert all((folder / "left").exists() for folder in folders)
    host.kill()
    host.communicate()
    while any(folder.exists() for folder in folders):  # the test's own time limit ends this
        look_again = look_for_cgroups()
        assert isinstance(look_again, Cgroups)
        look_again.close()
        time.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text()
