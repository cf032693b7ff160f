"""Shows how far an exposure test is: a bar for each model in a terminal, a line at its beginning elsewhere."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from toolablate.reports.numbers import counted
from toolablate.traces.plain import one_line


class ExposureProgress:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars: dict[str, TaskID] = {}
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, model: str, asked: int, done: int) -> None:
        name = one_line(model)
        held = f" ({done} {'is' if done == 1 else 'are'} there already)" if done else ""
        self._console.print(f"{name}: {asked - done} of {counted(asked, 'prompt')} to continue{held}", markup=False)
        self._bars[model] = self._progress.add_task(escape(name), total=asked, completed=done)

    def advance(self, model: str) -> None:
        self._progress.advance(self._bars[model])
