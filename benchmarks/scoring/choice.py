from dataclasses import dataclass

from toolablate.benchmarks.extraction import read_letters
from toolablate.benchmarks.lettering import letters_for
from toolablate.benchmarks.scoring.scorer import Unparsed, named, not_for, scored, unparsed, unscored
from toolablate.traces.records import Question, Score


@dataclass(frozen=True, slots=True)
class ChoiceScorer:
    """Right is exactly the set of right letters.

    With `partial_credit` an answer without a wrong letter earns its share of the right ones.
    """

    unparsed: Unparsed = "wrong"
    partial_credit: bool = False

    @property
    def name(self) -> str:
        excluded = "exclude" if self.unparsed == "exclude" else ""
        return named("choice", partial_credit=self.partial_credit, unparsed=excluded)

    @property
    def version(self) -> int:
        return 4

    def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        if question.target.kind != "choice":
            return unscored(self, trial_id, not_for(self, question))
        allowed = letters_for(question)
        right = set(question.target.letters)
        if strange := sorted(right - set(allowed)):
            return unscored(self, trial_id, f"the target names {', '.join(strange)}, which is none of its choices")
        reading = read_letters(answer, allowed, question.choices)
        if reading.value is None:
            return unparsed(self, trial_id, reading, self.unparsed)
        given = set(reading.value)
        value = 1.0 if given == right else 0.0
        if self.partial_credit and given < right:
            value = len(given) / len(right)
        return scored(self, trial_id, value, reading.value)
