"""Turns an answer into a score. One scorer per kind of target, and those of benchmarks."""
