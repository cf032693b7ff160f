from dataclasses import dataclass
from fractions import Fraction

from toolablate.benchmarks.extraction import read_number
from toolablate.benchmarks.scoring.scorer import Unparsed, named, not_for, scored, unparsed, unscored
from toolablate.traces.records import NumberTarget, Question, Score


@dataclass(frozen=True, slots=True)
class NumberScorer:
    """Right is a number within the target's tolerance, both ends included, compared exactly as decimals.

    A percent sign is taken off, not divided by: whether 50 or 0.5 is meant is for the question to say.
    """

    unparsed: Unparsed = "wrong"

    @property
    def name(self) -> str:
        return named("number", unparsed="exclude" if self.unparsed == "exclude" else "")

    @property
    def version(self) -> int:
        return 2

    def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        if question.target.kind != "number":
            return unscored(self, trial_id, not_for(self, question))
        reading = read_number(answer)
        if reading.value is None:
            return unparsed(self, trial_id, reading, self.unparsed)
        right = within(Fraction(reading.value[0]), question.target)
        return scored(self, trial_id, 1.0 if right else 0.0, reading.value)


def within(number: Fraction, target: NumberTarget) -> bool:
    """Whether the number is within the larger of the target's two tolerances. The float 0.1 means 1/10."""
    wanted, relative, absolute = (Fraction(repr(x)) for x in (target.value, target.relative, target.absolute))
    return abs(number - wanted) <= max(absolute, relative * abs(wanted))
