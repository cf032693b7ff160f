"""The workers of the cluster's run that drives a store: told in a file beside it, for those who ask how far it is."""

import contextlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from toolablate.traces.database import beside
from toolablate.traces.store.file import is_driven, uptime

MAX_BYTES = 10_000_000
"""More than ten thousand workers have to say."""


@dataclass(frozen=True, slots=True)
class WorkerStanding:
    """A worker by its machine and process: how many trials it is at, how many it has ended, and how many were lost with
    it. `silent_seconds` is how long ago it last said something, which a living one does every few seconds."""

    name: str
    state: Literal["ready", "lost", "left out"]
    running: int = 0
    ended: int = 0
    lost: int = 0
    silent_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class NoWorker:
    """No worker of a cluster's run is ready, for so many seconds. The run ends once they are `patience_seconds`."""

    seconds: float
    patience_seconds: float


def workers_file(store: Path) -> Path:
    return beside(store.resolve(), "-workers")


def write_workers(store: Path, workers: Iterable[WorkerStanding], no_worker: NoWorker | None = None) -> None:
    """In the place of what was told before. Raises OSError."""
    path = workers_file(store)
    new = beside(path, ".new")
    told = {
        "clock": uptime(),
        "workers": list(map(asdict, workers)),
        "no_worker": None if no_worker is None else asdict(no_worker),
    }
    new.write_text(json.dumps(told), encoding="utf-8")
    new.replace(path)


def remove_workers(store: Path) -> None:
    for path in (workers_file(store), beside(workers_file(store), ".new")):
        with contextlib.suppress(OSError):
            path.unlink()


def read_workers(store: Path) -> tuple[tuple[WorkerStanding, ...], NoWorker | None]:
    """Nothing where no cluster's run drives the store: a driver that was killed has left its file behind."""
    if not is_driven(store):
        return (), None
    try:
        with workers_file(store).open("rb") as file:
            if os.fstat(file.fileno()).st_size > MAX_BYTES:
                return (), None
            told = json.load(file)
        passed = max(uptime() - told["clock"], 0.0)
        workers = (WorkerStanding(**each) for each in told["workers"])
        silent = tuple(replace(each, silent_seconds=each.silent_seconds + passed) for each in workers)
        if told["no_worker"] is None:
            return silent, None
        none = NoWorker(**told["no_worker"])
        return silent, replace(none, seconds=none.seconds + passed)
    except (OSError, ValueError, TypeError, KeyError):
        # Not told yet, or by a driver of another version: how far the trials are is in the store.
        return (), None
