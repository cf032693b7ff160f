"""Scores trials by the plan's scorer: when they end, when a score is missing, and when an answer key was mended.

What a judge scores is left to `grading`.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from toolablate.benchmarks import Judge, Scorer, scorer_for
from toolablate.experiments.plans.plan import QuestionsSection
from toolablate.experiments.plans.trials import Design
from toolablate.experiments.scoring.judges import SCORER, is_judged
from toolablate.traces.errors import InputError, ScoringError
from toolablate.traces.records import Question, Score, Trace
from toolablate.traces.store import Recorder, Store


class Scorers:
    """The scorers of one plan: the one that it names, or the one that fits a question's target. Of the `judges`, the
    first is the one whose scores count where a judge scores."""

    def __init__(self, section: QuestionsSection, judges: Sequence[Judge] = ()) -> None:
        self.judges = tuple(judges)
        self._section = section
        self._scorer = cache(self._make)

    def score(self, question: Question, trace: Trace) -> Score | None:
        """None for a trace that infrastructure spoiled, and for one that a judge scores. A scorer that breaks leaves
        its trial unscored, and says why: what a model wrote must not be able to end a run."""
        if not trace.scorable or self.is_judged(question):
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

    def is_judged(self, question: Question) -> bool:
        return is_judged(self._section, question)

    def scorer(self, question: Question) -> Scorer:
        return self._scorer(question.target.kind)

    def names(self, questions: Iterable[Question]) -> tuple[str, ...]:
        """The names of the scorers that the questions call for.

        Raises ScoringError for a scorer that is unknown, InputError for a question that the plan's scorer does not fit
        and for one that needs a judge where there is none that can grade it.
        """
        found = set()
        for question in questions:
            if self.is_judged(question):
                found.add(self._judge_of(question).name)
                continue
            scorer = self.scorer(question)
            found.add(scorer.name)
            tried = scorer.score(question, "", "")
            if tried.verdict == "unscored":
                raise InputError(f"questions.scorer: question {question.id!r}: {tried.reason}", code="wrong_scorer")
        return tuple(sorted(found))

    def _judge_of(self, question: Question) -> Judge:
        if not self.judges:
            raise InputError(
                f"judges: missing; the answers to question {question.id!r} are scored by a judge",
                hint='put a table [[judges]] into the plan, with provider = "openai", a name and an endpoint',
                code="no_judge",
            )
        judge = self.judges[0]
        if refusal := judge.refusal(question):
            allowed = 'judging.prompt = "own" asks in words that fit any question' if judge.wording == "row" else ""
            raise InputError(
                f"judging.prompt = {judge.wording!r}: question {question.id!r} cannot be judged so: {refusal}",
                hint=allowed,
                code="not_to_be_judged",
            )
        return judge

    def _make(self, kind: str) -> Scorer:
        try:
            return scorer_for(self._section.scorer or kind, unparsed=self._section.unparsed)
        except ScoringError as error:
            allowed = f"{error.hint.removesuffix('.')}, {SCORER}."
            raise ScoringError(error.message, hint=allowed, code=error.code) from None


async def score_unscored(store: Path, planned: Design, scorers: Scorers, recorder: Recorder) -> None:
    """Scores finished trials that lack the plan's score: a run was killed, the plan names another scorer now, or a
    mended answer key took the scores of a question. By the key that the store has by now: another run may have mended
    it since this one began."""
    questions = [question for question in planned.questions if not scorers.is_judged(question)]
    with Store(store) as opened:
        unscored = {
            scorer.name: opened.unscored_trials(scorer=scorer.name, version=scorer.version)
            for scorer in {scorers.scorer(question) for question in questions}
        }
        if not any(unscored.values()):
            return
        entries = [
            entry
            for entry in planned.trials
            if not scorers.is_judged(entry.question) and entry.trial.id in unscored[scorers.scorer(entry.question).name]
        ]
        held = {each: opened.question(each) for each in {entry.trial.question for entry in entries}}
        scores = [scorers.score(held[entry.trial.question], opened.trace(entry.trial.id)) for entry in entries]
    await recorder.score([score for score in scores if score is not None])
