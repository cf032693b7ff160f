"""How what was found drew models away, as judges read it: shares of a term that was measured."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from toolablate.analysis.attribution.confusion import confusion_of, distraction_of
from toolablate.analysis.attribution.correction import Shares, judged_shares, rescaled
from toolablate.analysis.attribution.evidence import Outlined
from toolablate.analysis.attribution.ledger import Ledger
from toolablate.traces.records import Distraction, JudgeMatrix


@dataclass(frozen=True, slots=True)
class JudgedDistraction:
    """One model and condition, by one judge, asked in one wording.

    shares  of the labels among the trials that are put down to retrieval distraction, `none` among them
    points  the term's points, shared out as the labels other than `none` are to each other; they sum to it, and are
            hypotheses as the labels are. Empty where there is no such label
    """

    model: str
    condition: str
    judge: str
    wording: int
    shares: Shares
    points: Mapping[str, float]


def judged_distractions(
    ledger: Ledger, explained: Iterable[Outlined], matrices: Iterable[JudgeMatrix] = ()
) -> tuple[JudgedDistraction, ...]:
    """Of those trials that are the ledger's, by judge and wording; none where there is no such term, or no judge gave a
    label. Corrected by the matrix of the same judge and wording, where there is one that allows it."""
    term = next((each.points for each in ledger.mechanisms if each.name == "retrieval_distraction"), None)
    if term is None:
        return ()
    found: list[JudgedDistraction] = []
    known = {(each.judge, each.wording): confusion_of(each) for each in matrices}
    for (judge, wording), given in sorted(_labels(_of(ledger, explained)).items()):
        shares = judged_shares(given, known.get((judge, wording)))
        if shares is not None:
            kinds = {name: share for name in get_args(Distraction) if (share := shares.by_label[name].share) > 0}
            points = rescaled(kinds, term)
            found.append(JudgedDistraction(ledger.model, ledger.condition, judge, wording, shares, points))
    return tuple(found)


def _of(ledger: Ledger, explained: Iterable[Outlined]) -> Iterator[Outlined]:
    for each in explained:
        if (each.evidence.model, each.evidence.condition) == (ledger.model, ledger.condition):
            yield each


def _labels(explained: Iterable[Outlined]) -> dict[tuple[str, int], Sequence[Sequence[str]]]:
    """By judge and wording, the labels of each independent question."""
    by_judge: dict[tuple[str, int], dict[object, list[str]]] = defaultdict(lambda: defaultdict(list))
    for each in explained:
        if each.attribution is None or each.attribution.mechanism != "retrieval_distraction":
            continue
        for diagnosis in each.evidence.diagnoses:
            label = distraction_of(diagnosis)
            if label is not None:
                by_judge[diagnosis.judge, diagnosis.wording][each.evidence.chain.unit].append(label)
    return {judge: list(units.values()) for judge, units in by_judge.items()}
