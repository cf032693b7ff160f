"""When and after how long something that failed is tried again."""

import random
from dataclasses import dataclass

from toolablate.traces.errors import ToolablateError


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a request is attempted, and the waits between the attempts, in seconds.

    `attempts` and `tool_attempts` count the first one. The wait doubles from `base_seconds` up to `cap_seconds`; where
    the other side named a wait it is honoured, up to `retry_after_cap_seconds`.
    """

    attempts: int = 4
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
