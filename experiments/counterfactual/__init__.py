"""Counterfactuals: trials taken up again at one of their events, with one thing changed."""

from toolablate.experiments.counterfactual.batch import Batch, Replayed, estimate_many, replay_many
from toolablate.experiments.counterfactual.estimate import Estimate
from toolablate.experiments.counterfactual.replaying import replay
from toolablate.experiments.counterfactual.wanted import Content, Refusal, RefusedError, Wanted

__all__ = [
    "Batch",
    "Content",
    "Estimate",
    "Refusal",
    "RefusedError",
    "Replayed",
    "Wanted",
    "estimate_many",
    "replay",
    "replay_many",
]
