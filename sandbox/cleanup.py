"""Clears up after a host process that has ended. Stdlib alone: it also runs as a program, `python -I -S cleanup.py`.

The program, which `host_resources.py` starts, waits for its host's end, kills what is left in the host's cgroups,
removes these and the host's folders, and exits.
"""

import contextlib
import functools
import os
import select
import shutil
import signal
import socket
import sys
import time
from collections.abc import Iterable
from pathlib import Path

_PATIENCE_SECONDS = 60.0
_PATH_BYTES = 65_536
REMEMBER, FORGET = b"+", b"-"


def is_cgroup(folder: Path) -> bool:
    return (folder / "cgroup.procs").exists()


def members(folder: Path) -> list[int]:
    """The processes in a cgroup, those below it apart; 0 stands for one that our pid namespace does not show."""
    try:
        return [int(pid) for pid in (folder / "cgroup.procs").read_text(encoding="ascii").split()]
    except OSError:  # removed meanwhile: ENOENT at opening, ENODEV at reading
        return []


def kill(folder: Path) -> None:
    """SIGKILL to all in the cgroup and below it, once; in version 2 (Linux 5.14) and where it counts processes none can
    escape by forking, elsewhere it takes repeating until the cgroup is empty."""
    with contextlib.suppress(OSError):
        (folder / "cgroup.kill").write_bytes(b"1")
        return
    for name, _, files in os.walk(folder):
        if "pids.max" in files:
            with contextlib.suppress(OSError):
                (Path(name) / "pids.max").write_bytes(b"0")
        _signal_members(Path(name))


def _signal_members(folder: Path) -> None:
    """A process is held by descriptor before it is looked up again: its number may pass on to a stranger meanwhile."""
    held: dict[int, int] = {}
    try:
        for pid in filter(None, members(folder)):
            with contextlib.suppress(OSError):
                held[pid] = os.pidfd_open(pid)
        for pid in members(folder):
            with contextlib.suppress(OSError):
                if pid in held:
                    signal.pidfd_send_signal(held[pid], signal.SIGKILL)
                elif pid and not _has_pidfd():
                    os.kill(pid, signal.SIGKILL)
    finally:
        for descriptor in held.values():
            os.close(descriptor)


@functools.cache
def _has_pidfd() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:  # before Linux 5.3
        return False
    return True


def remove_empty(folder: Path) -> bool:
    """Removes the cgroup and those below it, as far as they are empty. True when nothing is left."""
    for name, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):
            Path(name).rmdir()
    return not folder.exists()


def clear(paths: Iterable[Path], patience: float) -> bool:
    """Ends the cgroups among the paths with all in them, then removes the other folders. False where something was
    still there after `patience` seconds."""
    cgroups = [path for path in paths if is_cgroup(path)]
    pause, deadline = 0.001, time.monotonic() + patience
    while left := [path for path in cgroups if not remove_empty(path)]:
        if time.monotonic() > deadline:
            break
        for path in left:
            kill(path)
        time.sleep(pause)
        pause = min(pause * 2, 0.5)
    for path in paths:
        if path not in cgroups:
            shutil.rmtree(path, ignore_errors=True)
    return not any(path.exists() for path in paths)


def _wait_for_end(control: socket.socket, host: int) -> list[Path]:
    """What is to be cleared, once the host has ended: by its pidfd, since a child that it forked may hold the other end
    of the socket and live on; by the end of the socket where there is no pidfd (-1), or the host lets us go."""
    remembered: dict[bytes, None] = {}
    waiting = select.poll()
    waiting.register(control, select.POLLIN)
    if host >= 0:
        waiting.register(host, select.POLLIN)
    ended = False
    while True:
        ended = ended or any(ready == host for ready, _ in waiting.poll())
        try:
            message = control.recv(_PATH_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            if ended:
                break
            continue
        except OSError:
            break
        if not message:
            break
        if message[:1] == REMEMBER:
            remembered[message[1:]] = None
        else:
            remembered.pop(message[1:], None)
    return [Path(os.fsdecode(path)) for path in remembered]


def _main() -> None:
    # What is sent to all processes of a machine, a service or a terminal must not come before the host's own end.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    control = socket.socket(fileno=int(sys.argv[1]))
    paths = _wait_for_end(control, int(sys.argv[2]))
    clear(paths, _PATIENCE_SECONDS)


if __name__ == "__main__":
    _main()
