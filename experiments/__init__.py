"""Making it happen: plans, conditions, the runner and the command line.

`condition` and `ladder_of` are for who builds conditions in Python; `replay` takes up a recorded trial, `replay_many`
many of them in one go, and `attribute` those that a design chooses by lot. They are imported when they are first asked
for, since the command line lives below this package and has to start at once.
"""

from typing import TYPE_CHECKING

from toolablate.traces._lazy import importing

if TYPE_CHECKING:
    from toolablate.experiments.attribution.attributing import Attributed, attribute
    from toolablate.experiments.plans.conditions import condition, ladder_of
    from toolablate.experiments.replay.batch import Batch, Replayed, estimate_many, replay, replay_many
    from toolablate.experiments.replay.requests import Wanted

__all__ = [
    "Attributed",
    "Batch",
    "Replayed",
    "Wanted",
    "attribute",
    "condition",
    "estimate_many",
    "ladder_of",
    "replay",
    "replay_many",
]

__getattr__ = importing(
    __name__,
    {
        "attributing": ("Attributed", "attribute"),
        "plans.conditions": ("condition", "ladder_of"),
        "counterfactual": ("Batch", "Replayed", "Wanted", "estimate_many", "replay", "replay_many"),
    },
)
