"""Scores of trials, by the plan's scorer and by judges."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from inspect import isawaitable
from pathlib import Path
from types import TracebackType
from typing import Self

from toolablate.benchmarks.judging.answers import Judge
from toolablate.benchmarks.judging.checklists import ChecklistJudge
from toolablate.benchmarks.registry import said_of_scorer
from toolablate.benchmarks.scoring.scorer import AsyncScorer, Scorer, unparsed
from toolablate.benchmarks.scoring.scorers import JUDGE, scorer_for
from toolablate.benchmarks.scoring.texts import choice_in_words
from toolablate.experiments.environment.web import Tell
from toolablate.experiments.plans.plan import Design, Plan, QuestionsSection
from toolablate.sandbox import open_sandbox
from toolablate.traces.errors import InputError, ScoringError, ToolablateError
from toolablate.traces.plugins import checked, close, told
from toolablate.traces.records import Condition, Model, Question, Score, ServedModel, Trace
from toolablate.traces.store import Recorder, Store

# The judges of a plan, and the questions whose answers they grade.


AnyJudge = Judge | ChecklistJudge


def judges_of(plan: Plan) -> tuple[Judge, ...]:
    """All that grade the plan's answers, the one whose scores count first: the first gradings of each judge in the
    order of the plan, then the first re-gradings, and so on."""
    judging = plan.judging
    return tuple(
        Judge(model, wording=judging.prompt, asks=judging.asks, again=again, unparsed=plan.questions.unparsed)
        for again in range(judging.again + 1)
        for model in plan.judges
    )


def checklist_judges_of(plan: Plan) -> tuple[ChecklistJudge, ...]:
    """The same of those that grade checklists."""
    judging = plan.judging
    mapper = next((model for model in plan.judges if judging.mapper in ("", model.name)), None)
    return tuple(
        ChecklistJudge(
            model, mapper, judging.mapping, judging.na, judging.asks, again, unparsed=plan.questions.unparsed
        )
        for again in range(judging.again + 1)
        for model in plan.judges
    )


def judges_for(plan: Plan, question: Question) -> tuple[AnyJudge, ...]:
    """Those that grade answers to this question."""
    every: tuple[AnyJudge, ...] = (*judges_of(plan), *checklist_judges_of(plan))
    return tuple(judge for judge in every if judge.takes(question))


def is_judged(section: QuestionsSection, question: Question) -> bool:
    """Whether a judge scores its answers: the plan says so, or it says nothing and only a judge can."""
    return section.scorer == JUDGE or (section.scorer is None and question.target.kind in ("reference", "checklist"))


def idle_judges(plan: Plan, questions: Iterable[Question]) -> str:
    """What a user should know who names judges that no question needs; "" where there is none such."""
    if not plan.judges or any(is_judged(plan.questions, question) for question in questions):
        return ""
    names = ", ".join(repr(model.name) for model in plan.judges)
    return (
        f"judges: no question needs a judge, so none is asked ({names}); they score targets of kind 'reference'"
        " or 'checklist'"
        f', or all questions where questions.scorer = "{JUDGE}"'
    )


def judges_of_their_own(plan: Plan, questions: Iterable[Question]) -> str:
    """What a user should know whose judges grade answers that they gave themselves; "" where none does."""
    judged = {_asked(model) for model in plan.models}
    names = ", ".join(repr(judge.name) for judge in plan.judges if _asked(judge) in judged)
    if not names or not any(is_judged(plan.questions, question) for question in questions):
        return ""
    return f"judges: {names} will grade answers of its own, to which models tend to be kinder than to those of others"


def _asked(model: Model) -> tuple[str, str]:
    """What is asked, whatever a plan calls it."""
    if isinstance(model, ServedModel):
        return model.endpoint.rstrip("/"), model.wire_name
    return model.provider, model.identity()


# Scores trials by the plan's scorer: when they end, when a score is missing, and when an answer key was mended.


_AT_ONCE = 32
"""Trials that are read and scored at once; their scores are entered together."""
_GIVEN_UP_AFTER = 3
"""Scores in a row that cannot be had, after which no more are tried in this run."""


@dataclass(frozen=True, slots=True)
class Unscored:
    """Answers that have no score through no fault of theirs, and why: nothing was wrong with them, and the next run
    tries again."""

    count: int
    code: str
    message: str
    hint: str = ""


_BAD = "bad_scorer"
_MEND = "Mend the scorer, or name another in questions.scorer."
_TOLD = (ToolablateError,)


class Scorers:
    """The scorers of one plan: the one that it names, or the one that fits a question's target. Of the `judges`, the
    first is the one whose scores count where a judge scores. As an async context it closes what its scorers open;
    `warn` hears of those that cannot be closed."""

    def __init__(self, plan: Plan, warn: Tell) -> None:
        self.judges: tuple[AnyJudge, ...] = (*judges_of(plan), *checklist_judges_of(plan))
        self._section = plan.questions
        self._sandbox = plan.sandbox
        self._warn = warn
        self._opened: dict[str, AsyncScorer] = {}
        self._scorer = cache(self._make)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for name, scorer in self._opened.items():
            await close(partial(said_of_scorer, name), scorer.close, self._warn)

    async def open(self, questions: Iterable[Question]) -> None:
        """Tries what the scorers of these questions need. Raises ScoringError where that cannot be had, InputError for
        a scorer that breaks at it."""
        for name in dict.fromkeys(self._name(question) for question in questions if not self.is_judged(question)):
            scorer = self._scorer(name)
            if isinstance(scorer, AsyncScorer):
                with told(partial(_not_opened, name), code=_BAD, hint=_MEND, passing=_TOLD):
                    await scorer.open()

    async def score(self, question: Question, trace: Trace, condition: Condition) -> Score | None:
        """None for a trace that infrastructure spoiled, and for one that a judge scores. A scorer that breaks leaves
        its trial unscored, and says why: what a model wrote must not be able to end a run. A choice that was asked
        for in words is given to its scorer as the letter.

        Raises ScoringError where what the scorer needs fails, which is nobody's answer: there is no score then.
        """
        if not trace.scorable or self.is_judged(question):
            return None
        scorer, answer = self.scorer(question), trace.answer
        if condition.shown == "question":
            reading = choice_in_words(question, answer)
            if reading.value is None:
                score = unparsed(scorer, trace.trial.id, reading, self._section.unparsed)
                return score.model_copy(update={"target": question.key_identity()})
            answer = f"Answer: {reading.value[0]}"
        try:
            made = scorer.score(question, trace.trial.id, answer)
            score = await made if isawaitable(made) else made
            if not isinstance(score, Score):
                raise TypeError(f"a Score is expected, found {score!r:.80}")
        except ScoringError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - kept in the score
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

    def scorer(self, question: Question) -> Scorer | AsyncScorer:
        return self._scorer(self._name(question))

    def _name(self, question: Question) -> str:
        return self._section.scorer or question.target.kind

    def names(self, questions: Iterable[Question]) -> tuple[str, ...]:
        """The names of the scorers that the questions call for. Nothing is opened.

        Raises ScoringError for a scorer that is unknown or lacks a package, InputError for a question that the plan's
        scorer does not fit, for one that needs a judge where there is none that can grade it, and for a scorer that
        breaks at it or returns no Score.
        """
        found: set[str] = set()
        for question in questions:
            if self.is_judged(question):
                found.add(self._judge_of(question).name)
                continue
            scorer = self.scorer(question)
            found.add(scorer.name)
            if refusal := _refusal(self._name(question), scorer, question):
                raise InputError(f"questions.scorer: question {question.id!r}: {refusal}", code="wrong_scorer")
        return tuple(sorted(found))

    def judges_for(self, question: Question) -> tuple[AnyJudge, ...]:
        return tuple(judge for judge in self.judges if judge.takes(question))

    def _judge_of(self, question: Question) -> AnyJudge:
        judges = self.judges_for(question)
        if not judges:
            raise InputError(
                f"judges: missing; the answers to question {question.id!r} are scored by a judge",
                hint='put a table [[judges]] into the plan, with provider = "openai", a name and an endpoint',
                code="no_judge",
            )
        judge = judges[0]
        if refusal := judge.refusal(question):
            wording = judge.wording if isinstance(judge, Judge) else "own"
            allowed = 'judging.prompt = "own" asks in words that fit any question' if wording == "row" else ""
            raise InputError(
                f"judging.prompt = {wording!r}: question {question.id!r} cannot be judged so: {refusal}",
                hint=allowed,
                code="not_to_be_judged",
            )
        return judge

    def _make(self, name: str) -> Scorer | AsyncScorer:
        section, sandbox = self._section, self._sandbox
        options = {"pattern": section.pattern} if section.pattern else {}
        scorer = scorer_for(
            name, unparsed=section.unparsed, sandbox=lambda: open_sandbox(sandbox.backend, sandbox.limits), **options
        )
        if isinstance(scorer, AsyncScorer):
            self._opened[name] = scorer
        return scorer


def _refusal(name: str, scorer: Scorer | AsyncScorer, question: Question) -> str:
    """Why the scorer of this name does not score the question; "" where it does. Raises InputError where it breaks."""

    def said() -> str:
        return f"{said_of_scorer(name)} cannot score question {question.id!r}"

    if isinstance(scorer, AsyncScorer):
        refusal: str = checked(
            said, lambda: scorer.refusal(question), _is_text, "a text", code=_BAD, hint=_MEND, passing=_TOLD
        )
        return refusal
    tried: Score = checked(
        said, lambda: scorer.score(question, "", ""), _is_score, "a Score", code=_BAD, hint=_MEND, passing=_TOLD
    )
    return tried.reason if tried.verdict == "unscored" else ""


def _not_opened(name: str) -> str:
    return f"{said_of_scorer(name)} cannot be opened"


def _is_text(found: object) -> bool:
    return isinstance(found, str)


def _is_score(found: object) -> bool:
    return isinstance(found, Score)


async def score_unscored(
    store: Path, planned: Design, scorers: Scorers, recorder: Recorder, stopped: Callable[[], bool] = lambda: False
) -> tuple[Unscored, ...]:
    """Scores finished trials that lack the plan's score: a run was killed, the plan names another scorer now, or a
    mended answer key took the scores of a question. By the key that the store has by now: another run may have mended
    it since this one began. Returns what could not be scored through no fault of the answers."""
    questions = [question for question in planned.questions if not scorers.is_judged(question)]
    with Store(store) as opened:
        unscored = {
            scorer.name: opened.unscored_trials(scorer=scorer.name, version=scorer.version)
            for scorer in {scorers.scorer(question) for question in questions}
        }
        if not any(unscored.values()):
            return ()
        entries = [
            entry
            for entry in planned.trials
            if not scorers.is_judged(entry.question) and entry.trial.id in unscored[scorers.scorer(entry.question).name]
        ]
        held = {each: opened.question(each) for each in {entry.trial.question for entry in entries}}
        failed: list[ScoringError] = []
        left = len(entries)
        for start in range(0, len(entries), _AT_ONCE):
            batch = entries[start : start + _AT_ONCE]
            if stopped() or len(failed) >= _GIVEN_UP_AFTER:
                break
            made = await asyncio.gather(
                *(
                    scorers.score(held[entry.trial.question], opened.trace(entry.trial.id), entry.condition)
                    for entry in batch
                ),
                return_exceptions=True,
            )
            for each in made:
                if isinstance(each, ScoringError):
                    failed.append(each)
                elif isinstance(each, BaseException):
                    raise each
            await recorder.score([score for score in made if isinstance(score, Score)])
            left -= len(batch)
    return _told(failed, left)


def _told(failed: Sequence[ScoringError], left: int) -> tuple[Unscored, ...]:
    by_code: dict[str, Unscored] = {}
    for error in failed:
        before = by_code.get(error.code)
        by_code[error.code] = Unscored(before.count + 1 if before else 1, error.code, error.message, error.hint)
    not_tried = (Unscored(left, "not_tried", "they were not tried", "the same command scores them"),) if left else ()
    return (*by_code.values(), *not_tried)
