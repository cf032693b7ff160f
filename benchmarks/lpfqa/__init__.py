"""LPFQA: questions of professional forums, with a reference answer and the points that an answer has to meet.

Fields and protocol are those of the papers of November 2025 and January 2026 and of the dataset that they publish.
"""

from toolablate.benchmarks.registry import Benchmark

BENCHMARK = Benchmark(
    description="Bring in questions of LPFQA, and make its papers' tables.",
    command="toolablate.benchmarks.lpfqa.command:command",
)
