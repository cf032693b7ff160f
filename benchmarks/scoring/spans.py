"""Scores sets of texts."""

from collections import Counter
from dataclasses import dataclass

from toolablate.benchmarks.extraction import normalised, read_spans
from toolablate.benchmarks.scoring.scorer import Unparsed, named, not_for, scored, unparsed, unscored
from toolablate.traces.records import Question, Score


@dataclass(frozen=True, slots=True)
class SpansScorer:
    """Right are the same texts as multisets, whatever the case, the width of characters, blanks, quotes around and a
    full stop after. Where the target has a scale, so has each text ("$1,496.5 million").

    An announced answer that is no list is unparsed where the target has several texts and the answer may be several.
    """

    unparsed: Unparsed = "wrong"

    @property
    def name(self) -> str:
        return named("spans", unparsed="exclude" if self.unparsed == "exclude" else "")

    @property
    def version(self) -> int:
        return 3

    def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        if question.target.kind != "spans":
            return unscored(self, trial_id, not_for(self, question))
        wanted = question.target.stated
        reading = read_spans(answer, wanted="several" if len(wanted) > 1 else "one")
        if reading.value is None:
            return unparsed(self, trial_id, reading, self.unparsed)
        right = Counter(map(normalised, reading.value)) == Counter(map(normalised, wanted))
        return scored(self, trial_id, 1.0 if right else 0.0, reading.value)
