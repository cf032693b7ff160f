"""Isolated Jupyter kernels for code that a model wrote."""
