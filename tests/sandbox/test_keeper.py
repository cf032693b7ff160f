import asyncio
import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolablate.sandbox.cgroups import find_cgroups
from toolablate.sandbox.host_resources import ProcessKeeper

pytestmark = pytest.mark.deep

HOST = """
import os, sys, time, asyncio, subprocess
from pathlib import Path
from toolablate.sandbox.cgroups import find_cgroups
from toolablate.sandbox.host_resources import ProcessKeeper

def tell(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

cgroups = find_cgroups()
keeper = ProcessKeeper.shared(cgroups.folders if cgroups else ())
"""
KERNELS = """
(keeper.folder / "deep" / "er").mkdir(parents=True)
(keeper.folder / "deep" / "file").write_text("x")
for number in range(3):
    group = cgroups.create(f"k{number}", 50_000_000, 64)
    forks = "import os, time\\nfor _ in range(3): os.fork()\\ntime.sleep(1000)"
    child = subprocess.Popen([sys.executable, "-c", "input()\\n" + forks], stdin=subprocess.PIPE, start_new_session=True)
    group.add(child.pid)
    child.stdin.write(b"\\n"), child.stdin.flush()
    while len(group.members()) < 8:
        time.sleep(0.01)
    tell("process", *group.members())
tell("folder", keeper.folder, *cgroups.folders)
"""
SLEEP = "tell('keeper', keeper.pid)\ntime.sleep(1000)"


class Host:
    """A host process of its own that says what it made, one thing a line."""

    def __init__(self, program: str, *, stdin: int = subprocess.DEVNULL) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOST + program], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.said: dict[str, list[str]] = {}

    def hear(self, until: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        while until not in self.said:
            word, *rest = self.process.stdout.readline().decode().split() or [""]
            if not word:
                self.process.kill()
                pytest.fail(self.process.stderr.read().decode())
            self.said.setdefault(word, []).extend(rest)

    @property
    def keeper(self) -> int:
        return int(self.said["keeper"][0])

    @property
    def folders(self) -> list[Path]:
        return [Path(name) for name in self.said["folder"]]

    def leftovers(self) -> list[str]:
        pids = [*self.said.get("process", []), *self.said["keeper"]]
        return [str(path) for path in self.folders if path.exists()] + [pid for pid in pids if _lives(int(pid))]


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _eventually_nothing(host: Host) -> list[str]:
    for _ in range(4_000):
        if not host.leftovers():
            break
        time.sleep(0.02)
    return host.leftovers()


@contextlib.contextmanager
def running(program: str) -> Iterator[Host]:
    host = Host(program)
    try:
        yield host
    finally:
        host.process.kill()
        host.process.communicate()


needs_cgroups = pytest.mark.skipif(find_cgroups() is None, reason="no cgroup may be made here")


@needs_cgroups
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT, signal.SIGINT])
def test_nothing_is_left_of_a_host_that_was_killed(number: signal.Signals) -> None:
    with running(KERNELS + SLEEP) as host:
        host.hear("keeper")
        assert len(host.leftovers()) == len(host.folders) + 3 * 8 + 1
        host.process.send_signal(number)
        host.process.wait()
        assert _eventually_nothing(host) == []


@needs_cgroups
@pytest.mark.parametrize(
    "end", ["os._exit(3)", "raise SystemExit", "1 / 0", "os.execvp('true', ['true'])", "asyncio.run(keeper.close())"]
)
def test_nothing_is_left_of_a_host_that_ends_by_itself(end: str) -> None:
    with running(f"{KERNELS}\ntell('keeper', keeper.pid)\n{end}") as host:
        host.hear("keeper")
        host.process.communicate(timeout=20)
        assert _eventually_nothing(host) == []


def test_a_host_killed_while_its_keeper_starts_leaves_nothing() -> None:
    with running("tell('folder', keeper.folder)\n" + SLEEP) as host:
        host.hear("folder")
        host.process.kill()
        host.process.wait()
        host.said.setdefault("keeper", [])
        assert _eventually_nothing(host) == []


def test_a_forked_child_that_lives_on_does_not_keep_the_keeper() -> None:
    program = """
if os.fork() == 0:
    asyncio.run(keeper.close())  # the parent's: no effect
    keeper.remember(Path("/nonexistent"))
    tell("child", os.getpid())
    os.close(1), os.close(2)
    time.sleep(1000)
tell("folder", keeper.folder)
"""
    with running(program + SLEEP) as host:
        for word in ("keeper", "child"):
            host.hear(word)
        child = int(host.said["child"][0])
        try:
            assert len(host.leftovers()) == 2
            host.process.kill()
            host.process.wait()
            assert _eventually_nothing(host) == []
            assert _lives(child)
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_forked_child_gets_a_keeper_of_its_own() -> None:
    program = """
first = keeper
if (child := os.fork()) == 0:
    keeper = ProcessKeeper.shared()
    tell("own", keeper.pid != first.pid, keeper.folder != first.folder)
    tell("folder", keeper.folder)
    tell("keeper", keeper.pid)
    os._exit(0)
os.waitpid(child, 0)
time.sleep(1000)
"""
    with running(program) as host:
        host.hear("keeper")
        assert host.said["own"] == ["True", "True"]
        assert _eventually_nothing(host) == []
        assert host.process.poll() is None


