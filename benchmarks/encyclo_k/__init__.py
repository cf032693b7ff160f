"""Encyclo-K: questions composed of statements, of which one option names the right ones.

Source: Encyclo-K (2026), "Evaluating LLMs with Dynamically Composed Knowledge Statements".
"""

from toolablate.benchmarks.encyclo_k.composing import compose
from toolablate.benchmarks.encyclo_k.published import load_published_questions
from toolablate.benchmarks.encyclo_k.single import single_statements
from toolablate.benchmarks.encyclo_k.statements import Statement, load_statements

__all__ = ["Statement", "compose", "load_published_questions", "load_statements", "single_statements"]
