"""Which cgroups are taken, told from what the system shows; and version 2 as far as this machine has it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolablate.sandbox.cgroups import (
    LEAF,
    CgroupLimits,
    CgroupRefusal,
    NoCgroups,
    Places,
    VersionTwo,
    choose,
    parse_places,
    usable_one,
    usable_two,
)

ROOT = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw"
TWO = f"{ROOT}\n35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate"
ONE = f"""{ROOT}
31 22 0:27 / /sys/fs/cgroup ro shared:9 - tmpfs tmpfs ro,mode=755
32 31 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
33 31 0:29 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
40 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
41 31 0:34 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
42 31 0:35 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids"""
DOCKER = f"{ROOT}\n41 31 0:34 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory"
SPACES = f"{ROOT}\n41 31 0:34 / /odd\\040place/m rw - cgroup cgroup rw,memory"
COVERED = f"{TWO}\n99 35 0:30 /user.slice /sys/fs/cgroup rw - cgroup2 cgroup2 rw"
SCOPE = "/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope"
FS = Path("/sys/fs/cgroup")


@pytest.mark.parametrize(
    ("cgroup", "mountinfo", "one", "two"),
    [
        pytest.param(f"0::{SCOPE}\n", TWO, {}, FS / SCOPE[1:], id="version 2"),
        pytest.param(
            "12:pids:/u/s\n4:cpu,cpuacct:/u\n3:memory:/u/s/x\n2:name=systemd:/u\n0::/u/s\n",
            ONE,
            {"memory": FS / "memory/u/s/x", "pids": FS / "pids/u/s", "cpu": FS / "cpu,cpuacct/u"},
            FS / "unified/u/s",
            id="version 1 and 2",
        ),
        pytest.param("3:memory:/docker/abc\n", DOCKER, {"memory": FS / "memory"}, None, id="container"),
        pytest.param("3:memory:/docker/abc/d\n", DOCKER, {"memory": FS / "memory/d"}, None, id="below"),
        pytest.param("3:memory:/docker/abcd\n", DOCKER, {}, None, id="outside of what is mounted"),
        pytest.param("3:memory:/\n", DOCKER, {}, None, id="above what is mounted"),
        pytest.param("0::/../../x\n", TWO, {}, None, id="outside of the namespace"),
        pytest.param("0::/\n", TWO, {}, FS, id="root of the namespace"),
        pytest.param("0::/user.slice/a\n", COVERED, {}, FS / "a", id="covered mount"),
        pytest.param("3:memory:/a b:c\n", SPACES, {"memory": Path("/odd place/m/a b:c")}, None, id="odd names"),
        pytest.param("3:memory:/x\n0::/x\n", ROOT, {}, None, id="not mounted"),
        pytest.param("", TWO, {}, None, id="not told"),
    ],
)
def test_places_are_told_from_proc(cgroup: str, mountinfo: str, one: dict[str, Path], two: Path | None) -> None:
    assert parse_places(cgroup, mountinfo) == Places(one, two)


def tree(
    folder: Path, *, available: str = "cpu io memory pids", enabled: str = "", procs: str = "", kind: str = "domain"
) -> Path:
    """A cgroup of version 2 as files show it."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = {"controllers": available, "subtree_control": enabled, "procs": procs, "type": kind}
    for name, content in contents.items():
        if name != "type" or content:
            (folder / f"cgroup.{name}").write_text(content)
    return folder


ALL = ["memory", "pids", "cpu"]


def test_a_cgroup_that_we_have_alone_is_left_for_one_below(tmp_path: Path) -> None:
    scope = tree(tmp_path / "scope", procs=f"{os.getpid()}\n")
    assert usable_two(scope) == dict.fromkeys(ALL, scope)
    assert (scope / LEAF / "cgroup.procs").read_text() == "0"
    assert (scope / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"


def test_one_below_it_is_recognized(tmp_path: Path) -> None:
    scope = tree(tmp_path / "scope", enabled="memory pids cpu")
    leaf = tree(scope / LEAF, available="memory pids cpu", procs=f"{os.getpid()}\n1\n")
    assert usable_two(leaf) == dict.fromkeys(ALL, scope)


def test_the_root_may_have_processes(tmp_path: Path) -> None:
    root = tree(tmp_path / "root", procs="1\n2\n3\n", kind="")
    assert list(usable_two(root)) == ALL
    assert not (root / LEAF).exists()


def test_without_the_processor_the_rest_will_do(tmp_path: Path) -> None:
    assert list(usable_two(tree(tmp_path / "s", available="memory pids"))) == ["memory", "pids"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"available": "cpu"}, "no controller for memory and pids"),
        ({"available": "memory"}, "no controller for pids"),
        ({"available": ""}, "no controller"),
        ({"procs": f"{os.getpid()}\n1\n"}, "other processes"),
        ({"procs": f"{os.getpid()}\n0\n"}, "other processes"),
        ({"procs": "1\n"}, "other processes"),
    ],
)
def test_why_there_are_none(tmp_path: Path, changes: dict[str, str], reason: str) -> None:
    scope = tree(tmp_path / "scope", **changes)
    found = choose(Places({}, scope))
    assert isinstance(found, NoCgroups)
    assert reason in found.reason
    assert str(scope) in found.reason
    assert "systemd-run" in found.remedy
    assert [entry for entry in scope.iterdir() if entry.is_dir()] == []
    assert (scope / "cgroup.subtree_control").read_text() == ""


