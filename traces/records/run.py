from datetime import datetime
from typing import Literal

from pydantic import Field

from toolablate.traces.records._base import TaggedRecord


class Run(TaggedRecord):
    """One start of a plan: its text as it was, the names of its baseline and its scorers, and its trials' world.

    `world` names what the tools stood on: `search` (a provider, with the digest of its corpus) and `sandbox`.
    """

    version: Literal[1] = 1
    id: str
    started_at: datetime
    plan: str
    toolablate: str
    baseline: str = ""
    scorers: tuple[str, ...] = ()
    world: dict[str, str] = Field(default_factory=dict)
