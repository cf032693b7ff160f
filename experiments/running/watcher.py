from collections.abc import Sequence
from typing import Literal, Protocol

from toolablate.experiments.plans.trials import PlannedTrial
from toolablate.experiments.running.queueing import GivenUp
from toolablate.traces.records import Score, Trace

JudgeTask = Literal["grade", "read"]
"""What judges do: grade answers, or read failures."""


class Watcher(Protocol):
    """Is told what happens, to show it."""

    def begin(self, planned: int, missing: Sequence[PlannedTrial]) -> None: ...

    def started(self, planned: PlannedTrial) -> None: ...

    def finished(self, planned: PlannedTrial, trace: Trace, score: Score | None) -> None: ...

    def skipped(self, planned: PlannedTrial) -> None:
        """Another run has it, or has done it."""
        ...

    def let_go(self, planned: PlannedTrial) -> None:
        """It had begun, and is left to the next run."""
        ...

    def slowed(self, waits: Sequence[str]) -> None:
        """What is waited for now; is called every second."""
        ...

    def beat(self) -> None:
        """Is called every second."""
        ...

    def given_up(self, model: str, given_up: GivenUp) -> None:
        """No more is asked of a model; of its trials so many are left undone beside those in flight."""
        ...

    def grading(self, total: int, task: JudgeTask = "grade") -> None:
        """The trials have ended, and judges begin to grade, or to read: so many answers by all of them. It may come
        again, for answers that another process has ended meanwhile."""
        ...

    def graded(self, *, made: bool) -> None:
        """One of these has ended; `made` is False where no grade came of it."""
        ...

    def judge_given_up(self, judge: str, given_up: GivenUp) -> None: ...

    def tell(self, text: str) -> None: ...

    def warn(self, text: str) -> None: ...

    def stopping(self) -> None: ...