def test_it_holds_nothing_of_the_host() -> None:
    program = """
os.dup2(1, 77, inheritable=True)
os.environ["SECRET"] = "x"
asyncio.run(keeper.close())
keeper = ProcessKeeper()
tell("folder", keeper.folder)
"""
    with running(program + SLEEP) as host:
        host.hear("keeper")
        _wait_until_it_waits(host.keeper)  # a library that is being loaded is an open file for a moment
        proc = Path(f"/proc/{host.keeper}")
        held = {str(path.readlink()) for path in (proc / "fd").iterdir()}
        assert {name.partition(":")[0] for name in held} <= {"/dev/null", "socket", "anon_inode"}
        assert (proc / "cwd").readlink() == Path("/")
        assert os.getsid(host.keeper) == host.keeper
        assert b"SECRET" not in (proc / "environ").read_bytes()
        os.kill(host.keeper, signal.SIGSTOP)
        host.process.kill()
        assert host.process.stdout is not None
        assert host.process.stdout.read() == b""  # the pipe ends with the host, whatever the keeper does
        os.kill(host.keeper, signal.SIGCONT)
        assert _eventually_nothing(host) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_outlasts_signals_to_everybody(number: signal.Signals) -> None:
    with running("tell('folder', keeper.folder)\n" + SLEEP) as host:
        host.hear("keeper")
        _wait_until_it_waits(host.keeper)
        os.kill(host.keeper, number)
        time.sleep(0.1)
        assert _lives(host.keeper)
        host.process.kill()
        assert _eventually_nothing(host) == []


def _wait_until_it_waits(pid: int) -> None:
    ignored = sum(1 << (number - 1) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    for _ in range(8_000):
        mask = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigIgn"))
        if int(mask.split()[1], 16) & ignored == ignored:
            return
        time.sleep(0.01)
    pytest.fail("the keeper does not come up")


def test_what_is_forgotten_stays(tmp_path: Path) -> None:
    async def use() -> None:
        keeper = ProcessKeeper()
        for name in ("gone", "stays", "né\udcff\n*"):
            (tmp_path / name).mkdir()
            keeper.remember(tmp_path / name)
        keeper.remember(tmp_path / "never made")
        keeper.forget(tmp_path / "stays")
        keeper.forget(tmp_path / "unheard of")
        await keeper.close()
        await keeper.close()
        assert not keeper.folder.exists()

    asyncio.run(use())
    assert [path.name for path in tmp_path.iterdir()] == ["stays"]


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x")
    keeper = ProcessKeeper()
    (keeper.folder / "link").symlink_to(tmp_path)
    asyncio.run(keeper.close())
    assert not keeper.folder.exists()
    assert (tmp_path / "precious").read_text() == "x"


def test_one_that_was_killed_is_started_anew_and_told_everything(tmp_path: Path) -> None:
    keeper = ProcessKeeper()
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    keeper.remember(tmp_path / "a")
    first = keeper.pid
    os.kill(first, signal.SIGKILL)
    while _lives(first):
        time.sleep(0.01)
    keeper.remember(tmp_path / "b")
    assert keeper.pid != first
    asyncio.run(keeper.close())
    assert list(tmp_path.iterdir()) == []
    assert not keeper.folder.exists()


def test_the_shared_one_goes_with_the_last_user() -> None:
    async def use() -> None:
        first = ProcessKeeper.shared()
        assert ProcessKeeper.shared() is first
        await first.close()
        assert _lives(first.pid)
        await first.close()
        with pytest.raises(ProcessLookupError):
            os.kill(first.pid, 0)  # not even a zombie
        second = ProcessKeeper.shared()
        assert second.pid != first.pid
        await second.close()

    asyncio.run(use())


async def test_the_next_shared_one_begins_when_the_last_has_cleared() -> None:
    cgroups = find_cgroups()
    if cgroups is None:
        pytest.skip("no cgroups can be made here")
    closing = asyncio.create_task(ProcessKeeper.shared(cgroups.folders).close())
    await asyncio.sleep(0)
    following = ProcessKeeper.shared(cgroups.folders)
    group = cgroups.create("next", 50_000_000, 8)
    await closing
    await asyncio.sleep(0.2)
    assert all(place.exists() for place in group.places)
    await group.remove()
    await following.close()


def test_it_waits_without_using_the_processor() -> None:
    keeper = ProcessKeeper()
    keeper.remember(Path("/nonexistent"))
    before: list[str] = []
    while (spent := _used(keeper.pid)) != before:  # the test's own time limit ends this
        before = spent
        time.sleep(0.3)
    asyncio.run(keeper.close())


def _used(pid: int) -> list[str]:
    """Of the processor: ticks, and how often it gave it up of itself."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return [
        *Path(f"/proc/{pid}/stat").read_text().split()[13:15],
        *(line for line in status if line.startswith("voluntary_ctxt_switches")),
    ]


def test_a_thousand_paths_do_not_stall_the_host(tmp_path: Path) -> None:
    keeper = ProcessKeeper()
    os.kill(keeper.pid, signal.SIGSTOP)  # it hears nothing any more
    for number in range(1_000):
        keeper.remember(tmp_path / f"{number}")
    (tmp_path / "0").mkdir()
    (tmp_path / "999").mkdir()
    asyncio.run(keeper.close())
    assert list(tmp_path.iterdir()) == []


def test_without_standard_descriptors_the_host_still_gets_one() -> None:
    program = "import select\nfrom toolablate.sandbox.host_resources import ProcessKeeper\nimport os, time\n"
    program += (
        "os.close(0)\nkeeper = ProcessKeeper()\nos.write(1, f'{keeper.pid} {keeper.folder}'.encode())\ntime.sleep(1000)"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout is not None
    select.select([process.stdout], [], [])
    pid, folder = os.read(process.stdout.fileno(), 1_000).decode().split()
    process.kill()
    process.communicate()
    for _ in range(4_000):
        if not _lives(int(pid)):
            break
        time.sleep(0.02)
    assert not Path(folder).exists()
