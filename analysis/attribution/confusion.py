"""What the labels of judges are worth: beside true ones, which the planted benchmark has."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from toolablate.analysis.attribution.rate import Rate, rate
from toolablate.traces.records import Diagnosis, DistractionLabel, JudgeMatrix

DISTRACTIONS: tuple[DistractionLabel, ...] = get_args(DistractionLabel)


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often a judge gives each label where another is true.

    labels      those that there are
    counts      by the true label, then by the one that was given
    unlabelled  trials to which the judge gave none, by their true label; they are in no count
    """

    labels: tuple[str, ...]
    counts: Mapping[str, Mapping[str, int]]
    unlabelled: Mapping[str, int]

    def cases(self, true: str) -> int:
        """Trials with this true label to which the judge gave one."""
        return sum(self.counts[true].values())

    def given(self, true: str, said: str) -> Rate:
        """How often `said` is given where `true` is true, of the trials that were given a label."""
        return rate(self.counts[true][said], self.cases(true))

    @property
    def right(self) -> Rate:
        """How often the label is the true one."""
        return rate(sum(self.counts[label][label] for label in self.labels), sum(map(self.cases, self.labels)))


def confusion(pairs: Iterable[tuple[str, str | None]], labels: Sequence[str] = DISTRACTIONS) -> Confusion:
    """Of pairs of a true label and the one that was given, None where none was. Raises ValueError for a label that is
    not among `labels`."""
    counted = Counter(pairs)
    strange = {label for pair in counted for label in pair if label not in (*labels, None)}
    if strange or any(true is None for true, _ in counted):
        raise ValueError(f"no labels of this matrix: {', '.join(sorted(map(str, strange))) or 'a missing true one'}")
    return Confusion(
        labels=tuple(labels),
        counts={true: {said: counted[true, said] for said in labels} for true in labels},
        unlabelled={true: counted[true, None] for true in labels},
    )


def distraction_of(diagnosis: Diagnosis) -> DistractionLabel | None:
    """How the judge says that the model was drawn away, `none` included; None where it gave no labels."""
    if diagnosis.error_type is None:
        return None
    return diagnosis.distraction or "none"


def judge_matrices(diagnoses: Iterable[Diagnosis], truth: Mapping[str, DistractionLabel]) -> tuple[JudgeMatrix, ...]:
    """By judge and wording, its labels beside the true ones: `truth` has these by the ids of trials. Diagnoses of
    other trials are passed over."""
    pairs: dict[tuple[str, int], list[tuple[str, str | None]]] = defaultdict(list)
    for each in diagnoses:
        if each.trial in truth:
            pairs[each.judge, each.wording].append((truth[each.trial], distraction_of(each)))
    return tuple(_matrix(judge, wording, pairs[judge, wording]) for judge, wording in sorted(pairs))


def confusion_of(matrix: JudgeMatrix) -> Confusion:
    return Confusion(DISTRACTIONS, matrix.counts, matrix.unlabelled)  # type: ignore[arg-type]


def _matrix(judge: str, wording: int, pairs: Iterable[tuple[str, str | None]]) -> JudgeMatrix:
    counted = confusion(pairs)
    return JudgeMatrix(judge=judge, wording=wording, counts=counted.counts, unlabelled=counted.unlabelled)
