"""Names and figures as text in a picture."""

import textwrap
from collections.abc import Collection

MINUS = "\u2212"


def plain(text: str, most: int) -> str:
    """On one line, of at most so many characters, cut in its middle; what cannot be printed becomes U+FFFD, which is
    also what keeps an SVG well-formed."""
    line = "".join(char if char.isprintable() else "\ufffd" for char in " ".join(text.split()))
    return line if len(line) <= most else f"{line[: most * 2 // 3]}…{line[len(line) - (most - most * 2 // 3 - 1) :]}"


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


def titled(model: str, simulated: Collection[str]) -> str:
    """A model's name as a heading, which says where it is no measurement."""
    return f"{model} (simulated: no measurement)" if model in simulated else model


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
