"""How a run is shown while it goes: in a notebook as an output that changes, elsewhere as the command line does."""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from rich.console import Console

from toolablate.experiments.running.progress import RunProgress
from toolablate.reports.html.notebook import WIDTH, as_plain, preformatted

Progress = Callable[[Console, str], RunProgress]


def in_notebook() -> bool:
    """Whether this is a Jupyter kernel."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return getattr(shell, "kernel", None) is not None


@contextmanager
def shown(*, progress: bool) -> Iterator[tuple[Console, Progress]]:
    """Where to tell what is done, and how to show it going; nowhere without `progress`."""
    if not progress:
        yield Console(file=io.StringIO()), lambda _console, noun: RunProgress(None, noun)
    elif in_notebook():
        output = _Output()
        yield output.console, lambda _console, noun: _NotebookProgress(output, noun)
        output.show()
    else:
        yield Console(stderr=True), RunProgress


class _Output:
    """One output of a cell: what was told so far, and below it what changes."""

    def __init__(self) -> None:
        from IPython.display import display

        self._told = io.StringIO()
        self.console = Console(
            file=self._told, width=WIDTH, color_system=None, force_terminal=False, force_jupyter=False
        )
        self._handle: Any = display(self._bundle(""), raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def show(self, now: str = "") -> None:
        self._handle.update(self._bundle(now), raw=True)

    def _bundle(self, now: str) -> dict[str, str]:
        text = f"{self._told.getvalue()}{now}".rstrip("\n")
        return {"text/plain": text, "text/html": preformatted(text)}


class _NotebookProgress(RunProgress):
    """The output is made anew once a second, and at the end without what changes."""

    def __init__(self, output: _Output, noun: str) -> None:
        super().__init__(output.console, noun)
        self._output = output

    def beat(self) -> None:
        self._output.show(as_plain(self.panel()))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._output.console.print(self.told_at_the_end(), markup=False)
        self._output.show()
