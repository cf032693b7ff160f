"""A second store beside the one that is viewed."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolablate.analysis.comparison import Comparison
from toolablate.analysis.effect import SIGNIFICANT
from toolablate.analysis.flips import Flip
from toolablate.analysis.two_stores import TwoStores, read_two_stores
from toolablate.reports import numbers
from toolablate.reports.terminal.comparison import grounds_of
from toolablate.traces.kept import Stamp, stamp_of
from toolablate.traces.store import Store
from toolablate.viewer.diff import shown_beside, side_of
from toolablate.viewer.rendering import page, view_of
from toolablate.viewer.selection import TURNS

PATIENCE = 0.5
"""Seconds that a page waits for figures; of large stores it takes a bootstrap some."""
MOST_FLIPS = 500


@dataclass(frozen=True, slots=True)
class StoresCompared:
    stores: TwoStores
    rows: Sequence[Comparison]
    flips: Sequence[Flip]


class OtherStore:
    """Compared in a thread of its own, anew where one of both stores has changed; meanwhile what was found before
    stays. May be asked by several threads."""

    def __init__(self, here: Path, there: Path, *, run: str = "latest", scorer: str | None = None) -> None:
        self.here, self.path = here, there
        self._run, self._scorer = run, scorer
        self._working = ThreadPoolExecutor(1, thread_name_prefix="against")
        self._lock = threading.Lock()
        self._stamps: tuple[Stamp, Stamp] | None = None
        self._last: Future[StoresCompared] | None = None
        self._before: StoresCompared | None = None

    def found(self) -> StoresCompared | None:
        """None while nothing is known yet. Raises InputError where nothing is in common, and StoreError."""
        now = stamp_of(self.here), stamp_of(self.path)
        with self._lock:
            last = self._last
            changed = self._stamps is None or any(
                one.changed_since(other) for one, other in zip(now, self._stamps, strict=True)
            )
            if last is None or (changed and last.done()):
                if last is not None and last.exception() is None:
                    self._before = last.result()
                self._stamps, self._last = now, self._working.submit(self._read)
                last = self._last
        try:
            return last.result(PATIENCE)
        except NotYet:
            return self._before

    def _read(self) -> StoresCompared:
        run = self._run if self._run in ("latest", "all") else "latest"
        found = read_two_stores(self.here, self.path, run=run, scorer=self._scorer)
        return StoresCompared(found, found.compare(harm=False), found.flips())


def against(request: Request) -> Response:
    """Scores, paired differences and flips between the stores."""
    other = _other(request)
    found = other.found()
    return page(
        request,
        "against.html",
        other=other.path.name,
        found=found,
        flips=() if found is None else found.flips[:MOST_FLIPS],
        footnotes=() if found is None else tuple(grounds_of(found.rows)),
        turns=TURNS,
        numbers=numbers,
        significant=SIGNIFICANT,
    )


def diff_of_stores(request: Request) -> Response:
    """A trial of the store that is viewed beside one of the other."""
    view, other = view_of(request), _other(request)
    with Store(view.store) as store, Store(other.path) as second:
        left = side_of(view, store, store.find_trial(request.path_params["left"]))
        version = hash(stamp_of(other.path).files)
        right = side_of(view, second, second.find_trial(request.path_params["right"]), version=version)
        question = store.question(left.trace.trial.question)
    found = other.found()
    names = (found.stores.here, found.stores.there) if found else (other.here.name, other.path.name)
    return shown_beside(request, left, right, question, stores=names)


def _other(request: Request) -> OtherStore:
    found = view_of(request).other
    if found is None:
        raise HTTPException(404, "Start the viewer with two stores: toolablate view STORE OTHER")
    return found


ROUTES = (
    Route("/against", against, name="against"),
    Route("/against/{left}/{right}", diff_of_stores, name="diff_of_stores"),
)
