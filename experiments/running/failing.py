"""Why trials of this run failed."""

from dataclasses import dataclass, field, replace

from toolablate.experiments.plans.trials import PlannedTrial
from toolablate.experiments.running.queueing import GivenUp
from toolablate.traces.records import Failure, Trace
from toolablate.traces.store import FailureCount


@dataclass(slots=True)
class Failures:
    """Counts failed trials by model and by the last thing that went wrong, in the order in which reasons turned up.
    `given_up` holds the models of which no more was asked."""

    given_up: dict[str, GivenUp] = field(default_factory=dict)
    _counts: dict[tuple[str, str, str], FailureCount] = field(default_factory=dict)

    def note(self, planned: PlannedTrial, trace: Trace) -> None:
        if trace.outcome != "failed":
            return
        last = last_failure(trace)
        boundary, code, message = (last.boundary, last.code, last.message) if last else (None, "", "")
        key = planned.model.name, boundary or "", code
        first = FailureCount(planned.model.name, boundary, code, message, 0, trace.trial.id)
        counted = self._counts.get(key, first)
        self._counts[key] = replace(counted, count=counted.count + 1)

    def give_up(self, model: str, given_up: GivenUp) -> None:
        before = self.given_up.get(model)
        self.given_up[model] = replace(before, count=before.count + given_up.count) if before else given_up

    def counts(self) -> tuple[FailureCount, ...]:
        """The most frequent first."""
        return tuple(sorted(self._counts.values(), key=lambda counted: -counted.count))


def last_failure(trace: Trace) -> Failure | None:
    return next((event for event in reversed(trace.events) if isinstance(event, Failure)), None)
