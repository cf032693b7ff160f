"""What was found out, each with its evidence."""

from dataclasses import dataclass
from typing import Literal

from toolablate.traces.records import Capabilities, Usage

State = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Observation:
    """`unknown` is what the replies did not show, or what a rate limit or an outage kept from being found out."""

    subject: str
    state: State
    evidence: str


@dataclass(frozen=True, slots=True)
class Probed:
    """A model's endpoint after it was asked. `requests` counts those that were sent, `usage` adds up their tokens.

    `capabilities` holds what was found out and is None elsewhere. `stopped` says that not all was asked.
    """

    model: str
    endpoint: str
    api: str
    requests: int
    usage: Usage
    observations: tuple[Observation, ...]
    capabilities: Capabilities
    stopped: bool = False

    def state(self, subject: str) -> State:
        return next((seen.state for seen in self.observations if seen.subject == subject), "unknown")

    def evidence(self, subject: str) -> str:
        return next((seen.evidence for seen in self.observations if seen.subject == subject), "")
