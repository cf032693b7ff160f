import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def uptime() -> float:
    """Seconds since the machine started: the same for all its processes, and nobody sets it back."""
    return time.clock_gettime(_CLOCK)
