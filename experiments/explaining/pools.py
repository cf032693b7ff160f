"""The questions of a model and condition, as the rules over traces take them together."""

from collections.abc import Sequence

from toolablate.analysis.attribution.evidence import Evidence
from toolablate.analysis.attribution.expected_failures import Pool, tally
from toolablate.traces.records import Condition
from toolablate.traces.store import Store


class Pools:
    """All questions that the store has, where a single trial is asked about, too: it has one label, whoever asks. `run`
    keeps to the trials of one run."""

    def __init__(self, store: Store, scorers: Sequence[str], run: str | None) -> None:
        self._store, self._scorers, self._run = store, scorers, run
        self._known: dict[tuple[str, str], Pool] = {}

    def of(self, evidence: Evidence, pair: tuple[Condition, Condition]) -> Pool:
        """`pair` is the condition without tools that its own is set against, and its own."""
        of_whom = evidence.model, evidence.condition
        if of_whom not in self._known:
            trial = evidence.chain.trial
            without, beside = (
                self._store.values_beside(trial, condition.identity(), scorers=self._scorers, run=self._run)
                for condition in pair
            )
            questions = without.keys() | beside.keys()
            self._known[of_whom] = Pool(tally(without.get(each, ()), beside.get(each, ())) for each in questions)
        return self._known[of_whom]
