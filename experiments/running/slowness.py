"""Why a run is slow: what refusals make it wait for, in words."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from toolablate.agents.pacing import Pressure
from toolablate.reports.numbers import counted

# As an endpoint says them; a body of status 200 that says the same counts as well.
_STATUS = {"rate_limited": "429", "overloaded": "503"}


def waits(pressures: Iterable[Pressure], now: datetime) -> tuple[str, ...]:
    """What is waited for at this moment; `now` is local time."""
    return tuple(_wait(each, now) for each in pressures if each.rests > 0 or each.lately)


def _wait(pressure: Pressure, now: datetime) -> str:
    if pressure.rests > 0:
        until = (now + timedelta(seconds=pressure.rests)).strftime("%H:%M:%S")
        asked = pressure.asked
        why = f"it refuses: {_codes(pressure.refused)}" if asked is None else f"it asked for {asked:.3g} s"
        return f"waiting for {pressure.name} until {until} ({why})"
    places = counted(pressure.places, "request")
    return f"slowed down by {pressure.name} ({_codes(pressure.refused)}): {places} in flight allowed"


def told_at_the_end(pressures: Iterable[Pressure]) -> tuple[str, ...]:
    """What the refusals of the whole run came to."""
    return tuple(
        f"{each.name} refused {counted(sum(each.refused.values()), 'request')} ({_codes(each.refused)});"
        f" it was left alone for {each.rested:.3g} s in all"
        for each in pressures
    )


def _codes(refused: Mapping[str, int]) -> str:
    return ", ".join(_STATUS.get(code, code) for code in refused)
