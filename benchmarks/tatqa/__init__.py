"""TAT-QA: questions on tables and texts of financial reports (Zhu et al. 2021)."""

from toolablate.benchmarks.registry import Benchmark

BENCHMARK = Benchmark(
    description="Exact match and F1 of TAT-QA.",
    scorers={
        "tatqa": "toolablate.benchmarks.tatqa.scorer:TatqaScorer",
        "tatqa-f1": "toolablate.benchmarks.tatqa.scorer:TatqaF1Scorer",
    },
)
