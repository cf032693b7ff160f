"""Encyclo-K: questions composed of statements, of which one option names the right ones."""
