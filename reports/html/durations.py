from toolablate.reports import numbers

LEAST_SECONDS = 0.1


def duration(seconds: float) -> str:
    """`0 s`, `8 ms`, `12.5 s`, `3.0 min`."""
    if 0 < seconds < LEAST_SECONDS:
        return "<1 ms" if seconds < 0.001 else f"{1000 * seconds:.0f} ms"
    return numbers.seconds(seconds) if seconds else "0 s"
