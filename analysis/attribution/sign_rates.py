"""How often an answer that results made wrong shows that it comes from them, and how often another one does: fitted to
the wrong trials of a store."""

from collections.abc import Sequence
from dataclasses import dataclass

_PRIOR_TRIALS = 10.0
"""How many trials' worth of evidence each rate is before a store is seen."""
_ROUNDS = 15


@dataclass(frozen=True, slots=True)
class SignRate:
    """The share of wrong trials that show a sign: of those that its cause made wrong (`caused`), and of all others."""

    caused: float = 0.8
    otherwise: float = 0.2

    def odds(self, *, seen: bool) -> float:
        """How many times likelier the cause is once it is known whether the sign is there."""
        return self.caused / self.otherwise if seen else (1 - self.caused) / (1 - self.otherwise)


@dataclass(frozen=True, slots=True)
class SignSeen:
    """A wrong trial that can show the sign: whether it does, and how likely the cause is without looking."""

    seen: bool
    likely: float


def fitted_sign_rate(trials: Sequence[SignSeen]) -> SignRate:
    """By expectation and maximization, with some trials' worth of prior: how likely the cause is by the rates, then the
    rates that this has (Dawid and Skene 1979, "Maximum likelihood estimation of observer error-rates using the EM
    algorithm", Applied Statistics 28, with one observer and a prior of its own for each trial)."""
    prior, rate = SignRate(), SignRate()
    for _ in range(_ROUNDS):
        caused = [each.likely * (odds := rate.odds(seen=each.seen)) / (1 + each.likely * (odds - 1)) for each in trials]
        rate = SignRate(
            _share(prior.caused, trials, caused),
            _share(prior.otherwise, trials, [1 - weight for weight in caused]),
        )
    return rate


def _share(prior: float, trials: Sequence[SignSeen], weights: Sequence[float]) -> float:
    """Of weighted trials those that show it."""
    seen = sum(weight for each, weight in zip(trials, weights, strict=True) if each.seen)
    return (_PRIOR_TRIALS * prior + seen) / (_PRIOR_TRIALS + sum(weights))
