"""What each model is still to do, and when that is given up."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from toolablate.agents.session import CUT_OFF
from toolablate.experiments.plans.trials import PlannedTrial
from toolablate.experiments.running.watcher import Watcher
from toolablate.traces.records import Failure, ModelCall, OpenAIModel, Trace

# With so many trials failing one after the other, the endpoint is down, and waiting for each of the rest is in vain.
TRIALS_IN_A_ROW = 10

# An endpoint that says this to one trial will say it to all the others.
FATAL_CODES = frozenset({"unauthorized", "not_found", "redirected", "insufficient_quota", "endpoint_busy"})

# An endpoint that fails so is down or overrun; other failures (a filter, a context too long) are of one question.
DOWN_CODES = frozenset({"unreachable", "timeout", "server_error", "rate_limited", "overloaded", "bad_reply", CUT_OFF})


@dataclass(slots=True)
class ModelQueue:
    """What one model is still to do, and how many trials in a row its endpoint, or the sandbox, has failed. `coding`
    holds the ids of the conditions whose trials may start a kernel."""

    coding: frozenset[str]
    trials: deque[PlannedTrial] = field(default_factory=deque)
    failed_in_a_row: Counter[str] = field(default_factory=Counter)

    def runs_code(self, planned: PlannedTrial) -> bool:
        return planned.trial.condition in self.coding

    def note(self, planned: PlannedTrial, trace: Trace, watcher: Watcher) -> Sequence[PlannedTrial]:
        """Takes note of a trial that has ended, and gives up those that would only fail like it; returns these."""
        failure = _spoiler(trace) if trace.outcome == "failed" else None
        boundary = failure.boundary if failure else ""
        watched = ["model"] if isinstance(planned.model, OpenAIModel) else []
        watched += ["sandbox"] if self.runs_code(planned) else []
        down = failure is not None and (boundary != "model" or failure.code in DOWN_CODES)
        for each in watched:
            self.failed_in_a_row[each] = self.failed_in_a_row[each] + 1 if down and boundary == each else 0
        if failure is None:
            return ()
        if boundary == "model" and failure.code in FATAL_CODES:
            return self._give_up(planned, lambda _: True, f"it would refuse them all: {failure.message}", watcher)
        if self.failed_in_a_row[boundary] >= TRIALS_IN_A_ROW:
            alike: Callable[[PlannedTrial], bool] = self.runs_code if boundary == "sandbox" else lambda _: True
            count = self.failed_in_a_row[boundary]
            return self._give_up(planned, alike, f"{count} failed in a row, the last with: {failure.message}", watcher)
        return ()

    def _give_up(
        self, planned: PlannedTrial, alike: Callable[[PlannedTrial], bool], reason: str, watcher: Watcher
    ) -> Sequence[PlannedTrial]:
        given_up = [trial for trial in self.trials if alike(trial)]
        self.trials = deque(trial for trial in self.trials if not alike(trial))
        if given_up:
            watcher.given_up(planned.model.name, len(given_up), reason)
        return given_up


def _spoiler(trace: Trace) -> Failure | None:
    """The last failure; where the trial ran out of time and its endpoint had not replied at all, the request that was
    out, so that an endpoint that hangs is given up though each trial has its deadline."""
    failures = [event for event in trace.events if isinstance(event, Failure)]
    if len(failures) > 1 and failures[-2].code == CUT_OFF and not any(isinstance(e, ModelCall) for e in trace.events):
        return failures[-2]
    return failures[-1] if failures else None
