"""Serves the pages of a review."""

import secrets
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from toolablate.experiments.construction.approvals import load_reviewed
from toolablate.experiments.construction.review_desk import Desk
from toolablate.experiments.construction.reviewers import Reviewers
from toolablate.experiments.construction.workbench import Workbench
from toolablate.traces.database import beside
from toolablate.traces.errors import InputError
from toolablate.viewer.keeping.serving import HOST, Tell, answer, listening, until_stopped


@contextmanager
def listening_again(pipeline: Path, tell: Tell) -> Iterator[socket.socket]:
    """At the port at which the workbench was last reviewed, since pages that are open in browsers send there; at
    another one where that is taken. `tell` is told which."""
    last = _last_port(Path(load_reviewed(pipeline).workbench))
    with ExitStack() as stack:
        try:
            listener = stack.enter_context(listening(last))
            if last:
                tell(f"Port {last} again: pages that are still open can send once the new address was opened.")
        except InputError:
            listener = stack.enter_context(listening())
            tell(f"Port {last}, where this was last reviewed, is taken: pages that are still open there cannot send.")
        yield listener


def _port_file(workbench: Path) -> Path:
    return beside(workbench, "-port.txt")


def _last_port(workbench: Path) -> int:
    """0 where none is known."""
    try:
        port = int(_port_file(workbench).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0
    return port if 0 < port < 65_536 else 0


def serve_review(pipeline: Path, listener: socket.socket, ready: Tell) -> None:
    """Serves until Ctrl-C or a SIGTERM. `ready` is told the address, with a token that lets its browser in. Raises
    InputError and StoreError where there is nothing to review."""
    from toolablate.viewer.application import served
    from toolablate.viewer.reviewing.pages import ROUTES, ReviewView

    loaded = load_reviewed(pipeline)
    if not (loaded.review.reviewers or loaded.review.proofreaders):
        raise InputError("review.reviewers is 0: no item waits for people", hint="name how many", code="no_review")
    workbench = Path(loaded.workbench)
    token, port = secrets.token_urlsafe(32), listener.getsockname()[1]
    with until_stopped(), Workbench(workbench, beside=True) as bench:
        with suppress(OSError):  # who cannot write there can review all the same
            _port_file(workbench).write_text(f"{port}\n", encoding="utf-8")
        desk = Desk(pipeline, bench)
        desk.look()
        view = ReviewView(desk, Reviewers(workbench), pipeline)
        app = served(ROUTES, token, frame="review_base.html", of="workbench", view=view)
        answer(app, listener, f"http://{HOST}:{port}/?token={token}", ready)
