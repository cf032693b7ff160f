"""Where a trial runs, and what crosses to there: the plan once, then a small task for each trial."""

from toolablate.experiments.running.execution.local import LocalExecutor, open_executor
from toolablate.experiments.running.execution.task import Executor, TrialTask

__all__ = ["Executor", "LocalExecutor", "TrialTask", "open_executor"]
