"""The shell that runs the cells."""

from types import TracebackType
from typing import Any

from ipykernel.zmqshell import ZMQInteractiveShell

_FIRST_FRAMES, _LAST_FRAMES = 10, 30


class Shell(ZMQInteractiveShell):
    """Shows the two ends of a long traceback: IPython looks through all modules for each of its frames, which takes
    many seconds for an endless recursion."""

    def _get_exc_info(self, exc_tuple: Any = None) -> Any:
        kind, error, traceback = super()._get_exc_info(exc_tuple)  # type: ignore[no-untyped-call]
        return kind, error, _shortened(traceback)

    def _format_exception_for_storage(self, exception: BaseException, *_: Any, **__: Any) -> dict[str, Any]:
        """For a notebook that nobody writes; it would format every traceback a second time."""
        return {"ename": type(exception).__name__, "evalue": str(exception), "traceback": []}


def _shortened(traceback: TracebackType | None) -> TracebackType | None:
    entries = []
    entry = traceback
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    if len(entries) <= _FIRST_FRAMES + _LAST_FRAMES:
        return traceback
    kept: TracebackType | None = None
    for entry in reversed(entries[:_FIRST_FRAMES] + entries[-_LAST_FRAMES:]):
        kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept
