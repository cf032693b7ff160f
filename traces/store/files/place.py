import os
import time
from pathlib import Path

from toolablate.traces.errors import StoreError
from toolablate.traces.store.files.errors import unwritable

LOOK_SECONDS = 1.0


class Place:
    """Where a store that is open for writing lies. SQLite writes on to a file that has lost its name, and nobody would
    notice. Making one raises StoreError where nothing is there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._absolute = path.absolute()
        self._looked = time.monotonic()
        try:
            self._stat = self._absolute.stat()
        except OSError as error:
            raise unwritable(path, error) from error

    def require_kept(self) -> None:
        """Looks once a second. Raises StoreError where the store was deleted, moved or replaced."""
        if time.monotonic() - self._looked >= LOOK_SECONDS:
            self._looked = time.monotonic()
            if not self.is_kept():
                raise self.gone()

    def is_kept(self) -> bool:
        try:
            return os.path.samestat(self._absolute.stat(), self._stat)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True  # what cannot be told is no reason to end a run

    def gone(self) -> StoreError:
        return StoreError(
            f"Cannot write the store {self.path}: it was deleted, moved or replaced meanwhile",
            hint="What was finished until then is in the file that was there: put it back, and run again.",
            code="gone",
        )
