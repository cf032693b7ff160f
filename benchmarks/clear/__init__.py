"""CLEAR: long answers scored item by item against a reference's checklist, as ExpertLongBench does."""

from toolablate.benchmarks.registry import Benchmark

BENCHMARK = Benchmark(
    description="Score checklists of long answers, as ExpertLongBench does.",
    command="toolablate.benchmarks.clear.command:command",
)
