"""A review that is started again is served where pages that are open in browsers send to."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.experiments.construction.writing import PAIRS, Writer, pipeline_of, run
from tests.servers.chat_server import ChatServer


@contextlib.contextmanager
def served(path: Path, told: list[str]) -> Iterator[int]:
    """By the command; the port. What it says beside the address is `told`."""
    command = [sys.executable, "-m", "toolablate", "build", "review", str(path), "--no-open", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            line = process.stdout.readline()
            yield int(json.loads(line)["url"].partition("127.0.0.1:")[2].partition("/")[0])
        finally:
            os.kill(process.pid, signal.SIGTERM)
        told += process.stderr.read().splitlines()


@pytest.mark.deep
def test_the_port_of_a_workbench_is_taken_again_where_it_is_free(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    path = pipeline_of(tmp_path, chat_server, PAIRS[:1])
    run(path)
    told: list[str] = []
    with served(path, told) as first:
        pass
    assert told == []
    with served(path, told) as again:
        pass
    assert again == first
    assert told == [f"Port {first} again: pages that are still open can send once the new address was opened."]
    told.clear()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", first))
        other.listen()
        with served(path, told) as elsewhere:
            pass
    assert elsewhere != first
    assert told == [
        f"Port {first}, where this was last reviewed, is taken: pages that are still open there cannot send."
    ]
