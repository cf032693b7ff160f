from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from toolablate.agents import AgentResult
from toolablate.traces.records import Environment, Event, Question, Trial


@dataclass(frozen=True, slots=True)
class TrialTask:
    """One trial, described for whoever runs it in the world of a plan: small, and can be pickled.

    `model` and `condition` are the names that the plan has for them.
    """

    trial: Trial
    question: Question
    model: str
    condition: str


class Executor(Protocol):
    """Runs trials somewhere. It has opened the world of a plan (models, tools, sandbox, web) for all of them."""

    @property
    def environment(self) -> Environment:
        """What trials run on here."""
        ...

    async def run(self, task: TrialTask, record: Callable[[Event], None]) -> AgentResult:
        """Runs a trial; its events go to `record` in order, as they happen. Ends soon where it is cancelled.

        Raises ToolablateError where the trial could not be run.
        """
        ...
