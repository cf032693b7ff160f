"""Figures of the first page, drawn beside it: no page waits long for one."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass

from markupsafe import Markup

from toolablate.analysis.findings import Findings
from toolablate.reports.html.addresses import questions_address
from toolablate.reports.plots import Printed, printed
from toolablate.viewer.index import ArmCounts

PATIENCE = 0.3
"""Seconds that a page waits. What was drawn before is there at once; the first drawing of all loads matplotlib."""


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    title: str
    about: str
    svg: Markup
    left_out: bool


@dataclass(frozen=True, slots=True)
class Drawn:
    """`older` says that they are of a version before, and that those of this one are being drawn; of a first version
    there are none until then."""

    figures: tuple[Figure, ...] = ()
    older: bool = False


class Figures:
    """Those of the last version that was asked for, in a thread of their own. Until they are drawn the ones before
    stay: while a run goes on, the next version comes sooner than a reader is done."""

    def __init__(self) -> None:
        self._drawing = ThreadPoolExecutor(1, thread_name_prefix="figures")
        self._lock = threading.Lock()
        self._version: int | None = None
        self._last: Future[tuple[Printed, ...]] | None = None
        self._before: tuple[Figure, ...] = ()

    def of(self, version: int, found: Findings, arms: Sequence[ArmCounts]) -> Drawn:
        """Raises what drawing raises."""
        with self._lock:
            last, drawn_for = self._last, self._version
            if last is not None and drawn_for != version:
                if not last.done():
                    return Drawn(self._before, older=True)
                if last.exception() is None:
                    self._before = _figures(last.result())
            if last is None or drawn_for != version:
                self._version = version
                self._last = last = self._drawing.submit(printed, found, endings=arms, link=questions_address)
        try:
            return Drawn(_figures(last.result(PATIENCE)))
        except NotYet:
            return Drawn(self._before, older=True)


def _figures(drawn: Sequence[Printed]) -> tuple[Figure, ...]:
    # Ours, with every name in it escaped: see toolablate.reports.plots.drawing.svg.
    return tuple(
        Figure(each.name, each.title, each.about, Markup(each.svg), each.left_out)  # noqa: S704
        for each in drawn
    )
