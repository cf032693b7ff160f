"""The SQLite store: one recorder writes, everything else reads."""

from toolablate.traces.store._digests import trace_digest
from toolablate.traces.store._schema import SCHEMA_VERSION
from toolablate.traces.store.failure import FailureCount
from toolablate.traces.store.observation import Observation
from toolablate.traces.store.recorder import Recorder, TrialRecorder
from toolablate.traces.store.store import Store, TrialCounts
from toolablate.traces.store.verification import Problem, VerifyReport, verify

__all__ = [
    "SCHEMA_VERSION",
    "FailureCount",
    "Observation",
    "Problem",
    "Recorder",
    "Store",
    "TrialCounts",
    "TrialRecorder",
    "VerifyReport",
    "trace_digest",
    "verify",
]
