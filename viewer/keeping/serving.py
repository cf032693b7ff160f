"""Serves one store to a browser on this machine."""

import getpass
import logging
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install
from toolablate.viewer.keeping.scope import Scope

if TYPE_CHECKING:
    from starlette.types import ASGIApp
    from uvicorn import Server

HOST = "127.0.0.1"
_END_SECONDS = 0
_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads: the name under which labels are kept, and whether attributions are hidden until they have said what
    they think. Raises InputError for a name that no label could have."""

    person: str
    blind: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.person.strip()) <= _NAME_CHARS:
            raise InputError(
                f"--person: a name of {len(self.person.strip())} characters",
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
                f"--port: {port} cannot be had: {error.strerror}",
                hint="Name another port, or none: a free one is taken then.",
                code="port",
            ) from None
        yield listener


Tell = Callable[[str], None]


def serve(scope: Scope, listener: socket.socket, reader: Reader, ready: Tell, tell: Tell) -> None:
    """Serves until Ctrl-C or a SIGTERM. `ready` is told the address, with a token that lets its browser in, once there
    are tables to show; `tell` what is waited for before. Raises InputError and StoreError where the store cannot be
    viewed."""
    from toolablate.viewer.index import Index
    from toolablate.viewer.keeping.keeper import Keeper
    from toolablate.viewer.keeping.place import index_place
    from toolablate.viewer.keeping.trials import require_scope

    require_scope(scope)
    token, port = secrets.token_urlsafe(32), listener.getsockname()[1]
    with _until_stopped(), index_place(scope) as place:
        index = Index.open(place)
        with Keeper(scope, index) as keeper:
            # Takes as long as the first tables, which are made meanwhile.
            from toolablate.viewer.application import application
            from toolablate.viewer.keeping.explanations import Explanations
            from toolablate.viewer.view import View

            keeper.wait_for_tables(tell)
            view = View(scope.store, index, token, Explanations(scope), reader.person, reader.blind)
            server = _server(application(view))
            with _ended_by_signals(server):
                ready(f"http://{HOST}:{port}/?token={token}")
                server.run(sockets=[listener])


@contextmanager
def _until_stopped() -> Iterator[None]:
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
