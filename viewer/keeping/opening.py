"""Shows an address in the user's browser."""

import html
import os
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path


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
