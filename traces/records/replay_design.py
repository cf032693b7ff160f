from typing import Literal

from pydantic import Field

from toolablate.traces.records._base import TaggedRecord


class ReplayDesign(TaggedRecord):
    """Which trials of conditions with tools were to be replayed, and with how many runs each.

    A trial is chosen by lot: by the digest of `seed` and its id, with the probability `failures` where its score is
    below one half and `successes` where it is not. So a design that differs from an earlier one in larger shares alone
    chooses what that one did, and more. `scorer` is the one whose scores decide, "" for the run's own.

    samples   answers that are asked for after each step
    rollouts  runs of everything else
    steps     after every step, or only where a bisection wants to know
    """

    version: Literal[1] = 1
    seed: int = 0
    scorer: str = ""
    failures: float = Field(default=1.0, ge=0, le=1)
    successes: float = Field(default=0.3, ge=0, le=1)
    samples: int = Field(default=8, gt=0)
    rollouts: int = Field(default=4, gt=0)
    steps: Literal["all", "bisect"] = "all"
