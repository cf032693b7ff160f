"""The SQLite store: recorders write, everything else reads.

What it offers is imported when it is first asked for, since to count trials needs no record of one.
"""

from typing import TYPE_CHECKING

from toolablate.traces._lazy import importing

if TYPE_CHECKING:
    from toolablate.traces.store.content.digests import trace_digest
    from toolablate.traces.store.files.schema import SCHEMA_VERSION
    from toolablate.traces.store.outlines import Outline, Outlines
    from toolablate.traces.store.reading.counterfactual import Counterfactual
    from toolablate.traces.store.reading.failure import FailureCount
    from toolablate.traces.store.reading.observation import Observation
    from toolablate.traces.store.reading.standing import LivingRecorder, Standing, TrialCounts, standing
    from toolablate.traces.store.recorder import Recorder
    from toolablate.traces.store.store import Store
    from toolablate.traces.store.verification import Problem, VerifyReport, verify
    from toolablate.traces.store.writing.trial_recorder import TrialRecorder

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
        "content.digests": ("trace_digest",),
        "files.schema": ("SCHEMA_VERSION",),
        "outlines": ("Outline", "Outlines"),
        "reading.counterfactual": ("Counterfactual",),
        "reading.failure": ("FailureCount",),
        "reading.observation": ("Observation",),
        "reading.standing": ("LivingRecorder", "Standing", "TrialCounts", "standing"),
        "recorder": ("Recorder",),
        "store": ("Store",),
        "verification": ("Problem", "VerifyReport", "verify"),
        "writing.trial_recorder": ("TrialRecorder",),
    },
)
