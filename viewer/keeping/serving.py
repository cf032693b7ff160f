"""Serves the pages and starts the process that keeps their index."""

import getpass
import html
import json
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import webbrowser
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.experiments.attribution.store_report import Unexplained, read_explanation
from toolablate.traces.errors import InputError, InternalError
from toolablate.traces.installing import to_install
from toolablate.traces.kept import Stamp, stamp_of
from toolablate.traces.store import Store
from toolablate.viewer.index import ViewerIndex
from toolablate.viewer.keeping.shown_trials import ViewScope
from toolablate.viewer.label_session import LabelSession

if TYPE_CHECKING:
    from starlette.types import ASGIApp
    from uvicorn import Server

    from toolablate.viewer.finding.store_texts import StoreTexts

HOST = "127.0.0.1"
_END_SECONDS = 0
_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads: the name under which labels are kept, whether attributions are hidden on all pages until they have
    said what they think, and by what they label. Raises InputError for a name that no label could have."""

    person: str
    blind: bool = False
    session: LabelSession = field(default_factory=LabelSession)

    def __post_init__(self) -> None:
        if not 1 <= len(self.person.strip()) <= _NAME_CHARS:
            raise InputError(
                f"--person: the name has {len(self.person.strip())} characters",
                hint=f"1 to {_NAME_CHARS} are allowed.",
                code="person",
            )


def require_view() -> None:
    """Raises InputError where what serves pages is not installed."""
    try:
        import jinja2  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"A part of the viewer is not installed: {error.name}",
            hint=to_install("view"),
            code="no_view",
        ) from None


def user_name() -> str:
    """Whose labels those of this machine's user are; "reader" where it does not say."""
    try:
        return getpass.getuser()[:_NAME_CHARS]
    except (OSError, KeyError, ImportError):
        return "reader"


@contextmanager
def listening(port: int = 0) -> Iterator[socket.socket]:
    """On this machine's own address alone; 0 is any port that is free. Raises InputError where it cannot be had."""
    with socket.socket() as listener:
        # A viewer that was just ended must not hold its port for a minute.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
            listener.listen(128)
        except OSError as error:
            raise InputError(
                f"--port: {port} is not available: {error.strerror}",
                hint="Choose another port, or omit --port to use a free one.",
                code="port",
            ) from None
        yield listener


Tell = Callable[[str], None]


def serve(
    scope: ViewScope, listener: socket.socket, reader: Reader, ready: Tell, tell: Tell, *, other: Path | None = None
) -> None:
    """Serves until Ctrl-C or a SIGTERM. `ready` is told the address, with a token that lets its browser in, once there
    are tables to show; `tell` what is waited for before. `other` is a store to show beside it. Raises InputError and
    StoreError where the stores cannot be viewed."""
    from toolablate.viewer.index import ViewerIndex
    from toolablate.viewer.keeping.shown_trials import index_place, require_scope, texts_of, texts_place

    require_scope(scope)
    if other is not None:
        require_scope(ViewScope(other))
    token, port = secrets.token_urlsafe(32), listener.getsockname()[1]
    with until_stopped(), index_place(scope) as place:
        index = ViewerIndex.open(place)
        texts = texts_of(scope, texts_place(scope, place))
        with IndexKeeper(scope, index, texts) as keeper:
            # Takes as long as the first tables, which are made meanwhile.
            from toolablate.viewer.against import OtherStore
            from toolablate.viewer.application import application
            from toolablate.viewer.rendering import View

            keeper.wait_for_tables(tell)
            view = View(
                *(scope.store, index, token, Explanations(scope), reader.person, reader.blind, texts),
                other=None if other is None else OtherStore(scope.store, other, run=scope.run, scorer=scope.scorer),
                session=reader.session,
            )
            first = f"http://{HOST}:{port}/{'labels' if reader.session.queue else ''}?token={token}"
            answer(application(view), listener, first, ready)


def answer(app: "ASGIApp", listener: socket.socket, first: str, ready: Tell) -> None:
    """Until Ctrl-C or a SIGTERM; `ready` is told the address of the `first` page."""
    server = _server(app)
    with _ended_by_signals(server):
        ready(first)
        server.run(sockets=[listener])


