"""Runs commands in processes that are forked from one that has imported what they import, which takes most of a second
for each that starts from nothing.

A program of its own: over its socket come the arguments, folder and environment of a command, with where it is to
write; the answer is how it ended, as subprocess says it.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import random
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO

PROJECT = Path(__file__).parents[2]
_SECONDS = 100
_REQUEST_BYTES = 200_000
_ROOMS = ("agents", "benchmarks", "experiments", "sandbox", "tools", "traces")
_APART = ("toolablate.sandbox.inside", "toolablate.formats.exporting", "toolablate.formats.imported")
"""What only kernels import, and what needs libraries that start threads, which no fork keeps."""

_LAZY = ("docker", "langgraph.graph", "rich.progress", "scipy.stats")


def prepare() -> None:
    for room in _ROOMS:
        package = importlib.import_module(f"toolablate.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.startswith(_APART) and not module.name.endswith("__main__"):
                # One that is broken is so for the command that needs it.
                with contextlib.suppress(Exception):
                    importlib.import_module(module.name)
    for name in _LAZY:
        importlib.import_module(name)
    assert threading.active_count() == 1
    gc.collect()
    gc.freeze()


def main(requests: socket.socket) -> None:
    prepare()
    while True:
        said, descriptors, _, _ = socket.recv_fds(requests, _REQUEST_BYTES, 2)
        if not said:
            return None
        child = os.fork()
        if child == 0:
            requests.close()
            become(json.loads(said), descriptors)
            # To its end as if it had been started: what is to be done at exit is done.
            return runpy.run_module("toolablate", run_name="__main__", alter_sys=True) and None
        for descriptor in descriptors:
            os.close(descriptor)
        requests.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def become(asked: dict[str, object], descriptors: list[int]) -> None:
    arguments, folder, environment = asked["arguments"], asked["folder"], asked["environment"]
    assert isinstance(arguments, list)
    assert isinstance(folder, str)
    assert isinstance(environment, dict)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((nothing, *descriptors)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = arguments
    sys.path[0] = folder
    random.seed()


class Commands:
    """The tests' side of it, for one command at a time."""

    def __init__(self) -> None:
        self._program: subprocess.Popen[bytes] | None = None
        self._ours: socket.socket | None = None

    def run(
        self, arguments: list[str], folder: Path, environment: dict[str, str]
    ) -> "subprocess.CompletedProcess[str]":
        asked = {"arguments": arguments, "folder": str(folder), "environment": environment}
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            code = self._ask(json.dumps(asked).encode(), output, errors)
            for file in (output, errors):
                file.seek(0)
            return subprocess.CompletedProcess(["toolablate", *arguments], code, output.read(), errors.read())

    def close(self) -> None:
        if self._program is not None and self._ours is not None:
            os.killpg(self._program.pid, signal.SIGKILL)
            self._program.wait()
            self._ours.close()
            self._program = self._ours = None

    def _ask(self, asked: bytes, output: IO[str], errors: IO[str]) -> int:
        ours = self._ours or self._start()
        try:
            socket.send_fds(ours, [asked], [output.fileno(), errors.fileno()])
            return int(ours.recv(100))
        except BaseException:
            self.close()
            raise

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", "tests.experiments.commands", str(theirs.fileno())]
            self._program = subprocess.Popen(command, cwd=PROJECT, pass_fds=[theirs.fileno()], start_new_session=True)
        ours.settimeout(_SECONDS)
        self._ours = ours
        return ours


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv.pop())))
