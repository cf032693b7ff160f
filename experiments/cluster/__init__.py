"""Trials on other machines: workers run them, one driver records them and keeps the pace."""

from toolablate.experiments.cluster.opening import opens_of

__all__ = ["opens_of"]
