"""Synthetic failures with known causes, second generator: a structural causal model behind HTTP."""
