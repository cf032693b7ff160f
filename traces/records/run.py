from datetime import datetime
from typing import Literal

from pydantic import Field

from toolablate.traces.records._base import TaggedRecord


class Run(TaggedRecord):
    """One start of a plan: its text as it was, the name of its baseline, and the world in which its trials ran.

    `world` names what the tools stood on: `search` (a provider, with the digest of its corpus) and `sandbox` (a backend).
    """

    version: Literal[1] = 1
    id: str
    started_at: datetime
    plan: str
    toolablate: str
    baseline: str = ""
    world: dict[str, str] = Field(default_factory=dict)
