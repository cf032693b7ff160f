"""Keeps what replays really cost within what is allowed: an estimate goes by what was recorded, and may be wrong."""

from collections.abc import Callable
from dataclasses import dataclass, field

from toolablate.agents import AgentResult
from toolablate.experiments.running.execution import Executor, TrialTask
from toolablate.experiments.running.runner import StopSwitch
from toolablate.experiments.running.watcher import Watcher
from toolablate.traces.records import Environment, Event


@dataclass(slots=True)
class Cap:
    """Asks for a stop once trials have cost more than `max_cost`, in US dollars; those in flight end in their own time.
    What is of unknown cost is not counted."""

    max_cost: float | None
    watcher: Watcher
    stop: StopSwitch = field(default_factory=StopSwitch)
    spent: float = 0.0

    def note(self, cost: float | None) -> None:
        self.spent += cost or 0.0
        if self.max_cost is None or self.spent <= self.max_cost or self.stop.stopped:
            return
        self.stop.stop()
        self.watcher.warn(
            f"--max-cost: ${self.spent:.4g} are spent, more than was thought, and ${self.max_cost:.4g} are allowed: no"
            " more trials are begun"
        )


@dataclass(frozen=True, slots=True)
class CappedExecutor:
    """An `Executor` whose trials are paid from what is allowed."""

    inner: Executor
    cap: Cap

    @property
    def environment(self) -> Environment:
        return self.inner.environment

    async def run(self, task: TrialTask, record: Callable[[Event], None]) -> AgentResult:
        result = await self.inner.run(task, record)
        self.cap.note(result.cost_usd)
        return result
