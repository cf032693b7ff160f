"""How many of the failures with tools would have been failures without them: what chance alone may be blamed for.

Of failures under a condition the part that is expected without it is p_fail(none) / p_fail(tool); the rest is the
attributable fraction among the exposed (Miettinen 1974, "Proportion of disease caused or prevented by a given exposure,
trait or intervention", American Journal of Epidemiology 99), which is the probability of necessity where the condition
mends nothing that it does not also leave alone (Pearl 1999; Tian and Pearl 2000: see `replay_rules.blame`).

A few repeats do not tell a question's two chances, so questions are partially pooled: a hierarchical model with beta
priors, whose parameters are averaged over what all questions of the model and condition say of them (Gelman et al.
2013, "Bayesian data analysis", chapter 5). A question fails without tools with the chance f. With them, what was right
is harmed with the chance h, or else what was wrong is helped with the chance g:

    f ~ Beta, mean and size unknown                fails with tools: f + (1 - f) h, or f (1 - g)
    h ~ 0, or Beta, mean and size unknown          g ~ uniform, in an unknown share of the questions

All of it is summed over grids, so that nothing is drawn.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from toolablate.analysis.pairing import RIGHT
from toolablate.analysis.statistics.intervals import Floats

_MEANS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.07, 0.12, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97)
"""From one question in thousands on: harm to a single one of many must not be more than the prior can believe."""

_SIZES = (0.3, 1.0, 3.0, 10.0, 40.0)
_HARM_SIZES = (0.3, 1.0, 3.0, 10.0)
_HELPED = (0.0, 0.1, 0.3)
_NO_HARM = 1 / 5
"""The chance, before anything is seen, that a condition does no harm to any question. The least means say nearly so."""

_FAILING, _EFFECTS = 32, 16
_LEAST = 1e-300


@dataclass(frozen=True, slots=True)
class Tally:
    """Trials of one question, without tools and with them, and how many of each are right."""

    right: int
    trials: int
    right_with: int
    trials_with: int


@dataclass(frozen=True, slots=True)
class Expected:
    """The probability that a trial that is wrong with tools would have been wrong without them: `sampling_noise` where
    its question is right without them more often than not, else `own_error`. What they leave is the condition's."""

    sampling_noise: float
    own_error: float

    @property
    def beyond(self) -> float:
        return max(0.0, 1 - self.sampling_noise - self.own_error)


def tally(without: Sequence[float], beside: Sequence[float]) -> Tally:
    """Of scores of one question."""
    right, right_with = (sum(score >= RIGHT for score in scores) for scores in (without, beside))
    return Tally(right, len(without), right_with, len(beside))


class Pool:
    """The questions of one model under one condition. A wrong trial is one of its question's, so that a tally to ask
    about counts it as well."""

    def __init__(self, questions: Iterable[Tally] = ()) -> None:
        counted = Counter(questions)
        found = np.zeros((len(_priors()[0]), len(_priors()[1])))
        for each, times in counted.items():
            found += times * np.log(np.maximum(_summed(_likely(each)), _LEAST))
        weights = np.exp(found - found.max()) * _priors()[2]
        self._weights: Floats = weights / weights.sum()

    def expected(self, question: Tally) -> Expected:
        """Of a wrong trial of this question, which is one of the pool's."""
        likely = _likely(question)
        failing, effects = _grid()
        harmed = np.clip(effects, 0, 1) * (1 - failing)
        still = failing * (1 - np.clip(-effects, 0, 1))
        anyway = still / (still + harmed)
        whole = np.maximum(_summed(likely), _LEAST)
        noise, own = (
            float((self._weights * _summed(likely * anyway * part) / whole).sum())
            for part in (failing < 0.5, failing >= 0.5)
        )
        return Expected(noise, own)


def _likely(question: Tally) -> Floats:
    """But for a factor, so that many trials are no smaller than a number can be."""
    failing, effects = _grid()
    with_tools = np.where(effects >= 0, failing + (1 - failing) * effects, failing * (1 + effects))
    wrong, wrong_with = question.trials - question.right, question.trials_with - question.right_with
    logs = question.right * np.log1p(-failing) + wrong * np.log(failing)
    logs = logs + question.right_with * np.log1p(-with_tools) + wrong_with * np.log(with_tools)
    found: Floats = np.exp(logs - logs.max())
    return found


def _summed(values: Floats) -> Floats:
    """Over both grids, for each choice of the parameters of f (rows) and of the effects (columns)."""
    of_failing, of_effects, _ = _priors()
    found: Floats = of_failing @ values @ of_effects.T
    return found


@lru_cache(maxsize=1)
def _grid() -> tuple[Floats, Floats]:
    """Chances f as a column, effects as a row: h above 0, -g below."""
    effects = _places(_EFFECTS)
    return _places(_FAILING)[:, None], np.concatenate([[0.0], effects, -effects])[None, :]


@lru_cache(maxsize=1)
def _priors() -> tuple[Floats, Floats, Floats]:
    """Of f, of the effects, and how likely their parameters are together before anything is seen."""
    means = _weights_of_means()
    failing = np.array([_beta(mean, size, _FAILING) for mean in _MEANS for size in _SIZES])
    even = _beta(0.5, 2.0, _EFFECTS)
    effects, weights = [], []
    for helped in _HELPED:
        effects.append(np.concatenate([[1 - helped], np.zeros(_EFFECTS), helped * even]))
        weights.append(_NO_HARM / len(_HELPED))
        for mean, weight in zip(_MEANS, means, strict=True):
            for size in _HARM_SIZES:
                least, *harmed = (1 - helped) * _beta(mean, size, _EFFECTS)
                # What is all but none is none: of many questions even the first place would be seen.
                effects.append(np.concatenate([[least, 0.0], harmed, helped * even]))
                weights.append((1 - _NO_HARM) * weight / (len(_HELPED) * len(_HARM_SIZES)))
    return failing, np.array(effects), np.outer(np.repeat(means, len(_SIZES)), weights)


def _weights_of_means() -> Floats:
    """Of the beta distribution whose parameters are both one half (Jeffreys): what of it is nearest to each."""
    roots = np.arcsin(np.sqrt(_MEANS))
    edges = np.concatenate([[0.0], (roots[1:] + roots[:-1]) / 2, [np.pi / 2]])
    found: Floats = np.diff(edges) / (np.pi / 2)
    return found


def _beta(mean: float, size: float, count: int) -> Floats:
    """How much of a beta distribution is nearest to each place. Not its density there, which misses what is closest to
    0 and 1: nearly all of a distribution that is small and off the middle."""
    from scipy.special import betainc

    edges = np.sin(np.arange(count + 1) / count * np.pi / 2) ** 2
    found: Floats = np.diff(betainc(mean * size, (1 - mean) * size, edges))
    return found


def _places(count: int) -> Floats:
    """Closer to each other at 0 and 1, where a chance is known best."""
    found: Floats = np.sin((np.arange(count) + 0.5) / count * np.pi / 2) ** 2
    return found
