"""Processes that are measured from outside, and the server that they talk to."""

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.runner.harnesses import ROOT, Command
from bench.runner.server import Watch

_LOOK_SECONDS = 0.05
_TAIL = 800
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"


class EndedBadlyError(Exception):
    """A harness' command failed or took too long."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Of a process that has ended, in seconds and MB (RSS); `memory` is what it had when, by CLOCK_MONOTONIC."""

    wall: float
    cpu: float
    peak_mb: float
    memory: Sequence[tuple[float, float]]

    def memory_at(self, moment: float) -> float:
        """The last that was seen before `moment`; 0 where nothing was."""
        return next((size for at, size in reversed(self.memory) if at <= moment), 0.0)


def run_measured(command: Command, folder: Path, seconds: float) -> Usage:
    """Runs a command to its end. What it prints goes into `folder`. Raises EndedBadlyError, after it was killed where
    it took more than `seconds`. Its CPU is what the kernel reports of it and of the children it has waited for."""
    out = folder / "output.txt"
    with out.open("wb") as output:
        begun = time.monotonic()
        process = subprocess.Popen(
            command.arguments,
            cwd=ROOT,
            env={**{name: value for name, value in os.environ.items() if name != _NO_BYTECODE}, **command.env},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        late = threading.Timer(seconds, process.kill)
        late.start()
        looking = _Looking(process.pid)
        looking.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
        finally:
            wall = time.monotonic() - begun
            late.cancel()
            looking.end()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        said = out.read_text(encoding="utf-8", errors="replace")[-_TAIL:].strip()
        why = f"took more than {seconds:g} s" if wall >= seconds else f"exited with {process.returncode}"
        raise EndedBadlyError(f"{why}; it said: {said}")
    return Usage(wall, used.ru_utime + used.ru_stime, looking.peak_mb, looking.memory)


class _Looking(threading.Thread):
    """Looks at a process' memory until it has ended. The peak that wait4 reports would hold this process' own memory,
    which a child shares until it has become another program."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.memory: list[tuple[float, float]] = []
        self.peak_mb = 0.0
        self._status = Path(f"/proc/{pid}/status")
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            try:
                lines = self._status.read_bytes().splitlines()
            except (FileNotFoundError, ProcessLookupError):
                return
            wanted = (line for line in lines if line.startswith((b"VmHWM:", b"VmRSS:")))
            found = {line[:6]: int(line.split()[1]) * 1024 / 1e6 for line in wanted}
            if found:
                self.memory.append((time.monotonic(), found[b"VmRSS:"]))
                self.peak_mb = max(self.peak_mb, found[b"VmHWM:"])

    def end(self) -> None:
        self._ended.set()
        self.join()


class Served:
    """The server of `server.py`, in a process of its own."""

    def __init__(self, port: int) -> None:
        self._port = port

    def url(self, key: str, latency: float = 0.0) -> str:
        return f"http://127.0.0.1:{self._port}/{key}/{round(latency * 1000)}/v1"

    def watch(self, key: str) -> Watch:
        return self._asked(f"{key}/0/watch")

    def answer(self, key: str, most: int) -> None:
        """Of the requests of `key` the first ones, until more are."""
        self._asked(f"{key}/{most}/answer")

    def _asked(self, path: str) -> Watch:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/{path}", timeout=30) as reply:
            found: Mapping[str, list[float]] = json.load(reply)
        return Watch(**found)  # type: ignore[arg-type]


@contextmanager
def serving() -> Iterator[Served]:
    command = [sys.executable, "-m", "bench.runner.server"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Served(int(process.stdout.readline()))
        finally:
            process.stdin.close()
            process.wait(10)
