"""Failures read by a model: what it is asked about a trial that is wrong, and how its reply is read."""

from toolablate.benchmarks.diagnosis.judge import FailureJudge

__all__ = ["FailureJudge"]
