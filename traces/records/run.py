from datetime import datetime
from typing import Literal

from toolablate.traces.records._base import TaggedRecord


class Run(TaggedRecord):
    """One start of `toolablate run`: the plan's text as it was, and the trials it calls for, by their ids."""

    version: Literal[1] = 1
    id: str
    started_at: datetime
    plan: str
    toolablate: str
    simulated: bool = False
