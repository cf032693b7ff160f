"""How long it takes in a browser until the first rows of a table are there: ours, and Inspect View's."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.viewer.figure import Figure, Took, figure
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = shutil.which("chromium") or ""
TIMES = 5
_WAIT_MS = 180_000.0


@contextmanager
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM or None, args=["--no-sandbox"])
        try:
            yield opened
        finally:
            opened.close()


def first_rows(opened: Browser, what: str, url: str, row: str, *, letting_in: str | None = None) -> Figure:
    """From asking for the page until a text of its first row can be seen; each time in a profile of its own."""
    took = []
    for _ in range(TIMES):
        with opened.new_context(viewport={"width": 1280, "height": 900}) as context:
            page = context.new_page()
            if letting_in is not None:
                page.goto(letting_in)
            began = time.perf_counter()
            page.goto(url, wait_until="commit")
            page.get_by_text(row).first.wait_for(timeout=_WAIT_MS)
            took.append(Took(time.perf_counter() - began))
    return figure(what, took)


def inspect_rows(opened: Browser, python: Path, samples: int, folder: Path) -> Figure:
    """Of the log in `folder`, which is made where it is not there yet. Raises CalledProcessError where that Python has
    no inspect_ai that can do it."""
    if not folder.exists():
        folder.mkdir()
        program = Path(__file__).with_name("inspect_log.py")
        subprocess.run([python, program, str(samples), folder], check=True, stdout=subprocess.DEVNULL)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [python, "-m", "inspect_ai", "view", "start", "--log-dir", folder, "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait(port)
            url = f"http://127.0.0.1:{port}/#/logs/bench.eval/samples/"
            return first_rows(opened, f"Inspect View, {samples:,} samples", url, "Question 0:")
        finally:
            process.terminate()


def _wait(port: int) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return
