"""Numbers as tables and sentences show them; what is unknown is a dash."""

import math

UNKNOWN = "-"
SMALL = "*"
"""Marks intervals that rest on too few questions."""
OF_PROVIDER = "the provider's, within the next reply"
"""Said of a call that the provider made by itself."""

LEAST_DOLLARS = 0.000001
# A hyphen is easily overlooked before a figure, and lines up badly with a plus.
MINUS = "\u2212"


def percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.1f}"


def signed(value: float | None, unit: str = "") -> str:
    if value is None:
        return UNKNOWN
    text = f"{abs(value):.1f}{unit}"
    if float(f"{value:.1f}") == 0:
        return text
    return f"{'+' if value > 0 else MINUS}{text}"


def interval(bounds: tuple[float, float] | None, unit: str = "", *, small: bool = False) -> str:
    return UNKNOWN if bounds is None else f"{SMALL if small else ''}{signed(bounds[0])} .. {signed(bounds[1])}{unit}"


def small_note(differing: str = "that differ") -> str:
    """What SMALL means."""
    # `status` shows numbers, and does not wait for what computes effects.
    from toolablate.analysis.effect import FEW_CLUSTERS, FEW_DIFFERING

    few = f"fewer than {FEW_CLUSTERS} independent questions, or {FEW_DIFFERING} {differing}"
    return f"{SMALL}: {few}; do not rely on their intervals."


def flips(count: float, repeats: int) -> str:
    """Of one run a count; of several, what is to be expected of one."""
    return f"{count:.0f}" if repeats <= 1 else f"{count:.1f}"


def p_value(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    if value < 0.0001:
        return "<.0001"
    text = f"{value:.4f}"
    return text[1:] if text.startswith("0") else "1.0"


def tokens(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{value / 1000:.1f}k" if value >= 10_000 else f"{value:.0f}"


def dollars(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    if value == 0:
        return "$0"
    if value < LEAST_DOLLARS:
        return f"<${LEAST_DOLLARS:f}"
    if value >= 0.01:
        return f"${value:.3f}"
    # Two significant digits, without an exponent.
    return f"${value:.{1 - math.floor(math.log10(value))}f}".rstrip("0")


def counted(number: int, thing: str) -> str:
    """`1 trial`, `1,054 trials`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `3rd`, `11th`."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def seconds(value: float) -> str:
    return f"{value:.1f} s" if value < 120 else f"{value / 60:.1f} min"


LEAST_SECONDS = 0.1


def duration(value: float) -> str:
    """`0 s`, `8 ms`, `12.5 s`, `3.0 min`."""
    if 0 < value < LEAST_SECONDS:
        return "<1 ms" if value < 0.001 else f"{1000 * value:.0f} ms"
    return seconds(value) if value else "0 s"
