"""The limits of a kernel as traits, the way in which everything in Jupyter is configured."""

import difflib
import math
from collections.abc import Iterable
from typing import Any

from traitlets import TraitError, TraitType

from toolablate.sandbox.kernel import Limits

_MOST = 1_000_000_000
"""More than any machine has, and little enough for every system call that takes it, in bytes as well."""


class LimitTrait(TraitType[Any, Any]):
    """A number above 0; a whole one where the limit of this name is."""

    def __init__(self, default: float, help: str) -> None:
        super().__init__(default, help=help, config=True)
        self._whole = isinstance(default, int)

    def validate(self, obj: Any, value: Any) -> Any:
        number = isinstance(value, int if self._whole else (int, float)) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not 0 < value <= _MOST:
            kind = "a whole number" if self._whole else "a number"
            raise TraitError(f"{self.name} must be {kind} above 0 and at most {_MOST}, not {value!r}")
        return value

    def from_string(self, text: str) -> Any:
        """From a command line; what is no number is left to `validate`."""
        try:
            return int(text) if self._whole else float(text)
        except ValueError:
            return text


def limit(name: str, help: str, default: float | None = None) -> Any:
    return LimitTrait(getattr(Limits(), name) if default is None else default, help)


def refuse_unknown(given: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raises `TraitError` for the first key of a configuration that means nothing."""
    known = sorted(known)
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            meant = f"did you mean {near[0]!r}? " if near else ""
            raise TraitError(f"{where} has no key {key!r}: {meant}The keys are: {', '.join(known)}")
