"""Whether a store has changed, and in what."""

import hashlib
import time
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from toolablate.traces.store import Store
from toolablate.viewer.keeping.trials import Trials

_CLOCK_SECONDS = 0.1
"""Within it two writes may bear the same time."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The files of a store as the system describes them; `settled` where they had last been written some time ago, so
    that no later write can look the same."""

    files: tuple[tuple[int, ...], ...]
    settled: bool

    def changed_since(self, earlier: "Stamp | None") -> bool:
        return earlier is None or not earlier.settled or self.files != earlier.files


def stamp_of(store: Path) -> Stamp:
    """Costs next to nothing: nothing is opened."""
    now = time.time_ns()
    files = tuple(_described(path) for path in (store, store.resolve().with_name(store.resolve().name + "-wal")))
    return Stamp(files, all(abs(now - written) > _CLOCK_SECONDS * 1e9 for _, _, written in filter(None, files)))


def reasons_of(store: Store) -> str:
    """A digest of what attributions rest on beside the trials: replays, which of them were to be made, and what judges
    hold for causes."""
    diagnosed = [(each.trial, each.judge, each.wording) for each in store.all_diagnoses()]
    return _digest([*sorted(store.finished_resumptions()), *store.replay_designs(), *diagnosed])


def made_of(trials: Trials, reasons: str) -> str:
    """A digest of all that attributions are made of, this version of toolablate among it."""
    return _digest([version("toolablate"), trials.run, trials.scorer, reasons, *trials.observations])


def _digest(parts: Iterable[object]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(repr(part).encode(errors="surrogatepass"))
    return found.hexdigest()


def _described(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns
