"""Encyclo-K: questions composed of statements, of which one option names the right ones.

Source: Encyclo-K (2026), "Evaluating LLMs with Dynamically Composed Knowledge Statements".
"""

from toolablate.benchmarks.registry import Benchmark

BENCHMARK = Benchmark(
    description="Compose questions of Encyclo-K, bring in published ones, and analyse replies to them.",
    scorers={
        "encyclo-k": "toolablate.benchmarks.encyclo_k.scorer:EncycloKScorer",
        "encyclo-k-official": "toolablate.benchmarks.encyclo_k.scorer:OfficialScorer",
    },
    command="toolablate.benchmarks.encyclo_k.command:command",
)
