"""Scores trials by the plan's scorer: when they end, when a score is missing, and when an answer key was mended."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from toolablate.benchmarks import Scorer, scorer_for
from toolablate.experiments.plan import QuestionsSection
from toolablate.experiments.trials import Design
from toolablate.traces.errors import InputError
from toolablate.traces.records import Question, Score, Trace
from toolablate.traces.store import Recorder, Store


class Scorers:
    """The scorers of one plan: the one that it names, or the one that fits a question's target."""

    def __init__(self, section: QuestionsSection) -> None:
        self._section = section
        self._scorer = cache(self._make)

    def score(self, question: Question, trace: Trace) -> Score | None:
        """None for a trace that infrastructure spoiled. A scorer that breaks leaves its trial unscored, and says why:
        what a model wrote must not be able to end a run."""
        if not trace.scorable:
            return None
        scorer = self.scorer(question)
        try:
            score = scorer.score(question, trace.trial.id, trace.answer)
        except Exception as error:  # noqa: BLE001 - kept in the score
            score = Score(
                trial=trace.trial.id,
                scorer=scorer.name,
                scorer_version=scorer.version,
                value=None,
                verdict="unscored",
                reason=f"the scorer broke: {type(error).__name__}: {error}",
            )
        return score.model_copy(update={"target": question.key_identity()})

    def scorer(self, question: Question) -> Scorer:
        return self._scorer(question.target.kind)

    def names(self, questions: Iterable[Question]) -> tuple[str, ...]:
        """The names of the scorers that the questions call for.

        Raises ScoringError for a scorer that is unknown, InputError for a question that the plan's scorer does not fit.
        """
        found = set()
        for question in questions:
            scorer = self.scorer(question)
            found.add(scorer.name)
            tried = scorer.score(question, "", "")
            if tried.verdict == "unscored":
                raise InputError(f"questions.scorer: question {question.id!r}: {tried.reason}", code="wrong_scorer")
        return tuple(sorted(found))

    def _make(self, kind: str) -> Scorer:
        return scorer_for(self._section.scorer or kind, unparsed=self._section.unparsed)


async def score_unscored(store: Path, planned: Design, scorers: Scorers, recorder: Recorder) -> None:
    """Scores finished trials that lack the plan's score: a run was killed, the plan names another scorer now, or a
    mended answer key took the scores of a question. By the key that the store has by now: another run may have mended
    it since this one began."""
    with Store(store) as opened:
        unscored = {
            scorer.name: opened.unscored_trials(scorer=scorer.name, version=scorer.version)
            for scorer in {scorers.scorer(question) for question in planned.questions}
        }
        if not any(unscored.values()):
            return
        entries = [entry for entry in planned.trials if entry.trial.id in unscored[scorers.scorer(entry.question).name]]
        questions = {each: opened.question(each) for each in {entry.trial.question for entry in entries}}
        scores = [scorers.score(questions[entry.trial.question], opened.trace(entry.trial.id)) for entry in entries]
    await recorder.score([score for score in scores if score is not None])
