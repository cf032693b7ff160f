"""A judge that reads failures: a model that is asked why a trial is wrong."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolablate.benchmarks.diagnosis.case import case_of
from toolablate.benchmarks.diagnosis.reading import Labels, read_labels
from toolablate.benchmarks.diagnosis.request import asked_again, request_of
from toolablate.benchmarks.diagnosis.wording import FAULTS, WORDING, Fault
from toolablate.benchmarks.judging import Ask
from toolablate.traces.records import Diagnosis, Event, JudgeCall, Model, ModelRequest, Question


@dataclass(frozen=True, slots=True)
class FailureJudge:
    """`asks` is how often a judge is asked at most, in all, until a reply keeps the format."""

    model: Model
    asks: int = 3

    @property
    def name(self) -> str:
        """`NAME@1a2b3c4d`; the digits begin the model's identity."""
        return f"{self.model.name}@{self.model.identity()[:8]}"

    @property
    def wording(self) -> int:
        """The version of what it is asked."""
        return WORDING

    def keeps(self, diagnosis: Diagnosis) -> bool:
        """Whether a diagnosis of this judge's stands; one without labels by fewer asks than it has now does not."""
        same = (diagnosis.judge, diagnosis.wording) == (self.name, self.wording)
        return same and (diagnosis.error_type is not None or len(diagnosis.calls) >= self.asks)

    def request(self, question: Question, events: Sequence[Event]) -> ModelRequest:
        """What it is asked first about a trial with these events."""
        return request_of(case_of(question, events))

    async def diagnose(self, question: Question, trial_id: str, events: Sequence[Event], ask: Ask) -> Diagnosis:
        """Why a trial with a wrong answer is wrong. Raises what `ask` raises: a judge that cannot be reached makes no
        diagnosis."""
        case = case_of(question, events)
        request, calls = request_of(case), list[JudgeCall]()
        while True:
            calls.append(await ask(request))
            labels = read_labels(calls[-1].reply, case.steps)
            if labels.fault is None:
                return self._diagnosis(trial_id, labels, calls)
            if len(calls) >= self.asks:
                return self._diagnosis(trial_id, Labels(reason=_no_labels(labels.fault, len(calls))), calls)
            request = asked_again(request, calls[-1].reply, labels.fault, case.language)

    def _diagnosis(self, trial_id: str, labels: Labels, calls: Sequence[JudgeCall]) -> Diagnosis:
        return Diagnosis(
            trial=trial_id,
            judge=self.name,
            wording=self.wording,
            error_type=labels.error_type,
            distraction=labels.distraction,
            reason=labels.reason,
            evidence=labels.steps,
            distraction_reason=labels.distraction_reason,
            distraction_evidence=labels.distraction_steps,
            calls=tuple(calls),
        )


def _no_labels(fault: Fault, asked: int) -> str:
    replies = "the judge's only reply" if asked == 1 else f"the last of the judge's {asked} replies"
    return f"no labels in {replies}: {FAULTS[fault]}"
