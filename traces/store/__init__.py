"""The SQLite store: recorders write, everything else reads.

What it offers is imported when it is first asked for, since to count trials needs no record of one.
"""

from typing import TYPE_CHECKING

from toolablate.traces._lazy import importing

if TYPE_CHECKING:
    from toolablate.traces.store.digests import trace_digest
    from toolablate.traces.store.file import APPLICATION_ID, SCHEMA_VERSION, DriverLock
    from toolablate.traces.store.recorder import Recorder, TrialRecorder
    from toolablate.traces.store.status import LivingRecorder, Spending, Standing, TrialCounts, standing
    from toolablate.traces.store.store import Outline, Outlines, Store
    from toolablate.traces.store.summaries import Counterfactual, FailureCount, TrialSummary
    from toolablate.traces.store.unfinished import UnfinishedTrial
    from toolablate.traces.store.verification import VerifyReport, verify
    from toolablate.traces.store.workers import NoWorker, WorkerStanding, remove_workers, write_workers

__all__ = [
    "APPLICATION_ID",
    "SCHEMA_VERSION",
    "Counterfactual",
    "DriverLock",
    "FailureCount",
    "LivingRecorder",
    "NoWorker",
    "Outline",
    "Outlines",
    "Recorder",
    "Spending",
    "Standing",
    "Store",
    "TrialCounts",
    "TrialRecorder",
    "TrialSummary",
    "UnfinishedTrial",
    "VerifyReport",
    "WorkerStanding",
    "remove_workers",
    "standing",
    "trace_digest",
    "verify",
    "write_workers",
]

__getattr__ = importing(
    __name__,
    {
        "digests": ("trace_digest",),
        "file": ("APPLICATION_ID", "SCHEMA_VERSION", "DriverLock"),
        "summaries": ("Counterfactual", "FailureCount", "TrialSummary"),
        "recorder": ("Recorder", "TrialRecorder"),
        "status": ("LivingRecorder", "Spending", "Standing", "TrialCounts", "standing"),
        "store": ("Outline", "Outlines", "Store"),
        "unfinished": ("UnfinishedTrial",),
        "verification": ("VerifyReport", "verify"),
        "workers": ("NoWorker", "WorkerStanding", "remove_workers", "write_workers"),
    },
)
