"""Reads the one letter that a reply commits to, in the tiers of Encyclo-K's protocol."""

from toolablate.benchmarks.encyclo_k.extraction.tiers import read_letter

__all__ = ["read_letter"]
