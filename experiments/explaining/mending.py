"""Scores with lost formats mended: those of the answers that were asked for after a reply without any."""

from collections.abc import Callable, Iterable, Sequence

from toolablate.analysis.attribution.decomposition import Scores
from toolablate.analysis.pairing import counts, mean
from toolablate.traces.records import AnswerNow
from toolablate.traces.store import Counterfactual, Observation, Store

Children = Callable[[str], Sequence[Counterfactual]]
"""The counterfactuals of a trial, by its id."""


class Mending:
    """`unmended` counts the trials without an answer after which none was asked for."""

    def __init__(self, store: Store, children: Children) -> None:
        self._store = store
        self._children = children
        self._known: dict[str, float | None] = {}

    @property
    def unmended(self) -> int:
        return sum(value is None for value in self._known.values())

    def of_trials(self, trials: Iterable[Observation]) -> Scores | None:
        """Of those that count; None where some lost their format and none was asked for again: what they would score
        is not known."""
        known = [each for each in trials if counts(each)]
        scores = tuple(self._mended(each.trial, each.value or 0.0, each.verdict, 0) for each in known)
        return None if any(self._known.get(each.trial, 0.0) is None for each in known) else scores

    def of_replays(self, replays: Iterable[Counterfactual]) -> Scores:
        """Of those that have a score."""
        return tuple(
            self._mended(each.trial, each.value, each.verdict, each.resumption.event)
            for each in replays
            if each.value is not None
        )

    def _mended(self, trial: str, value: float, verdict: str | None, before: int) -> float:
        """`before` its own events its conversation has as many of its parents."""
        if verdict != "unparsed":
            return value
        if trial not in self._known:
            closings = self._closings(trial, before)
            self._known[trial] = mean(closings) if closings else None
        mended = self._known[trial]
        return value if mended is None else mended

    def _closings(self, trial: str, before: int) -> Scores:
        """Scores of what was asked for just before the trial's answer: after its final reply."""
        asked = [each for each in self._children(trial) if isinstance(each.resumption.change, AnswerNow)]
        answered = self._store.answered_at(trial) if asked else None
        if answered is None:
            return ()
        return values(each for each in asked if each.resumption.event == before + answered)


def values(replays: Iterable[Counterfactual]) -> Scores:
    """The scores of those that have one, as they are."""
    return tuple(each.value for each in replays if each.value is not None)
