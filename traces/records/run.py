from datetime import datetime
from typing import Literal

from pydantic import Field

from toolablate.traces.records._base import Record, TaggedRecord

REPLIES = "replies"
"""The key of a run's world that says whether models' replies are live, recorded or replayed."""


class ImportedLog(Record):
    """A log of another harness whose trials a store holds.

    `harness` is `inspect` or `lm-eval`, `log` what tells the log from others of that harness, `file` its name. `model`
    and `condition` are ids; of each of the log's `samples` the trial's repeat counts from `first_repeat`, which is
    above 0 where an earlier log has the same model and condition. `repeats` is how many it has of a question at most.
    """

    harness: str
    log: str
    file: str = ""
    model: str
    condition: str
    samples: int = Field(ge=0)
    first_repeat: int = Field(default=0, ge=0)
    repeats: int = Field(default=1, ge=1)


class Run(TaggedRecord):
    """One start of a plan: its text as it was, the names of its baseline and its scorers, and its trials' world.

    `world` names what the tools stood on: `search` (a provider, with the digest of its corpus) and `sandbox`.
    `imported` are the logs that its trials come from, where no plan called for them; its plan is "" then.
    """

    version: Literal[1] = 1
    id: str
    started_at: datetime
    plan: str
    toolablate: str
    baseline: str = ""
    scorers: tuple[str, ...] = ()
    world: dict[str, str] = Field(default_factory=dict)
    imported: tuple[ImportedLog, ...] = ()
