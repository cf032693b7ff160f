"""Where the index of a store is kept: it is made of the store, and deleted without loss."""

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from toolablate.experiments.viewing.scope import Scope

_UNUSED_SECONDS = 30 * 86_400.0
_SUFFIX = ".sqlite"


@contextmanager
def index_place(scope: Scope) -> Iterator[Path]:
    """The path of the index of what is viewed: in `$XDG_CACHE_HOME/toolablate/view`, by default below `~/.cache`, for
    nobody else to read. Where nothing can be kept it is in a folder that ends with this."""
    with ExitStack() as ending:
        folder = _kept_folder()
        if folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="toolablate-view-", ignore_cleanup_errors=True)
            folder = Path(ending.enter_context(temporary))
        _sweep(folder)
        place = folder / _name(scope)
        place.touch(mode=0o600)
        yield place


def readings_beside(index: Path) -> Path:
    """Where what is read of traces is kept, which goes with the index."""
    return index.with_name(f"{index.name}-readings")


def _kept_folder() -> Path | None:
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "toolablate" / "view"
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        # The permission alone does not tell of a disk that is read-only.
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):
        return None


def _name(scope: Scope) -> str:
    whole = replace(scope, store=scope.store.resolve())
    return hashlib.sha256(whole.to_json().encode()).hexdigest()[:32] + _SUFFIX


def _sweep(folder: Path) -> None:
    """Removes what nobody has viewed for long: an index with what lies beside it, whose own times tell nothing."""
    for path in folder.glob(f"*{_SUFFIX}"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _UNUSED_SECONDS:
                for each in folder.glob(f"{path.name}*"):
                    each.unlink()
