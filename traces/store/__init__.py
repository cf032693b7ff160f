"""The SQLite store: recorders write, everything else reads.

What it offers is imported when it is first asked for, since to count trials needs no record of one.
"""

from typing import TYPE_CHECKING

from toolablate.traces._lazy import importing

if TYPE_CHECKING:
    from toolablate.traces.store._digests import trace_digest
    from toolablate.traces.store._schema import SCHEMA_VERSION
    from toolablate.traces.store._standing import LivingRecorder, Standing, TrialCounts, standing
    from toolablate.traces.store.counterfactual import Counterfactual
    from toolablate.traces.store.failure import FailureCount
    from toolablate.traces.store.observation import Observation
    from toolablate.traces.store.outlines import Outline, Outlines
    from toolablate.traces.store.recorder import Recorder, TrialRecorder
    from toolablate.traces.store.store import Store
    from toolablate.traces.store.verification import Problem, VerifyReport, verify

__all__ = [
    "SCHEMA_VERSION",
    "Counterfactual",
    "FailureCount",
    "LivingRecorder",
    "Observation",
    "Outline",
    "Outlines",
    "Problem",
    "Recorder",
    "Standing",
    "Store",
    "TrialCounts",
    "TrialRecorder",
    "VerifyReport",
    "standing",
    "trace_digest",
    "verify",
]

__getattr__ = importing(
    __name__,
    {
        "_digests": ("trace_digest",),
        "_schema": ("SCHEMA_VERSION",),
        "counterfactual": ("Counterfactual",),
        "failure": ("FailureCount",),
        "observation": ("Observation",),
        "outlines": ("Outline", "Outlines"),
        "recorder": ("Recorder", "TrialRecorder"),
        "_standing": ("LivingRecorder", "Standing", "TrialCounts", "standing"),
        "store": ("Store",),
        "verification": ("Problem", "VerifyReport", "verify"),
    },
)
