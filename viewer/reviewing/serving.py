"""Serves the pages of a review."""

import secrets
import socket
from pathlib import Path

from toolablate.experiments.construction.pipeline import load_pipeline
from toolablate.experiments.construction.review_desk import Desk
from toolablate.experiments.construction.reviewers import Reviewers
from toolablate.experiments.construction.workbench import Workbench
from toolablate.traces.errors import InputError
from toolablate.viewer.keeping.serving import HOST, Tell, answer, until_stopped


def serve_review(pipeline: Path, listener: socket.socket, ready: Tell) -> None:
    """Serves until Ctrl-C or a SIGTERM. `ready` is told the address, with a token that lets its browser in. Raises
    InputError and StoreError where there is nothing to review."""
    from toolablate.viewer.application import served
    from toolablate.viewer.reviewing.pages import ROUTES, ReviewView

    loaded = load_pipeline(pipeline)
    if not loaded.review.reviewers:
        raise InputError("review.reviewers is 0: no item waits for people", hint="name how many", code="no_review")
    workbench = Path(loaded.workbench)
    token, port = secrets.token_urlsafe(32), listener.getsockname()[1]
    with until_stopped(), Workbench(workbench, beside=True) as bench:
        desk = Desk(pipeline, bench)
        desk.look()
        view = ReviewView(desk, Reviewers(workbench), pipeline)
        app = served(ROUTES, token, frame="review_base.html", of="workbench", view=view)
        answer(app, listener, f"http://{HOST}:{port}/?token={token}", ready)