@contextmanager
def until_stopped() -> Iterator[None]:
    """Ctrl-C ends what is within, whatever it is at, and a SIGTERM does so no less cleanly."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _ended_by_signals(server: "Server") -> Iterator[None]:
    """Ends the server where it can be ended, be it before it runs: an interrupt anywhere else would be told of."""
    before = {number: signal.signal(number, server.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _server(app: "ASGIApp") -> "Server":
    import uvicorn

    class Quiet(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            # Answers that are not done by then are cut off, and that is no news.
            logging.getLogger("uvicorn.error").disabled = True
            await super().shutdown(sockets)

    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=_END_SECONDS,
    )
    return Quiet(config)


_LOOK_SECONDS = 0.05
_SOON_SECONDS = 2.0


class IndexKeeper:
    """Within it a process of its own keeps an index up to date with its store (see `keeping`)."""

    def __init__(self, scope: ViewScope, index: ViewerIndex, texts: "StoreTexts | None" = None) -> None:
        self._scope, self._index, self._texts = scope, index, texts
        self._leaving = False
        self._ending = ""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "toolablate.viewer.keeping.rounds"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended already, which is told below
            told = {"index": str(self._index.path), "scope": self._scope.to_json()}
            if self._texts is not None:
                told["texts"] = str(self._texts.index.path)
            self._process.stdin.write(json.dumps(told) + "\n")
            self._process.stdin.flush()
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leaving = True
        self._process.kill()
        self._watching.join()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()

    def wait_for_tables(self, tell: Callable[[str], None]) -> None:
        """Until the first tables are there, which takes seconds where many trials were never viewed; `tell` is told so.
        Raises InternalError where the process has ended without making them."""
        told, began = "", time.monotonic()
        while not self._index.filled():
            if time.monotonic() - began > _SOON_SECONDS:
                said = self._index.trouble() or f"Reading {self._scope.store} for the first time ..."
                if said != told:
                    tell(said)
                told = said
            if self._process.poll() is not None:
                self._watching.join()
                raise InternalError(
                    f"The process that builds the tables of {self._scope.store} has ended: {self._ending}",
                    hint="Try again; if that does not help, please report it.",
                    code="view",
                )
            time.sleep(_LOOK_SECONDS)

    def _watch(self) -> None:
        assert self._process.stdout is not None
        said, code = self._process.stdout.read().strip(), self._process.wait()
        by = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
        self._ending = said or f"their process {by}"
        if not self._leaving:
            self._index.put_last_trouble(
                f"these tables are not kept up to date until the viewer is started again: {self._ending}"
            )


_KEPT = 8


class Explanations:
    """Why trials went as they did, by their whole ids, as the tables of the same scope say; the last few are kept while
    the store stays as it is. Safe to be called by several threads."""

    def __init__(self, scope: ViewScope) -> None:
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


# Shows an address in the user's browser.


def has_browser() -> bool:
    """Whether there is a screen to show one on, or one is named; a browser of the terminal would take that over."""
    on_screen = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    return on_screen or bool(os.environ.get("BROWSER"))


@contextmanager
def browser() -> Iterator[Callable[[str], None]]:
    """Within it an address can be shown. The browser is given a file that leads there, for nobody else to read: what a
    program is called with everybody on the machine can see, and the address holds a token."""
    with ExitStack() as ending:

        def show(url: str) -> None:
            temporary = tempfile.TemporaryDirectory(prefix="toolablate-view-", ignore_cleanup_errors=True)
            page = Path(ending.enter_context(temporary)) / "open.html"
            page.write_text(f'<meta http-equiv="refresh" content="0; url={html.escape(url)}">', encoding="utf-8")
            threading.Thread(target=_open, args=(page.as_uri(),), daemon=True).start()

        yield show


def _open(address: str) -> None:
    with suppress(webbrowser.Error, OSError):
        webbrowser.open(address)


@contextmanager
def address_shown(*, open_it: bool, as_json: bool) -> Iterator[Tell]:
    """Within it an address is printed, and shown in a browser where there is one."""
    import click

    with browser() as show:

        def ready(url: str) -> None:
            click.echo(json.dumps({"url": url}) if as_json else f"{url}\nCtrl-C ends it.")
            if open_it and has_browser():
                show(url)

        yield ready
