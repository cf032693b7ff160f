"""Making it happen: plans, conditions, the runner, replays and attribution.

`condition` and `ladder_of` are for who builds conditions in Python. They are imported when they are first asked for,
since the command line lives below this package and has to start at once.
"""

from typing import TYPE_CHECKING

from toolablate.traces._lazy import importing

if TYPE_CHECKING:
    from toolablate.experiments.plans.conditions import condition, ladder_of

__all__ = ["condition", "ladder_of"]

__getattr__ = importing(__name__, {"plans.conditions": ("condition", "ladder_of")})
