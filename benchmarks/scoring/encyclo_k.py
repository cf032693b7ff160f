from dataclasses import dataclass

from toolablate.benchmarks.encyclo_k.extraction import read_letter
from toolablate.benchmarks.lettering import letters_for
from toolablate.benchmarks.scoring.scorer import Unparsed, named, not_for, scored, unparsed, unscored
from toolablate.traces.records import Question, Score


@dataclass(frozen=True, slots=True)
class EncycloKScorer:
    """Right is the one right letter, read by Encyclo-K's protocol. A target with several letters is unscored."""

    unparsed: Unparsed = "wrong"

    @property
    def name(self) -> str:
        return named("encyclo-k", unparsed="exclude" if self.unparsed == "exclude" else "")

    @property
    def version(self) -> int:
        return 2

    def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        if question.target.kind != "choice":
            return unscored(self, trial_id, not_for(self, question))
        allowed = letters_for(question)
        right = question.target.letters
        if len(set(right)) > 1 or right[0] not in allowed:
            return unscored(
                self, trial_id, f"the target {', '.join(right)} is not one of {allowed[0]} to {allowed[-1]}"
            )
        reading = read_letter(answer, allowed, question.choices)
        if reading.value is None:
            return unparsed(self, trial_id, reading, self.unparsed)
        return scored(self, trial_id, 1.0 if reading.value[0] == right[0] else 0.0, reading.value)
