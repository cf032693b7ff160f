"""What is known of planned trials by themselves: what their traces tell, and their scores."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from toolablate.analysis.attribution.signals.of_trace import signals_of
from toolablate.analysis.attribution.trace_rules import Bare
from toolablate.experiments.attributing.case import case_of
from toolablate.experiments.explaining.kept import KeptReadings, TraceReading
from toolablate.traces.records import Score
from toolablate.traces.store import Store

_QUESTIONS = 1_000


class Known:
    """Of some hundred trials at a time, by their whole ids, so that what is held does not grow with the store:
    `turn_to` names them, and forgets the others. Raises StoreError."""

    def __init__(self, store: Store, scorers: Sequence[str], kept: KeptReadings) -> None:
        self._store, self._scorers, self._kept = store, scorers, kept
        self._question = lru_cache(maxsize=_QUESTIONS)(store.question)
        self._condition = lru_cache(maxsize=None)(store.condition)
        self._attempts: Mapping[str, tuple[int, str]] = {}
        self._scores: Mapping[str, tuple[Score, ...]] = {}
        self._readings: dict[str, TraceReading] = {}
        self._new: dict[str, TraceReading] = {}

    def turn_to(self, trials: Iterable[str]) -> None:
        named = tuple(trials)
        self._scores = self._store.scores_of(named)
        self._attempts = self._store.current_attempts(named)
        self._readings = self._kept.of(trace for _, trace in self._attempts.values())
        self._new = {}

    def keep(self) -> None:
        """What had to be read of those that it was turned to."""
        self._kept.put(self._new)

    def reading(self, trial: str) -> TraceReading:
        attempt, digest = self._attempts[trial]
        if digest not in self._readings:
            # Of this attempt, whatever is current by now: its digest tells what it says.
            self._readings[digest] = self._new[digest] = self._read(trial, attempt)
        return self._readings[digest]

    def score(self, trial: str) -> Score:
        of_them = [each for each in self._scores[trial] if each.scorer in self._scorers]
        return max(of_them, key=lambda each: each.scorer_version)

    def bare(self, trial: str) -> Bare:
        return Bare(self.reading(trial).signals, self.score(trial))

    def _read(self, trial: str, attempt: int) -> TraceReading:
        trace = self._store.trace(trial, attempt=attempt)
        condition = self._condition(trace.trial.condition)
        signals = signals_of(trace, self._question(trace.trial.question), condition)
        return TraceReading(signals, case_of(trace, condition, signals))
