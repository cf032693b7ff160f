"""Encyclo-K: questions composed of statements, of which one option names the right ones.

Source: Encyclo-K (2026), "Evaluating LLMs with Dynamically Composed Knowledge Statements".
"""
