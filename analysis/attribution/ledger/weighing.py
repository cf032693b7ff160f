"""One trial's share of a ledger where only some trials were replayed."""

from collections.abc import Mapping
from typing import TypeVar

Name = TypeVar("Name", bound=str)


def weighed(
    known: Mapping[Name, float], replayed: Mapping[Name, float] | None, probability: float
) -> dict[Name, float]:
    """What a trial adds to each account: what is known without a replay, plus what its replay changes in that, divided
    by the probability with which it was to be replayed.

    Over the choice of trials its expectation is what a replay of every trial would add, because a replay is counted as
    often as it stands for one (the difference estimator of Särndal, Swensson and Wretman 1992, "Model Assisted Survey
    Sampling", section 6.3, with the weights of Horvitz and Thompson 1952, JASA 47). A replay moves what was unresolved
    to other accounts and changes no sum: its changes sum to 0, and so do they times any weight. So the accounts of
    every trial, replayed or not, sum exactly to the difference that it makes; by how much replays happen to stand for
    more or less than there is, is in `unresolved`, with 0 as its expectation, beside what no replay resolves. A trial
    of probability 0 keeps all that is unresolved.
    """
    if replayed is None:
        return dict(known)
    return {
        name: known.get(name, 0.0) + (replayed.get(name, 0.0) - known.get(name, 0.0)) / probability
        for name in dict.fromkeys((*known, *replayed))
    }
