"""Figures as a table shows them; what is unknown is a dash."""

UNKNOWN = "-"
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


def interval(bounds: tuple[float, float] | None) -> str:
    return UNKNOWN if bounds is None else f"{signed(bounds[0])} .. {signed(bounds[1])}"


def p_value(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return "<.0001" if value < 0.0001 else f"{value:.4f}"[1:] if value < 1 else "1.0"


def tokens(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{value / 1000:.1f}k" if value >= 10_000 else f"{value:.0f}"


def dollars(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return "$0" if value == 0 else f"${value:.2g}" if value < 0.01 else f"${value:.3f}"


def seconds(value: float) -> str:
    return f"{value:.1f} s" if value < 120 else f"{value / 60:.1f} min"
