"""Contamination test: models continue the prompts of benchmarks, and what comes back is measured."""
