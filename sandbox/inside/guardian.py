"""Process 1 of a sandbox: forks the kernel, places files, interrupts, watches, and reports how the kernel ended."""

import contextlib
import json
import os
import select
import shutil
import signal
import socket
from collections.abc import Callable
from pathlib import Path

from .control import Given, receive, send
from .system import PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, ask_for_short_turns, become, prctl
from .watch import Watch

ERROR_BYTES = 8_000
_COPIED_BYTES = 1 << 20

ForkKernel = Callable[[int, int], tuple[int, socket.socket | None]]


def guard(control: socket.socket, given: Given, fork_kernel: ForkKernel) -> None:
    """Gives up root, forks the kernel, and guards it to its end. Does not return.

    `fork_kernel` gets both ends of a pipe: into the second an error of the kernel's start is written, and it is closed
    once the kernel stands. It gives the kernel's process id and, where the kernel is no child of ours, a socket that
    tells how it ended.
    """
    # Before the fork, so that the kernel never has a moment in which it could read or trace its guardian.
    become(given.request["uid"])
    prctl(PR_SET_DUMPABLE, 0)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    error_reader, error_writer = os.pipe()
    kernel, status = fork_kernel(error_reader, error_writer)
    wake_reader, wake_writer = os.pipe()
    _catch_child_exits(wake_writer)
    for descriptor in (*given.listeners, error_writer):
        os.close(descriptor)
    _Guardian(kernel, status, control, wake_reader, error_reader, given).run()


def _catch_child_exits(wake_writer: int) -> None:
    os.set_blocking(wake_writer, False)
    signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # With Python's handlers gone, what the kernel sends to a guardian that is process 1 has no effect at all.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class _Guardian:
    def __init__(
        self,
        kernel: int,
        status: socket.socket | None,
        control: socket.socket,
        wake_reader: int,
        error_reader: int,
        given: Given,
    ) -> None:
        self._kernel = kernel
        self._status = status
        self._control = control
        self._wake_reader = wake_reader
        self._error_reader = error_reader
        self._work = given.request["work"]
        kills = _open_own_kills() if given.kills is None else given.kills
        self._watch = Watch(given.request["limits"], given.request["counted"], kills)

    def run(self) -> None:
        ask_for_short_turns()
        poll = select.poll()
        sources = [self._control.fileno(), self._wake_reader, self._error_reader]
        sources += [self._status.fileno()] if self._status else []
        for source in sources:
            poll.register(source, select.POLLIN)
        self._collect()  # what ended before we listened
        while True:
            # By the clock and not by silence: who floods us with signals is watched all the same.
            if over := self._watch.exceeded():
                self._finish(None, over)
            for source, event in poll.poll(self._watch.pause_ms):
                if source == self._wake_reader:
                    os.read(self._wake_reader, 4096)
                    self._collect()
                elif source == self._error_reader:
                    poll.unregister(source)
                    if not event & select.POLLIN:  # closed without a word: the kernel stands, and has run no code yet
                        self._watch.begin()
                elif self._status is not None and source == self._status.fileno():
                    self._zygote_told()
                else:
                    self._obey()

    def _collect(self) -> None:
        """Reaps all children that ended; the end of the kernel is the end of all."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._kernel:
                self._kernel_ended(os.waitstatus_to_exitcode(status))

    def _kernel_ended(self, code: int) -> None:
        self._finish(code, "memory" if self._watch.killed_for_memory() else "", _read_error(self._error_reader))

    def _zygote_told(self) -> None:
        assert self._status is not None
        told, _ = receive(self._status)
        if not told:  # it has ended itself, and nobody knows how the kernel did
            self._end()
        self._kernel_ended(json.loads(told)["code"])

    def _obey(self) -> None:
        try:
            message, descriptors = receive(self._control)
        except OSError:
            message, descriptors = b"", []
        command, _, argument = message.decode(errors="replace").partition(" ")
        if command == "signal":
            with contextlib.suppress(OSError, ValueError):
                os.killpg(self._kernel, int(argument))
        elif command == "cell":
            self._watch.cell()
        elif command == "rest":
            self._watch.rest()
        elif command == "lost":
            send(self._control, {"lost": self._watch.lost(), "of": argument})
        elif command in ("file", "document") and descriptors:
            placed = self._place(argument, descriptors[0], read_only=command == "document")
            send(self._control, {"placed": argument, "error": placed})
        else:
            self._end()

    def _place(self, name: str, source: int, *, read_only: bool) -> str:
        """Copies a file into the work folder, whole or not at all; says what went wrong."""
        path = Path(self._work, name)
        with open(source, "rb") as given:
            try:
                with path.open("xb") as target:
                    shutil.copyfileobj(given, target, _COPIED_BYTES)
                    if read_only:
                        os.fchmod(target.fileno(), 0o444)
            except FileExistsError as error:
                return str(error.strerror)
            except OSError as error:
                path.unlink(missing_ok=True)
                return error.strerror or str(error)
        return ""

    def _finish(self, code: int | None, over: str, error: str = "") -> None:
        send(self._control, {"code": code, "over": over, "error": error})
        self._end()

    def _end(self) -> None:
        """Ends all that is ours. Where we are process 1 of a namespace, our own end is enough."""
        if os.getpid() != 1:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._kernel, signal.SIGKILL)
            while children := Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split():
                for child in children:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(child), signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(-1, 0)
        os._exit(0)


def _read_error(error_reader: int) -> str:
    os.set_blocking(error_reader, False)
    with contextlib.suppress(BlockingIOError):
        return os.read(error_reader, ERROR_BYTES).decode(errors="replace")
    return ""


def _open_own_kills() -> int | None:
    """What counts the kills for memory in our own cgroup, where that can be seen (Docker)."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        with contextlib.suppress(OSError):
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    return None
