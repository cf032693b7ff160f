"""Where what is made of stores is kept: among the user's caches, for nobody else to read, and deleted without loss."""

import hashlib
import os
import tempfile
import time
from contextlib import suppress
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


def readings_of(store: Path) -> Path | None:
    """The file that keeps what was read of a store's traces, whatever of them was asked for. None where nothing can be
    kept."""
    folder = kept_folder("readings")
    return None if folder is None else folder / file_for(str(store.resolve()))


def sweep(folder: Path) -> None:
    """Removes what nobody has used for long: a file with what lies beside it, whose own times tell nothing."""
    for path in folder.glob(f"*{SUFFIX}"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _UNUSED_SECONDS:
                for each in folder.glob(f"{path.name}*"):
                    each.unlink()
