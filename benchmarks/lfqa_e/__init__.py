"""LFQA-E: pairs of long answers with experts' verdicts, and how far metrics agree with them (Fan et al. 2024, "LFQA-E:
Carefully Benchmarking Long-form QA Evaluation", arXiv 2410.01945)."""

from toolablate.benchmarks.registry import Benchmark

BENCHMARK = Benchmark(
    description="Measure metrics and judges of long answers on LFQA-E's pairs.",
    command="toolablate.benchmarks.lfqa_e.command:command",
)
