import threading
from collections import OrderedDict
from pathlib import Path

from toolablate.experiments.explaining.view import Unexplained, read_explanation
from toolablate.experiments.viewing.changes import Stamp, stamp_of
from toolablate.traces.analysis.attribution.explanation import Explanation

_KEPT = 8


class Explanations:
    """Why trials went as they did, by their whole ids; the last few are kept while the store stays as it is. Safe to be
    called by several threads."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._kept: OrderedDict[str, tuple[Stamp, Explanation | None]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, trial: str) -> Explanation | None:
        """None where there is nothing to explain. Raises InputError for a trial that is not there, and StoreError."""
        now = stamp_of(self._store)
        with self._lock:
            stamp, explanation = self._kept.get(trial, (None, None))
        if not now.changed_since(stamp):
            return explanation
        found = read_explanation(self._store, trial)
        explanation = None if isinstance(found, Unexplained) else found
        with self._lock:
            self._kept[trial] = now, explanation
            self._kept.move_to_end(trial)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return explanation
