"""Addresses that stay the same while the kernels behind them change, as Jupyter's clients expect of a restart."""

import shutil
import tempfile
from pathlib import Path

from toolablate.sandbox.sockets import CHANNELS


class StableAddress:
    """Links `{address}-1` to `{address}-5` in a new folder in `place`, to the sockets of whichever kernel lives now.

    A client that is connected when its kernel ends tries the same path again until it leads to the next kernel.
    """

    def __init__(self, place: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="", dir=place))
        self.address = str(self._folder / "k")

    def lead_to(self, address: str) -> None:
        for number, _ in enumerate(CHANNELS, start=1):
            link = Path(f"{self.address}-{number}")
            link.unlink(missing_ok=True)
            link.symlink_to(f"{address}-{number}")

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
