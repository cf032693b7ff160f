"""Figures of the first page, drawn beside it: no page waits long for one."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass

from markupsafe import Markup

from toolablate.traces.analysis.findings import Findings
from toolablate.traces.html.addresses import questions_address
from toolablate.traces.plots import Printed, printed
from toolablate.traces.viewer.index import ArmCounts

PATIENCE = 0.3
"""Seconds that a page waits. What was drawn before is there at once; the first drawing of all loads matplotlib."""


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    title: str
    about: str
    svg: Markup


class Figures:
    """Those of the last version that was asked for, in a thread of their own."""

    def __init__(self) -> None:
        self._drawing = ThreadPoolExecutor(1, thread_name_prefix="figures")
        self._lock = threading.Lock()
        self._version: int | None = None
        self._last: Future[tuple[Printed, ...]] | None = None

    def of(self, version: int, found: Findings, arms: Sequence[ArmCounts]) -> tuple[Figure, ...] | None:
        """None while they are being drawn. Raises what drawing raises."""
        with self._lock:
            if self._last is not None and self._version != version and not self._last.done():
                return None
            if self._last is None or self._version != version:
                self._version = version
                self._last = self._drawing.submit(printed, found, endings=arms, link=questions_address)
            last = self._last
        try:
            drawn = last.result(PATIENCE)
        except NotYet:
            return None
        # Ours, with every name in it escaped: see toolablate.traces.plots.svg.
        return tuple(Figure(each.name, each.title, each.about, Markup(each.svg)) for each in drawn)  # noqa: S704
