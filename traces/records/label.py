from datetime import datetime
from typing import Literal

from pydantic import Field

from toolablate.traces.records._base import TaggedRecord
from toolablate.traces.records.attribution import Distraction, Mechanism, Method


class Label(TaggedRecord):
    """What a person who read a trial holds for the mechanism that made it wrong.

    `person` is the name that they go by, `at` when they said so. `mechanism` is None where they withdraw what they had
    said before. `turned_at` is the event at which it went wrong, where they say so. `attributed` and `method` are what
    the attribution said of the trial when they read it, None where it said nothing; `blind` tells that it was hidden
    from them.
    """

    version: Literal[1] = 1
    trial: str
    person: str = Field(min_length=1, max_length=200)
    at: datetime
    mechanism: Mechanism | None
    distraction: Distraction | None = None
    turned_at: int | None = Field(default=None, ge=0)
    note: str = Field(default="", max_length=20_000)
    attributed: Mechanism | None = None
    method: Method | None = None
    blind: bool = False
