"""Names and figures as text in a picture."""

import textwrap
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Collection
from itertools import accumulate

MINUS = "\u2212"
MOST_CHARS = 200
SIMULATED, SIMULATED_SHORT = " (simulated: no measurement)", " (simulated)"
NARROW, BROAD = frozenset(" !'()*,-./:;I[]`fijlrt|"), frozenset("%&+<=>@MWmw~\u2026\ufffd")


def plain(text: str, most: int) -> str:
    """On one line, of at most so many characters, cut in its middle; what cannot be printed becomes U+FFFD, which is
    also what keeps an SVG well-formed."""
    line = "".join(char if char.isprintable() else "\ufffd" for char in " ".join(text.split()))
    return line if len(line) <= most else f"{line[: most * 2 // 3]}…{line[len(line) - (most - most * 2 // 3 - 1) :]}"


def fitted(text: str, inches: float, points: float) -> str:
    """The same, cut to so much room at a size of letters, whose widths are guessed: those of a page's font are known to
    its reader alone."""
    line = plain(text, MOST_CHARS)
    most = 72 * inches / points
    ahead = list(accumulate(map(_width, line), initial=0.0))
    if ahead[-1] <= most:
        return line
    front = bisect_right(ahead, 2 / 3 * (most - 1)) - 1
    back = bisect_left(ahead, ahead[-1] - (most - 1 - ahead[front]))
    return f"{line[:front]}…{line[back:]}"


def inches(text: str, points: float) -> float:
    """About how much room it takes at a size of letters."""
    return sum(map(_width, text)) * points / 72


def _width(char: str) -> float:
    """In heights of letters, as fonts without serifs have it."""
    if unicodedata.combining(char):
        return 0.0
    if unicodedata.east_asian_width(char) in ("W", "F"):
        return 1.15  # one em, and more in a font that stands in for one that is not there
    return 0.38 if char in NARROW else 0.98 if char in BROAD else 0.74 if char.isupper() else 0.64


def wrapped(text: str, width: int) -> str:
    """On as many lines of about so many characters as it takes."""
    return "\n".join(textwrap.wrap(text, width)) or text


def signed(points: float | None) -> str:
    """With one digit and its sign; a dash where it is unknown."""
    if points is None:
        return "-"
    figure = f"{abs(points):.1f}"
    return figure if float(figure) == 0 else f"{'+' if points > 0 else MINUS}{figure}"


def with_interval(points: float | None, ci95: tuple[float, float] | None) -> str:
    return signed(points) if ci95 is None else f"{signed(points)} ({signed(ci95[0])} .. {signed(ci95[1])})"


def titled(model: str, simulated: Collection[str], *, under: str = "", short: bool = False) -> str:
    """A model's name, with what it ran `under`, as a heading, which says where it is no measurement."""
    named = f"{model} · {under}" if under else model
    return f"{named}{SIMULATED_SHORT if short else SIMULATED}" if model in simulated else named


def fitted_title(title: str, room: float, points: float) -> str:
    """The same as `fitted`, of a heading: of a long name all is cut but that it is no measurement."""
    mark = next((each for each in (SIMULATED, SIMULATED_SHORT) if title.endswith(each)), "")
    return fitted(title.removesuffix(mark), room - inches(mark, points), points) + mark


def between(ci95: tuple[float, float] | None, *, sign: bool = False) -> str:
    """An interval in brackets; nothing where there is none."""
    if ci95 is None:
        return ""
    low, high = (signed(end) if sign else f"{end:.1f}" for end in ci95)
    return f" ({low} to {high})"


def probability(p: float | None) -> str:
    """With three digits, and no nought before the point; a dash where it is unknown."""
    if p is None:
        return "-"
    return "< .001" if p < 0.001 else "1" if p >= 0.9995 else f"{p:.3f}".removeprefix("0")
