"""Where a figure goes."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.traces.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png", ".pdf")
DOTS_PER_INCH = 150
BEYOND_LATIN = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei"),
    *("PingFang SC", "Hiragino Sans GB", "Microsoft YaHei", "SimHei", "Arial Unicode MS"),
)
"""Fonts with Chinese, Japanese and Korean letters, of Linux, macOS and Windows."""

_ALONE = threading.RLock()
"""Settings and fonts of matplotlib belong to the process: threads that draw at once would mix them up."""


def require_plots(path: Path) -> None:
    """Raises InputError where no figure can be written to `path`: another kind of file, or no matplotlib."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"--plot: {path} ends in {path.suffix or 'no suffix'!r}",
            hint=f"Allowed: {', '.join(SUFFIXES)}.",
            code="plot",
        )
    require_matplotlib("--plot")


def require_matplotlib(what: str) -> None:
    """Raises InputError where it is not installed; `what` is what wants it."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise InputError(
            f"{what}: matplotlib is not installed", hint="pip install 'toolablate[plots]'", code="no_matplotlib"
        ) from None


@contextmanager
def as_text() -> Iterator[None]:
    """What is drawn within holds names as they are, whatever the user's settings: no formula, no TeX, no outlines.
    One thread draws at a time."""
    import matplotlib

    with (
        _ALONE,
        matplotlib.rc_context(
            {
                "text.parse_math": False,
                "text.usetex": False,
                "svg.fonttype": "none",
                "svg.hashsalt": "toolablate",
                "pdf.fonttype": 42,
                "font.family": _families(),
            }
        ),
    ):
        yield


@cache
def _families() -> list[str]:
    """The font that matplotlib brings, then those of the machine that have the letters which that one lacks."""
    from matplotlib.font_manager import fontManager

    known = {font.name for font in fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in BEYOND_LATIN if name in known)]


def write_figure(figure: "Figure", path: Path, *, option: str = "--plot") -> None:
    """The same figure gives the same bytes. Raises InputError where the file cannot be written; `option` asked for
    it."""
    # A file that says when it was made would differ each time.
    dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower(), {})
    with warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        try:
            figure.savefig(path, dpi=DOTS_PER_INCH, metadata=dated)
        except OSError as error:
            raise InputError(f"{option}: cannot write {path}: {error.strerror}", code="unwritable") from None
