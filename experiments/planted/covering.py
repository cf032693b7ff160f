"""How often the 90 % intervals of ledgers hold the truth."""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from toolablate.analysis.attribution.decomposition import Chain, Ledger, ledgers
from toolablate.analysis.attribution.proof import covers
from toolablate.experiments.planted.levels import Parts

_RESAMPLES = 500
_SOMETHING = 0.1
"""Points from which on a share is not called nothing."""

Truths = Mapping[tuple[str, str], Parts]
"""By model and condition, what any number of repeats tends to."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """`held` of so many `intervals` hold the truth; the other two are of those alone that are not marked as too
    small to rely on. Of `missing` shares that are truly something there is no interval, since nothing of them came."""

    held: int
    intervals: int
    held_unmarked: int
    unmarked: int
    missing: int = 0

    @property
    def share(self) -> float | None:
        return self.held / self.intervals if self.intervals else None

    @property
    def share_unmarked(self) -> float | None:
        return self.held_unmarked / self.unmarked if self.unmarked else None


def coverage(found: Iterable[Ledger], true: Truths) -> Coverage:
    """Over mechanisms x conditions. Mechanisms that are not found have no interval."""
    given = list(found)
    missing = sum(_missing(ledger, parts) for ledger in given if (parts := true.get((ledger.model, ledger.condition))))
    return replace(_counted(_seen(given, true)), missing=missing)


def over_samples(chains: Sequence[Chain], true: Truths, samples: int, seed: int) -> Coverage:
    """Of ledgers over a third of the questions each, drawn without replacement, of what holds for all. The mean of such
    a third varies less than that of independent questions, by a factor of sqrt(2/3) as far as questions differ, which
    makes the intervals hold a little more than they promise; what chance does to trials is all there."""
    by_question: dict[str, list[Chain]] = defaultdict(list)
    for chain in chains:
        by_question[chain.question].append(chain)
    names = sorted(by_question)
    rng = random.Random(seed)  # noqa: S311 - a simulation, not a secret
    seen: list[tuple[bool, bool]] = []
    for number in range(samples):
        drawn = rng.sample(names, k=max(1, len(names) // 3))
        own = [chain for name in drawn for chain in by_question[name]]
        seen += _seen(ledgers(own, seed=number, resamples=_RESAMPLES), true)
    return _counted(seen)


def _seen(found: Iterable[Ledger], true: Truths) -> list[tuple[bool, bool]]:
    pairs = ((ledger, true.get((ledger.model, ledger.condition))) for ledger in found)
    return [hit for ledger, parts in pairs if parts is not None for hit in _hits(ledger, parts)]


def _hits(ledger: Ledger, true: Parts) -> Iterator[tuple[bool, bool]]:
    """Of each mechanism whether its interval holds the truth, and whether it is marked."""
    shares: Mapping[str, float] = {str(name): share for name, share in true.mechanisms.items()}
    for account in ledger.mechanisms:
        if account.ci90 is not None:
            yield covers(account.ci90, 100 * shares.get(account.name, 0.0)), account.small


def _missing(ledger: Ledger, true: Parts) -> int:
    with_interval = {account.name for account in ledger.mechanisms if account.ci90 is not None}
    return sum(abs(100 * share) >= _SOMETHING for name, share in true.mechanisms.items() if name not in with_interval)


def _counted(seen: Sequence[tuple[bool, bool]]) -> Coverage:
    unmarked = [hit for hit, marked in seen if not marked]
    return Coverage(sum(hit for hit, _ in seen), len(seen), sum(unmarked), len(unmarked))
