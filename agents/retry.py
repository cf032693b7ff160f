"""When and after how long something that failed is tried again."""

import random
from dataclasses import dataclass

from toolablate.traces.errors import ToolablateError

# An endpoint that says so refuses for the number of requests, not for what is in them.
BUSY_CODES = frozenset({"rate_limited", "overloaded"})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a request is attempted, and the waits between the attempts, in seconds.

    `attempts` and `tool_attempts` count the first one. The wait doubles from `base_seconds` up to `cap_seconds`; where
    the other side named a wait it is honoured, up to `retry_after_cap_seconds`.

    Where the model is `paced`, an endpoint that is busy is waited for in its line: such a refusal is no attempt, and
    `refusals` of them end the call.
    """

    attempts: int = 4
    refusals: int = 16
    paced: bool = False
    tool_attempts: int = 3
    base_seconds: float = 1.0
    cap_seconds: float = 30.0
    retry_after_cap_seconds: float = 120.0

    def delay(self, attempt: int, error: ToolablateError, rng: random.Random) -> float:
        """Seconds to wait after attempt number `attempt` (from 1) failed with `error`.

        The jitter only ever adds to a wait that was asked for, so that trials which were refused together do not come
        back together.
        """
        # The exponent is bounded, since a float overflows at 2.0 ** 1024.
        backoff = min(self.cap_seconds, self.base_seconds * 2.0 ** min(attempt - 1, 30))
        if error.retry_after is None:
            return backoff * (0.5 + rng.random() / 2)
        return min(error.retry_after, self.retry_after_cap_seconds) + min(backoff, 1.0) * rng.random()


@dataclass(slots=True)
class Tries:
    """The tries of one call to a model that have failed."""

    policy: RetryPolicy
    failed: int = 0
    refused: int = 0

    @property
    def number(self) -> int:
        return self.failed + self.refused

    def again(self, error: ToolablateError) -> bool:
        """Takes note of a try that failed; whether there is to be another."""
        if self._is_refusal(error):
            self.refused += 1
        else:
            self.failed += 1
        return error.retryable and self.failed < self.policy.attempts and self.refused < self.policy.refusals

    def delay(self, error: ToolablateError, rng: random.Random) -> float:
        """Seconds to wait before the next; none where the model's line waits."""
        return 0.0 if self._is_refusal(error) else self.policy.delay(self.failed, error, rng)

    def _is_refusal(self, error: ToolablateError) -> bool:
        return self.policy.paced and error.code in BUSY_CODES
