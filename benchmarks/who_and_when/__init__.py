"""Who&When: failed runs of several agents, and which agent at which step is to blame (Zhang et al. 2025, "Which Agent
Causes Task Failures and When?", ICML)."""

from toolablate.benchmarks.registry import Benchmark

BENCHMARK = Benchmark(
    description="Score who is said to have failed when, in failed runs of several agents.",
    command="toolablate.benchmarks.who_and_when.command:command",
)
