"""A judge: a model that is asked whether an answer is right.

The protocol is that of LPFQA (version 2, section 4 and appendix 8): 0 or 1; the evaluation points go before the
reference; the last final answer counts, and not how it got there.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from toolablate.benchmarks.extraction.markers import THOUGHT_END
from toolablate.benchmarks.extraction.reading import EMPTY
from toolablate.benchmarks.judging.measure import is_measured
from toolablate.benchmarks.judging.reading import Fault, read_grade
from toolablate.benchmarks.judging.request import asked_again, own_request, row_request
from toolablate.benchmarks.judging.wording import FAULTS
from toolablate.benchmarks.scoring.scorer import Unparsed, named
from toolablate.traces.records import JudgeCall, Judgement, Model, ModelRequest, Question, Score, Verdict

Ask = Callable[[ModelRequest], Awaitable[JudgeCall]]
"""Asks the judge's model. Raises ToolablateError where it cannot be reached."""

Wording = Literal["own", "row"]


@dataclass(frozen=True, slots=True)
class Judge:
    """`wording` is "own" for our words, "row" for those that come with a question.

    `asks` is how often a judge is asked at most, in all, until a reply keeps the format. `again` is the number of a
    re-grading; 0 is the grading that counts.
    """

    model: Model
    wording: Wording = "own"
    asks: int = 3
    again: int = 0
    unparsed: Unparsed = "wrong"

    @property
    def name(self) -> str:
        """`judge[NAME@1a2b3c4d]`, and what differs from the defaults; the digits begin the model's identity."""
        return named(
            "judge",
            **{f"{self.model.name}@{self.model.identity()[:8]}": True},
            prompt="" if self.wording == "own" else self.wording,
            again=str(self.again) if self.again else "",
            unparsed="exclude" if self.unparsed == "exclude" else "",
        )

    @property
    def version(self) -> int:
        return 2

    def refusal(self, question: Question) -> str:
        """Why this question cannot be graded so; "" where it can."""
        if self.wording == "own":
            return "" if is_measured(question) else "its reference answer is blank, and it has no evaluation points"
        prompt = question.rubric.prompt if question.rubric is not None else None
        if prompt is None:
            return "the question comes with no prompt for judges"
        said = prompt.system + prompt.before + prompt.after
        return "" if said.strip() else "the question's prompt for judges is blank"

    def keeps(self, score: Score) -> bool:
        """Whether a score of this judge's stands; one that was left unscored by fewer asks than it has now does not."""
        return score.verdict != "unscored" or score.judgement is None or len(score.judgement.calls) >= self.asks

    def twin(self) -> "Judge":
        """The same judge, which counts an answer without words the other way; what it is asked is the same."""
        return replace(self, unparsed="exclude" if self.unparsed == "wrong" else "wrong")

    async def grade(self, question: Question, trial_id: str, answer: str | None, ask: Ask) -> Score:
        """Grades the final reply of a trial, None where it ended without one; thoughts that an endpoint left in it are
        no part of the answer. Raises what `ask` raises: a judge that cannot be reached makes no score."""
        if refused := self.refusal(question):
            return self._score(trial_id, None, "unscored", refused)
        said = (answer or "").rpartition(THOUGHT_END)[2]
        if not said.strip():
            return self._score(trial_id, 0.0 if self.unparsed == "wrong" else None, "unparsed", EMPTY)
        request, calls = self._request(question, said), list[JudgeCall]()
        while True:
            calls.append(await ask(request))
            grade = read_grade(calls[-1].reply)
            if grade.fault is None:
                return self._score(trial_id, grade.value, "correct" if grade.value else "wrong", grade.reason, calls)
            if len(calls) >= self.asks:
                return self._score(trial_id, None, "unscored", _no_grade(grade.fault, len(calls)), calls)
            request = asked_again(request, calls[-1].reply, grade.fault, question)

    def _request(self, question: Question, answer: str) -> ModelRequest:
        prompt = question.rubric.prompt if question.rubric is not None and self.wording == "row" else None
        return own_request(question, answer) if prompt is None else row_request(prompt, answer)

    def _score(
        self, trial_id: str, value: float | None, verdict: Verdict, reason: str, calls: Sequence[JudgeCall] = ()
    ) -> Score:
        return Score(
            trial=trial_id,
            scorer=self.name,
            scorer_version=self.version,
            value=value,
            verdict=verdict,
            reason=reason,
            judgement=Judgement(model=self.model, calls=tuple(calls)) if calls else None,
        )


def _no_grade(fault: Fault, asked: int) -> str:
    replies = "the judge's only reply" if asked == 1 else f"the last of the judge's {asked} replies"
    return f"no grade in {replies}: {FAULTS[fault]}"
