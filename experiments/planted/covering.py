"""How often the 90 % intervals of ledgers hold the truth."""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from toolablate.experiments.planted.levels import Parts
from toolablate.experiments.planted.truth import TrialTruth, summed
from toolablate.traces.analysis.attribution.evidence import Explained
from toolablate.traces.analysis.attribution.ledger import Chain, Ledger, ledgers
from toolablate.traces.analysis.attribution.proof import covers

_RESAMPLES = 500

Pair = tuple[TrialTruth, Explained]


@dataclass(frozen=True, slots=True)
class Coverage:
    """`held` of so many `intervals` hold the truth; the other two are of those alone that are not marked as too
    small to rely on."""

    held: int
    intervals: int
    held_unmarked: int
    unmarked: int

    @property
    def share(self) -> float | None:
        return self.held / self.intervals if self.intervals else None

    @property
    def share_unmarked(self) -> float | None:
        return self.held_unmarked / self.unmarked if self.unmarked else None


def coverage(found: Iterable[Ledger], true: Mapping[tuple[str, str], Parts]) -> Coverage:
    """Over mechanisms x conditions. Mechanisms that are neither found nor true have no interval."""
    seen = [
        hit for ledger in found if (parts := true.get((ledger.model, ledger.condition))) for hit in _hits(ledger, parts)
    ]
    return _counted(seen)


def over_samples(pairs: Sequence[Pair], samples: int, seed: int) -> Coverage:
    """Of ledgers over a third of the questions each, drawn with replacement from all, whose true mean is known: each
    sample is one of independent questions, as an interval takes its own to be. The truth is given the trials' answers,
    since these are the same in every sample."""
    by_question: dict[str, list[Pair]] = defaultdict(list)
    for true, each in pairs:
        by_question[true.question].append((true, each))
    names = sorted(by_question)
    truth = _truth(by_question)
    rng = random.Random(seed)  # noqa: S311 - a simulation, not a secret
    seen: list[tuple[bool, bool]] = []
    for number in range(samples):
        drawn = rng.choices(names, k=max(2, len(names) // 3))
        chains = [chain for copy, name in enumerate(drawn) for chain in _copied(by_question[name], copy)]
        for ledger in ledgers(chains, seed=number, resamples=_RESAMPLES):
            seen += _hits(ledger, truth[ledger.model, ledger.condition])
    return _counted(seen)


def _hits(ledger: Ledger, true: Parts) -> Iterator[tuple[bool, bool]]:
    """Of each mechanism whether its interval holds the truth, and whether it is marked."""
    shares: Mapping[str, float] = {str(name): share for name, share in true.mechanisms.items()}
    for account in ledger.mechanisms:
        if account.ci90 is not None:
            yield covers(account.ci90, 100 * shares.get(account.name, 0.0)), account.small


def _counted(seen: Sequence[tuple[bool, bool]]) -> Coverage:
    unmarked = [hit for hit, marked in seen if not marked]
    return Coverage(sum(hit for hit, _ in seen), len(seen), sum(unmarked), len(unmarked))


def _truth(by_question: Mapping[str, Sequence[Pair]]) -> dict[tuple[str, str], Parts]:
    """By model and condition, the mean over questions of the mean over their trials."""
    by_arm: dict[tuple[str, str], dict[str, list[Parts]]] = defaultdict(lambda: defaultdict(list))
    for name, pairs in by_question.items():
        for true, _ in pairs:
            by_arm[true.model, true.condition][name].append(true.parts)
    return {
        arm: summed((1 / len(questions) / len(parts), each) for parts in questions.values() for each in parts)
        for arm, questions in by_arm.items()
    }


def _copied(pairs: Sequence[Pair], copy: int) -> Iterator[Chain]:
    """A question that is drawn twice counts as two."""
    for _, each in pairs:
        chain = each.evidence.chain
        kind, name = chain.unit
        yield replace(chain, question=f"{chain.question} {copy}", unit=(kind, f"{name} {copy}"))
