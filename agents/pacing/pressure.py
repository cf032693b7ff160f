"""How endpoints hold back the requests to them, to be shown."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from toolablate.agents.pacing.endpoint import EndpointPace, Line

LATELY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Pressure:
    """What the refusals of one endpoint have come to so far.

    `refused` counts them by code; `rested` is for how many seconds it was left alone in all and `rests` for how many
    more it will be, because it `asked` for so many (None: it named no wait). `places` is how many requests may be in
    flight now; `lately` tells that it refused one within the last minute.
    """

    address: str
    refused: Mapping[str, int]
    rested: float
    rests: float
    asked: float | None
    places: int
    lately: bool


def pressures(lines: Iterable[Line]) -> tuple[Pressure, ...]:
    """Of the endpoints that have refused a request, each once. Inside the event loop of the lines."""
    paces = dict.fromkeys(line.pace for line in lines)
    now = asyncio.get_running_loop().time()
    return tuple(_pressure(pace, now) for pace in paces if any(line.refusals for line in pace.lines))


def _pressure(pace: EndpointPace, now: float) -> Pressure:
    last = max(pace.lines, key=lambda line: line.rests_until)
    rests = max(last.rests_until - now, 0.0)
    return Pressure(
        address=pace.address,
        refused=sum((line.refusals for line in pace.lines), Counter[str]()),
        rested=max(line.rested - max(line.rests_until - now, 0.0) for line in pace.lines),
        rests=rests,
        asked=last.asked,
        places=sum(line.window.places for line in pace.lines),
        lately=any(now - line.refused_at <= LATELY_SECONDS for line in pace.lines),
    )
