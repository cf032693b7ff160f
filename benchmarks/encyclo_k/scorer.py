from collections.abc import Sequence
from dataclasses import dataclass

from toolablate.benchmarks.encyclo_k.extraction import read_letter, read_official
from toolablate.benchmarks.extraction import Reading
from toolablate.benchmarks.lettering import letters_for
from toolablate.benchmarks.scoring.scorer import Unparsed, named, not_for, scored, unparsed, unscored
from toolablate.traces.records import Question, Score


@dataclass(frozen=True, slots=True)
class EncycloKScorer:
    """Right is the one right letter, read by Encyclo-K's protocol. A target with several letters is unscored.

    `official` reads as the published evaluation does, faults included.
    """

    unparsed: Unparsed = "wrong"
    official: bool = False

    @property
    def name(self) -> str:
        excluded = "exclude" if self.unparsed == "exclude" else ""
        return named("encyclo-k-official" if self.official else "encyclo-k", unparsed=excluded)

    @property
    def version(self) -> int:
        return 1 if self.official else 3

    def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        if question.target.kind != "choice":
            return unscored(self, trial_id, not_for(self, question))
        allowed = letters_for(question)
        right = question.target.letters
        if len(set(right)) > 1 or right[0] not in allowed:
            return unscored(
                self, trial_id, f"the target {', '.join(right)} is not one of {allowed[0]} to {allowed[-1]}"
            )
        reading = self._read(answer, allowed, question.choices)
        if reading.value is None:
            return unparsed(self, trial_id, reading, self.unparsed)
        return scored(self, trial_id, 1.0 if reading.value[0] == right[0] else 0.0, reading.value)

    def _read(self, answer: str | None, allowed: str, choices: Sequence[str]) -> Reading:
        return read_official(answer, choices) if self.official else read_letter(answer, allowed, choices)
