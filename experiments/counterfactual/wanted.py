"""What is asked of a replay, and why it may be refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from toolablate.traces.errors import InputError
from toolablate.traces.records import Again, ReplayChange

Content = Literal["null", "placebo", "gold", "adversarial"]
"""What a tool call's result can be swapped for, by the name of a text that is still to be found."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Trials that go on from an event of another one, with one thing changed, as `replay` takes them; `repeats` is how
    many there are to be."""

    trial: str
    event: int
    change: ReplayChange | Content = field(default_factory=Again)
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the replay at `place` among those that were wanted cannot be made."""

    place: int
    error: InputError


class RefusedError(InputError):
    """Some of the replays that were wanted cannot be made; `refusals` says which, and why, in their order."""

    def __init__(self, wanted: Mapping[int, Wanted], refusals: Sequence[Refusal]) -> None:
        self.refusals = tuple(refusals)
        first = self.refusals[0]
        asked, error = wanted[first.place], first.error
        more = f" ({len(refusals) - 1:,} more are refused)" if len(refusals) > 1 else ""
        super().__init__(
            f"trial {asked.trial[:12]}, event {asked.event}: {error.message}{more}", hint=error.hint, code=error.code
        )
