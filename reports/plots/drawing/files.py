"""Where a figure goes."""

import re
import threading
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png", ".pdf")
DOTS_PER_INCH = 150
MOST_SHOWN = 12
BEYOND_LATIN = (
    *("Noto Sans CJK SC", "Noto Sans CJK TC", "Noto Sans CJK JP", "Noto Sans CJK KR", "Noto Sans SC", "Noto Sans JP"),
    *("Source Han Sans SC", "Source Han Sans CN", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Droid Sans Fallback"),
    *("PingFang SC", "Hiragino Sans GB", "Heiti SC", "Heiti TC", "STHeiti", "Apple SD Gothic Neo", "Arial Unicode MS"),
    *(
        "Microsoft YaHei",
        "Microsoft JhengHei",
        "SimHei",
        "DengXian",
        "SimSun",
        "Yu Gothic",
        "MS Gothic",
        "Malgun Gothic",
    ),
    *("Noto Serif CJK SC", "Noto Serif CJK JP", "AR PL UMing CN", "AR PL UKai CN", "Malgun Gothic", "Unifont"),
)
"""Fonts with Chinese, Japanese and Korean letters, of Linux, macOS and Windows."""
FILES = ("cjk", "sourcehan", "wqy", "fallback", "uming", "ukai", "unifont", "notosanssc", "notosansjp")
"""What the names of files of such fonts hold that people install later."""
_MISSING = re.compile(r"Glyph (\d+) .*missing from")

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
            f"{what}: matplotlib is not installed", hint=to_install("plots"), code="no_matplotlib"
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
    return ["DejaVu Sans", *(_known() or _installed_since())]


def _known() -> list[str]:
    from matplotlib.font_manager import fontManager

    known = {font.name for font in fontManager.ttflist}
    return [name for name in BEYOND_LATIN if name in known]


def _installed_since() -> list[str]:
    """matplotlib lists the fonts of a machine once, and keeps the list: what was installed later it does not know."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    for path in sorted(findSystemFonts()):
        if any(part in Path(path).name.lower() for part in FILES):
            with suppress(OSError, RuntimeError):  # no font, or a broken one
                fontManager.addfont(path)
    return _known()


def write_figure(figure: "Figure", path: Path, *, option: str = "--plot") -> frozenset[str]:
    """The same figure gives the same bytes. Returns the letters that no font of this machine has, which are boxes then;
    an SVG has none, since its letters are those of who reads it. Raises InputError where the file cannot be written;
    `option` asked for it."""
    # A file that says when it was made would differ each time.
    dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower(), {})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            figure.savefig(path, dpi=DOTS_PER_INCH, metadata=dated)
        except OSError as error:
            raise InputError(f"{option}: cannot write {path}: {error.strerror}", code="unwritable") from None
    if path.suffix.lower() == ".svg":
        return frozenset()
    return frozenset(chr(int(found[1])) for each in told if (found := _MISSING.match(str(each.message))))


def boxes_note(missing: Collection[str]) -> str:
    """What to say of letters that no font has; nothing where all are there."""
    if not missing:
        return ""
    shown = "".join(char for char in sorted(missing)[:MOST_SHOWN] if char.isprintable())
    letters = "1 letter" if len(missing) == 1 else f"{len(missing):,} letters"
    return (
        f"no font of this machine has {letters} of the names ({shown}): they are boxes in the pictures. The SVG files"
        " have them; or install a font such as Noto Sans CJK (Debian: fonts-noto-cjk) and run the same command again."
    )
