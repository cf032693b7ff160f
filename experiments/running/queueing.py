"""What each model is still to do, and when that is given up."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from toolablate.agents.session import CUT_OFF
from toolablate.experiments.plans.trials import PlannedTrial
from toolablate.traces.records import Failure, ModelCall, OpenAIModel, Trace

# With so many trials failing one after the other, the endpoint is down, and waiting for each of the rest is in vain.
TRIALS_IN_A_ROW = 10

# An endpoint that says this to one request will say it to all the others.
_FINAL_CODES = frozenset({"unauthorized", "unknown_model", "insufficient_quota", "endpoint_busy"})

# The same of an endpoint that has replied to nothing so far. One that has may be back in a moment: behind a proxy's
# page, or after a restart.
_FINAL_UNHEARD_CODES = frozenset({"unreachable", "not_found", "redirected"})

# An endpoint that fails so is down or overrun; other failures (a filter, a context too long) are of one question.
_DOWN_CODES = _FINAL_UNHEARD_CODES | {
    *("disconnected", "timeout", "server_error", "rate_limited", "overloaded", "bad_reply", CUT_OFF)
}

# What is refused of one question, or of all where nothing was ever replied to.
_REFUSED_CODES = frozenset({"bad_request", "forbidden", "request_too_large"})


@dataclass(slots=True)
class Standing:
    """What a model's endpoint has made of the requests to it so far; `in_vain` are further codes of failures that count
    where they come one after the other."""

    in_vain: frozenset[str] = frozenset()
    has_replied: bool = False
    failed_in_a_row: int = 0

    def replied(self) -> None:
        self.has_replied = True

    def succeeded(self) -> None:
        self.has_replied, self.failed_in_a_row = True, 0

    def failed(self, code: str, said: str) -> str:
        """Takes note of what failed for good; returns why no more is to be asked, or ""."""
        counted = _DOWN_CODES | self.in_vain | (frozenset() if self.has_replied else _REFUSED_CODES)
        self.failed_in_a_row = self.failed_in_a_row + 1 if code in counted else 0
        if code in _FINAL_CODES or (code in _FINAL_UNHEARD_CODES and not self.has_replied):
            return said if code == "unreachable" else f"it would refuse them all: {said}"
        if self.failed_in_a_row >= TRIALS_IN_A_ROW:
            return f"{self.failed_in_a_row} failed in a row, the last with: {said}"
        return ""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """`count` trials, or gradings, that were left undone beside those in flight."""

    count: int
    reason: str


@dataclass(slots=True)
class ModelQueue:
    """What one model is still to do, and how its endpoint, and the sandbox, have done so far. `coding` holds the ids of
    the conditions whose trials may start a kernel."""

    coding: frozenset[str]
    trials: deque[PlannedTrial] = field(default_factory=deque)
    endpoint: Standing = field(default_factory=Standing)
    kernels_failed_in_a_row: int = 0
    given_up: bool = False

    def runs_code(self, planned: PlannedTrial) -> bool:
        return planned.trial.condition in self.coding

    def note(self, planned: PlannedTrial, trace: Trace) -> tuple[GivenUp | None, Sequence[PlannedTrial]]:
        """Takes note of a trial that has ended, and gives up those that would only fail like it; returns these."""
        failure = _spoiler(trace) if trace.outcome == "failed" else None
        boundary = failure.boundary if failure else ""
        if self.runs_code(planned):
            self.kernels_failed_in_a_row = self.kernels_failed_in_a_row + 1 if boundary == "sandbox" else 0
        reason = ""
        if isinstance(planned.model, OpenAIModel):
            if failure is not None and boundary == "model":
                reason = self.endpoint.failed(failure.code, failure.message)
            elif failure is None:
                self.endpoint.succeeded()
            else:
                self.endpoint.failed_in_a_row = 0
        if reason:
            return self._give_up(lambda _: True, reason)
        if failure is not None and self.kernels_failed_in_a_row >= TRIALS_IN_A_ROW:
            reason = f"{self.kernels_failed_in_a_row} failed in a row, the last with: {failure.message}"
            return self._give_up(self.runs_code, reason)
        return None, ()

    def _give_up(
        self, alike: Callable[[PlannedTrial], bool], reason: str
    ) -> tuple[GivenUp | None, Sequence[PlannedTrial]]:
        """Told once, also where all that is left is in flight."""
        given_up = [trial for trial in self.trials if alike(trial)]
        self.trials = deque(trial for trial in self.trials if not alike(trial))
        if self.given_up and not given_up:
            return None, ()
        self.given_up = True
        return GivenUp(len(given_up), reason), given_up


def _spoiler(trace: Trace) -> Failure | None:
    """The last failure; where the trial ran out of time and its endpoint had not replied at all, the request that was
    out, so that an endpoint that hangs is given up though each trial has its deadline."""
    failures = [event for event in trace.events if isinstance(event, Failure)]
    if len(failures) > 1 and failures[-2].code == CUT_OFF and not any(isinstance(e, ModelCall) for e in trace.events):
        return failures[-2]
    return failures[-1] if failures else None
