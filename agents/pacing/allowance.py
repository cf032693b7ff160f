"""So many of something a minute: requests, or tokens."""

from dataclasses import dataclass, field

# A tenth of a second's worth may come at once, so that late timers cost no throughput.
BURST_SECONDS = 0.1


@dataclass(slots=True)
class Allowance:
    """A token bucket. What is taken beyond what is there is owed, and waited for by those that come after; so even a
    request that is larger than the bucket passes. `now` is in seconds, by any one clock."""

    per_minute: float
    _level: float = field(init=False)
    _at: float | None = None

    def __post_init__(self) -> None:
        self._level = self._capacity

    @property
    def _capacity(self) -> float:
        return max(1.0, self.per_minute / 60 * BURST_SECONDS)

    def wait(self, amount: float, now: float) -> float:
        """Seconds until `amount` may be taken; 0 for at once."""
        self._refill(now)
        lacking = min(amount, self._capacity) - self._level
        # What a timer slept for may lack a rounding error.
        return lacking * 60 / self.per_minute if lacking > 1e-6 else 0.0

    def take(self, amount: float) -> None:
        """Takes it; a negative amount gives back what was not used."""
        self._level = min(self._capacity, self._level - amount)

    def _refill(self, now: float) -> None:
        passed = 0.0 if self._at is None else now - self._at
        self._at = now
        self._level = min(self._capacity, self._level + passed * self.per_minute / 60)
