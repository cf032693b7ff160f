"""A viewer over a store, served as `toolablate view` serves it, in a thread of the test's own process."""

import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from tests.viewer.keeping.reading import read_findings

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.experiments.attribution.store_report import read_explanation, read_report
from toolablate.traces.store import Store
from toolablate.viewer.application import application
from toolablate.viewer.finding.store_texts import StoreTexts
from toolablate.viewer.finding.text_index import TextIndex
from toolablate.viewer.index import ViewerIndex
from toolablate.viewer.keeping.shown_trials import attributions_of, read_trials
from toolablate.viewer.label_session import LabelSession
from toolablate.viewer.rendering import View

TOKEN = "a-token-of-the-tests"

Explain = Callable[[str], Explanation | None]


@dataclass(frozen=True)
class Site:
    """`address` lets a browser in; `base` is the same without the token, and without a slash at its end."""

    base: str
    view: Any

    @property
    def address(self) -> str:
        return f"{self.base}/?token={TOKEN}"

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    @property
    def cookie(self) -> str:
        """What a browser that was let in sends."""
        return f"toolablate-{self.port}={TOKEN}"


def indexed(store: Path, at: Path, *, why: bool = True) -> ViewerIndex:
    """The tables of a store, in a file of their own: all of them, or those that are there before it is known why."""
    index = ViewerIndex.open(at)
    refreshed(index, store)
    index.put_findings(read_findings(store, why=why))
    if why:
        index.put_attributions(attributions_of(read_report(store)))
    with Store(store) as opened:
        summaries = read_trials(opened).summaries
    while index.describe(store, summaries, most=500):
        pass
    return index


def copied(index: ViewerIndex, at: Path) -> ViewerIndex:
    """For a copy of its store."""
    with closing(sqlite3.connect(index.path)) as made, closing(sqlite3.connect(at)) as copy:
        made.backup(copy)
    return ViewerIndex.open(at)


def refreshed(index: ViewerIndex, store: Path, *, ended: int | None = None, without: str = "") -> None:
    """As if so many trials had ended, and none of one question: what a process beside the viewer would have made."""
    with Store(store) as opened:
        trials = read_trials(opened)
        index.refresh(
            opened,
            [seen for seen in trials.summaries[:ended] if seen.question != without],
            baseline=trials.baseline,
            models=trials.models,
            conditions=trials.conditions,
        )


def viewing(store: Path, index: ViewerIndex, *, blind: bool = False, session: LabelSession | None = None) -> View:
    texts = StoreTexts(store, TextIndex.open(index.path.with_name(f"{index.path.name}-texts")))
    texts.refresh()
    return View(
        store, index, TOKEN, partial(_explained, store), "Ada", blind, texts=texts, session=session or LabelSession()
    )


def _explained(store: Path, trial: str) -> Explanation | None:
    found = read_explanation(store, trial)
    return found if isinstance(found, Explanation) else None


@contextmanager
def serving(view: View) -> Iterator[Site]:
    with answering(application(view)) as base:
        yield Site(base, view)


@contextmanager
def answering(app: ASGIApp, port: int = 0) -> Iterator[str]:
    """The address of its server, without a slash at the end; 0 is any port that is free."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(128)
        port = listening.getsockname()[1]
        config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1, ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(10)
