"""Questions and how their answers are scored. What a benchmark brings is a `Benchmark`, named by an entry point."""

from toolablate.benchmarks.registry import Benchmark

__all__ = ["Benchmark"]
