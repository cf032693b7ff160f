"""Runs plans in processes that are forked from one that has imported everything, so that to start one takes no time.

A program of its own, told by lines what to do: `warm PLAN STORE` imports what a run of the plan imports; `start PLAN
STORE` begins a run and says its process id; `wait PID` says how it ended, as subprocess does.
"""

import contextlib
import importlib
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rich.console import Console

from toolablate.experiments.plans.plan import find_modules_beside, load_plan
from toolablate.experiments.running.launch import launch
from toolablate.experiments.running.progress import RunProgress

PROJECT = Path(__file__).parents[2]


def run(plan: Path, store: Path) -> int:
    find_modules_beside(plan)
    loaded, text = load_plan(plan)
    with RunProgress(Console(quiet=True)) as progress:
        return launch(loaded.with_changes(store=store), text, progress).missing


def fork(plan: Path, store: Path, tell: int | None = None) -> int:
    child = os.fork()
    if child:
        return child
    status = 99
    try:
        missing = run(plan, store)
        if tell is not None:
            os.write(tell, "\n".join(sys.modules).encode())
        status = min(missing, 90)
    except BaseException:  # noqa: BLE001 - it must not become another nursery
        traceback.print_exc()
    finally:
        os._exit(status)


def warm(plan: Path, store: Path) -> None:
    listen, say = os.pipe()
    child = fork(plan, store, say)
    os.close(say)
    with os.fdopen(listen) as said:
        names = said.read().split("\n")
    os.waitpid(child, 0)
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def say(answer: object) -> None:
    sys.stdout.write(f"{answer}\n")
    sys.stdout.flush()


def main() -> None:
    for line in sys.stdin:
        match line.split():
            case ["warm", plan, store]:
                warm(Path(plan), Path(store))
                say("warm")
            case ["start", plan, store]:
                say(fork(Path(plan), Path(store)))
            case ["wait", pid]:
                say(os.waitstatus_to_exitcode(os.waitpid(int(pid), 0)[1]))


class Nursery:
    """The test's side of it. `errors` is what runs have written to stderr."""

    def __init__(self, process: "subprocess.Popen[str]", errors: Path) -> None:
        self._process = process
        self._errors = errors

    @property
    def errors(self) -> str:
        return self._errors.read_text(encoding="utf-8")

    def warm(self, plan: Path, store: Path) -> None:
        assert self._ask(f"warm {plan} {store}") == "warm", self.errors

    def start(self, plan: Path, store: Path) -> int:
        """Begins a run; returns its process id."""
        return int(self._ask(f"start {plan} {store}"))

    def wait(self, pid: int) -> int:
        """How the run ended: the number of trials that are missing (at most 90), or minus the signal."""
        return int(self._ask(f"wait {pid}"))

    def run(self, plan: Path, store: Path) -> int:
        return self.wait(self.start(plan, store))

    def _ask(self, line: str) -> str:
        says, hears = self._process.stdin, self._process.stdout
        assert says is not None
        assert hears is not None
        says.write(line + "\n")
        says.flush()
        return hears.readline().strip()


@contextmanager
def nursery(folder: Path) -> Iterator[Nursery]:
    errors = folder / "errors.txt"
    with errors.open("w") as file, _started(file) as process:
        yield Nursery(process, errors)


@contextmanager
def _started(errors: IO[str]) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "tests.experiments.nursery"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, text=True, cwd=PROJECT) as process:
        try:
            yield process
        finally:
            process.kill()


if __name__ == "__main__":
    main()
