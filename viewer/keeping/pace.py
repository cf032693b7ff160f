from dataclasses import dataclass


@dataclass(slots=True)
class Pace:
    """Keeps work to a share of the time, in (0, 1]: after each piece it rests. Times are seconds of one clock."""

    share: float
    rests_until: float = 0.0

    def rested(self, now: float) -> bool:
        return now >= self.rests_until

    def worked(self, seconds: float, now: float) -> None:
        self.rests_until = now + seconds * (1 / self.share - 1)
