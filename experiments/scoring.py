"""Scores trials by the plan's scorer, when they end and whenever a score is missing."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from toolablate.benchmarks import Scorer, scorer_for
from toolablate.experiments.plan import QuestionsSection
from toolablate.experiments.trials import Design
from toolablate.traces.records import Question, Score, Trace
from toolablate.traces.store import Recorder, Store


class Scorers:
    """The scorers of one plan: the one that it names, or the one that fits a question's target."""

    def __init__(self, section: QuestionsSection) -> None:
        self._section = section
        self._scorer = cache(self._make)

    def score(self, question: Question, trace: Trace) -> Score | None:
        """None for a trace that infrastructure spoiled."""
        if not trace.scorable:
            return None
        return self.scorer(question).score(question, trace.trial.id, trace.answer)

    def scorer(self, question: Question) -> Scorer:
        return self._scorer(question.target.kind)

    def names(self, questions: Iterable[Question]) -> tuple[str, ...]:
        """The names of the scorers that the questions call for. Raises ScoringError for one that is unknown."""
        return tuple(sorted({self.scorer(question).name for question in questions}))

    def _make(self, kind: str) -> Scorer:
        return scorer_for(self._section.scorer or kind, unparsed=self._section.unparsed)


async def score_unscored(store: Path, planned: Design, scorers: Scorers, recorder: Recorder) -> None:
    """Scores finished trials that lack the plan's score: a run was killed, or the plan names another scorer now."""
    with Store(store) as opened:
        unscored = {
            scorer.name: opened.unscored_trials(scorer=scorer.name, version=scorer.version)
            for scorer in map(scorers.scorer, planned.questions)
        }
        entries = [entry for entry in planned.trials if entry.trial.id in unscored[scorers.scorer(entry.question).name]]
        scores = [scorers.score(entry.question, opened.trace(entry.trial.id)) for entry in entries]
    await recorder.score([score for score in scores if score is not None])
