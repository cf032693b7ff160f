"""What the labels of judges are worth: beside true ones, which the planted benchmark has."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from toolablate.traces.analysis.attribution.rate import Rate, rate
from toolablate.traces.records import Diagnosis

NONE = "none"
"""The label of a trial that nothing which was read drew away."""

DISTRACTIONS = ("misleading_adoption", "existence_as_norm", "over_engineering", NONE)
"""The labels of distraction, as a matrix has them."""


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


def distraction_of(diagnosis: Diagnosis) -> str | None:
    """How the judge says that the model was drawn away, `none` included; None where it gave no labels."""
    if diagnosis.error_type is None:
        return None
    return diagnosis.distraction or NONE


def judged_confusions(diagnoses: Iterable[Diagnosis], truth: Mapping[str, str]) -> dict[str, Confusion]:
    """By judge, its labels of distraction beside the true ones: `truth` has these by the ids of trials. Of a judge that
    was asked in several wordings those by the latest count; other trials are passed over."""
    latest: dict[str, int] = {}
    known = [each for each in diagnoses if each.trial in truth]
    for each in known:
        latest[each.judge] = max(latest.get(each.judge, 0), each.wording)
    return {
        judge: confusion(
            (truth[each.trial], distraction_of(each))
            for each in known
            if (each.judge, each.wording) == (judge, wording)
        )
        for judge, wording in sorted(latest.items())
    }
