"""A process beside the viewer's server that keeps its index up to date, so that pages never wait for a bootstrap.

It is told on its standard input, in a line of JSON, and ends when that ends: with its parent, however that ends. Its
standard output is what it cannot go on after: the index may be what cannot be written."""

import fcntl
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toolablate.viewer.index import Index
from toolablate.viewer.keeping.rounds import Rounds
from toolablate.viewer.keeping.scope import Scope

_LOOK_SECONDS = 0.5


def main() -> None:
    # The parent says when to end; a Ctrl-C in its terminal is not for this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.umask(0o077)
    told = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        index = Index.open(Path(told["index"]))
        with _alone(index.path):
            _keep(Scope.from_json(told["scope"]), index)
    except Exception as error:
        sys.stdout.buffer.write(f"{type(error).__name__}: {error}".encode(errors="replace"))
        raise


def _keep(scope: Scope, index: Index) -> None:
    rounds = Rounds(scope, index)
    while True:
        if not rounds.round():
            time.sleep(_LOOK_SECONDS)


def _end_with_parent() -> None:
    sys.stdin.read()
    # Whatever is being computed: it can be made again.
    os._exit(0)


@contextmanager
def _alone(index: Path) -> Iterator[None]:
    """Of several viewers of one store one keeps their index; when that ends, the next does."""
    file = os.open(index.with_name(index.name + "-keeper"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


if __name__ == "__main__":
    main()