def test_nothing_mounted_is_no_error() -> None:
    assert isinstance(choose(Places({}, None)), NoCgroups)
    with pytest.raises(CgroupRefusal):
        usable_one({"memory": Path("/nonexistent")})


def test_version_1_without_the_other_controllers(tmp_path: Path) -> None:
    assert usable_one({"memory": tmp_path, "pids": Path("/nonexistent")}) == {"memory": tmp_path}


@pytest.mark.parametrize("optional", [True, False])
def test_what_is_written_in_version_2(tmp_path: Path, optional: bool) -> None:
    names = ["memory.max", "pids.max", "cpu.max"] + ["memory.swap.max", "memory.oom.group"] * optional
    for name in names:
        (tmp_path / name).touch()
    VersionTwo(dict.fromkeys(ALL, tmp_path)).limit(CgroupLimits(400_000_000, 64, 1.5))
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    least = {"memory.max": "400000000", "pids.max": "64", "cpu.max": "150000 100000"}
    assert written == least | ({"memory.swap.max": "0", "memory.oom.group": "1"} if optional else {})


@pytest.mark.parametrize(
    ("events", "killed"),
    [
        ("low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 1\n", True),
        ("low 0\nhigh 0\nmax 12\noom 1\noom_kill 0\n", False),
        ("low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\n", False),  # the machine's memory, not ours
        ("", False),
    ],
)
def test_whose_memory_ran_out(tmp_path: Path, events: str, killed: bool) -> None:
    (tmp_path / "memory.events").write_text(events)
    assert VersionTwo({"memory": tmp_path}).oom_killed() is killed


def _version_two() -> Path | None:
    two = parse_places(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text()).two
    return two if two and os.access(two, os.W_OK) and (two / "cgroup.procs").exists() else None


@pytest.fixture
def real() -> Iterator[Path]:
    """A real, empty cgroup of version 2, whatever controllers it has."""
    if (two := _version_two()) is None:
        pytest.skip("no cgroup of version 2 may be made here")
    folder = two / f"toolablate-test-{os.getpid()}"
    folder.mkdir()
    yield folder
    folder.rmdir()


FORK_BOMB = """
import os, sys
for d in sys.argv[1:]: os.write(int(d), b"0")
for _ in range(4): os.fork()
print(flush=True)
for _ in range(2_000):  # an end, should the kill not work
    try: os._exit(0) if os.fork() else os.setsid()
    except OSError: pass
"""


async def test_a_real_cgroup_of_version_2_is_joined_killed_and_removed(real: Path) -> None:
    group = VersionTwo({"memory": real / "k", "pids": real / "k"})
    (real / "k").mkdir()
    descriptors = group.open_procs()
    process = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", FORK_BOMB, *map(str, descriptors)], pass_fds=descriptors, stdout=subprocess.PIPE
    )
    for descriptor in descriptors:
        os.close(descriptor)
    assert process.stdout is not None
    assert process.stdout.readline() == b"\n"
    assert len(group.places) == 1
    assert group.members() != []
    await group.remove()
    assert process.wait() in (0, -signal.SIGKILL)
    assert process.stdout.read().strip() == b""
    process.stdout.close()
    assert not (real / "k").exists()


HAND_ON = """
import os, sys
from pathlib import Path
from toolablate.sandbox import cgroups as delegation
controllers = Path(sys.argv[1], "cgroup.controllers").read_text().split()
delegation.CONTROLLERS, delegation._NEEDED = tuple(controllers), set(controllers)
scope = Path(sys.argv[1])
(scope / "cgroup.procs").write_bytes(b"0")
print(sorted(set(delegation.usable_two(scope).values())) == [scope])
print(Path("/proc/self/cgroup").read_text().splitlines()[-1].rpartition("/")[2])
print((scope / "cgroup.subtree_control").read_text().split() == controllers, len(controllers))
print(delegation.usable_two(scope / delegation.LEAF) == delegation.usable_two(scope))
(scope / "toolablate-run-x").mkdir()
(scope / "toolablate-run-x" / "k").mkdir()
"""


def test_a_real_cgroup_of_version_2_hands_on_what_it_has(real: Path) -> None:
    """With the controllers that there are: where version 1 has taken those we need, any will do to see the rules."""
    if not (real / "cgroup.controllers").read_text().split():
        pytest.skip("version 2 hands on no controller here")
    done = subprocess.run([sys.executable, "-c", HAND_ON, str(real)], capture_output=True, text=True)
    for folder in ("toolablate-run-x/k", "toolablate-run-x", LEAF):
        (real / folder).rmdir()
    assert done.returncode == 0, done.stderr
    first, leaf, handed, again = done.stdout.splitlines()
    assert (first, leaf, again) == ("True", LEAF, "True")
    assert handed.startswith("True")
