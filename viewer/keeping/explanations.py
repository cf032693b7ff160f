import threading
from collections import OrderedDict

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.experiments.attribution.store_report import Unexplained, read_explanation
from toolablate.traces.errors import InputError
from toolablate.traces.store import Store
from toolablate.viewer.keeping.changes import Stamp, stamp_of
from toolablate.viewer.keeping.scope import Scope

_KEPT = 8


class Explanations:
    """Why trials went as they did, by their whole ids, as the tables of the same scope say; the last few are kept while
    the store stays as it is. Safe to be called by several threads."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._kept: OrderedDict[str, tuple[Stamp, Explanation | None]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, trial: str) -> Explanation | None:
        """None where there is nothing to explain. Raises InputError for a trial that is not there, and StoreError."""
        now = stamp_of(self._scope.store)
        with self._lock:
            stamp, explanation = self._kept.get(trial, (None, None))
        if not now.changed_since(stamp):
            return explanation
        found = self._read(trial)
        explanation = None if isinstance(found, Unexplained) else found
        with self._lock:
            self._kept[trial] = now, explanation
            self._kept.move_to_end(trial)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return explanation

    def _read(self, trial: str) -> Explanation | Unexplained:
        scope = self._scope
        try:
            return read_explanation(scope.store, trial, run=scope.run, scorer=scope.scorer)
        except InputError as error:
            if error.code != "several_scorers" or scope.scorer is not None:
                raise
        # As `read_trials` chooses.
        with Store(scope.store) as store:
            first = store.scorers()[0]
        return read_explanation(scope.store, trial, run=scope.run, scorer=first)
