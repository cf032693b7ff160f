"""When and after how long something that failed is tried again."""

import random
from dataclasses import dataclass

from toolablate.traces.errors import ToolablateError

# An endpoint that says so refuses for the number of requests, not for what is in them.
BUSY_CODES = frozenset({"rate_limited", "overloaded"})

# What refuses everything for so long, or asks for a longer wait, is given up.
PATIENCE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a request is attempted, and the waits between the attempts, in seconds.

    `attempts` and `tool_attempts` count the first one. The wait doubles from `base_seconds` up to `cap_seconds`; where
    the other side named a wait it is honoured, up to `retry_after_cap_seconds`.

    Where the model is `paced`, an endpoint that is busy is waited for in its line, which gives up an endpoint that
    refuses everything: such a refusal is no attempt. A call that is refused more than `refusals` times waits by itself
    too, and fails once that has lasted for `patience_seconds`: others are answered meanwhile, so it alone is refused.
    """

    attempts: int = 4
    paced: bool = False
    refusals: int = 16
    patience_seconds: float = PATIENCE_SECONDS
    tool_attempts: int = 3
    base_seconds: float = 1.0
    cap_seconds: float = 30.0
    retry_after_cap_seconds: float = 120.0

    def delay(self, attempt: int, error: ToolablateError, rng: random.Random) -> float:
        """Seconds to wait after attempt number `attempt` (from 1) failed with `error`.

        The jitter only ever adds to a wait that was asked for, so that trials which were refused together do not come
        back together.
        """
        if error.retry_after is None:
            return self.backoff(attempt, rng)
        longest = min(self.base_seconds, self.cap_seconds, 1.0)
        return min(error.retry_after, self.retry_after_cap_seconds) + longest * rng.random()

    def backoff(self, attempt: int, rng: random.Random) -> float:
        """Seconds to wait after attempt number `attempt` (from 1), where the other side named no wait."""
        # The exponent is bounded, since a float overflows at 2.0 ** 1024.
        longest = min(self.cap_seconds, self.base_seconds * 2.0 ** min(attempt - 1, 30))
        return longest * (0.5 + rng.random() / 2)


@dataclass(slots=True)
class Tries:
    """The tries of one call to a model that have failed."""

    policy: RetryPolicy
    failed: int = 0
    refused: int = 0
    _refused_since: float = 0.0

    @property
    def number(self) -> int:
        return self.failed + self.refused

    def again(self, error: ToolablateError, now: float) -> bool:
        """Takes note of a try that failed, at second `now` by any one clock; whether there is to be another."""
        if not self._is_refusal(error):
            self.failed += 1
            return error.retryable and self.failed < self.policy.attempts
        self.refused += 1
        if self.refused == 1:
            self._refused_since = now
        lasts = now - self._refused_since
        return error.retryable and (self._refused_seldom or lasts <= self.policy.patience_seconds)

    def delay(self, error: ToolablateError, rng: random.Random) -> float:
        """Seconds to wait before the next; none where the model's line waits."""
        if not self._is_refusal(error):
            return self.policy.delay(self.failed, error, rng)
        return 0.0 if self._refused_seldom else self.policy.backoff(self.refused - self.policy.refusals, rng)

    @property
    def _refused_seldom(self) -> bool:
        return self.refused <= self.policy.refusals

    def _is_refusal(self, error: ToolablateError) -> bool:
        return self.policy.paced and error.code in BUSY_CODES
