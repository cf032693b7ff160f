"""How endpoints hold back the requests to them, to be shown."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from toolablate.agents.pacing.endpoint import Line

LATELY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Pressure:
    """What the refusals of one model of an endpoint have come to so far.

    `name` is the model's and the address; `refused` counts refusals by code; `rested` is for how many seconds the model
    was left alone in all and `rests` for how many more it will be, because the endpoint `asked` for so many (None: it
    named no wait). `places` is how many requests may be in flight now; `lately` tells that it refused one within the
    last minute.
    """

    name: str
    refused: Mapping[str, int]
    rested: float
    rests: float
    asked: float | None
    places: int
    lately: bool


def pressures(lines: Iterable[Line]) -> tuple[Pressure, ...]:
    """Of the models that were refused a request, each once. Inside the event loop of the lines."""
    now = asyncio.get_running_loop().time()
    return tuple(_pressure(line, now) for line in dict.fromkeys(lines) if line.refusals)


def _pressure(line: Line, now: float) -> Pressure:
    rests = max(line.rests_until - now, 0.0)
    return Pressure(
        name=line.name,
        refused=dict(line.refusals),
        rested=line.rested - rests,
        rests=rests,
        asked=line.asked,
        places=line.window.places,
        lately=now - line.refused_at <= LATELY_SECONDS,
    )
