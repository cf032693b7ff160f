"""Reads the one letter that a reply commits to, in the tiers of Encyclo-K's protocol, or as its published code does."""

from toolablate.benchmarks.encyclo_k.extraction.official import read_official
from toolablate.benchmarks.encyclo_k.extraction.tiers import read_letter

__all__ = ["read_letter", "read_official"]
