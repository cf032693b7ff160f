"""Where what is made of stores is kept: among the user's caches, for nobody else to read, and deleted without loss; and
whether a store has changed since."""

import hashlib
import os
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".sqlite"
_UNUSED_SECONDS = 30 * 86_400.0


def kept_folder(name: str) -> Path | None:
    """`$XDG_CACHE_HOME/toolablate/NAME`, by default below `~/.cache`, without what nobody has used for a month. None
    where nothing can be kept."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "toolablate" / name
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        # The permission alone does not tell of a disk that is read-only.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, RuntimeError):
        return None
    sweep(folder)
    return folder


def file_for(of: str) -> str:
    return hashlib.sha256(of.encode(errors="surrogateescape")).hexdigest()[:32] + SUFFIX


VIEWS = "-views.json"
"""How a file beside one of ours ends that people made, and that nothing else can be made again from."""


def sweep(folder: Path) -> None:
    """Removes what nobody has used for long: a file with what lies beside it, whose own times tell nothing; but what
    people made."""
    for path in folder.glob(f"*{SUFFIX}"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _UNUSED_SECONDS:
                for each in folder.glob(f"{path.name}*"):
                    if not each.name.endswith(VIEWS):
                        each.unlink()


# Whether a store has changed.


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


def _described(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns
