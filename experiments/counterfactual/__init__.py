"""Counterfactuals: a trial taken up again at one of its events, with one thing changed."""

from toolablate.experiments.counterfactual.replaying import Replayed, replay

__all__ = ["Replayed", "replay"]
