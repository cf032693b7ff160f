"""Answers judged by a model: what it is asked, how its reply is read, and the score that this makes."""

from toolablate.benchmarks.judging.judge import Ask, Judge, Wording

__all__ = ["Ask", "Judge", "Wording"]
