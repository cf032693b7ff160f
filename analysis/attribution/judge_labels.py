"""Labels by judges of failures: confusions, shares corrected for these, and types of errors."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from toolablate.analysis.attribution.belief import Share, share
from toolablate.analysis.attribution.decomposition import Decomposition
from toolablate.analysis.attribution.evidence import Outlined
from toolablate.analysis.labels.error_types import ERROR_TYPES
from toolablate.analysis.pairing import RIGHT, Unit, unit
from toolablate.analysis.statistics.intervals import Floats, clustered_share
from toolablate.traces.records import Diagnosis, Distraction, DistractionLabel, ErrorType, JudgeMatrix
from toolablate.traces.store import TrialSummary


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` of `of`; `share` is None of none. Of types of error its interval is over questions; elsewhere it takes
    what is counted for independent."""

    count: int
    of: int
    share: Share | None


def rate(count: int, of: int) -> Rate:
    """With Wilson's 95 % interval."""
    return Rate(count, of, share(count, of) if of else None)


# What the labels of judges are worth: beside true ones, which the planted benchmark has.


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


# Shares of labels corrected for what is known of the judge's confusions, and scaled to what was measured.


MOST_CONDITION = 5.0
"""The largest condition number (in the 2-norm) of a matrix by which shares are corrected. For two kinds between which a
judge errs alike it is 1 / J, of Youden's J = sensitivity + specificity - 1."""

FEWEST_CASES = 20
"""Labelled trials of each kind below which a row of the matrix is too little known."""

FEWEST_UNITS = 10
"""Independent questions below which shares have no interval."""

RESAMPLES = 2_000

_QUESTIONS_ON_TOP = 0.5
"""With each label, as in Jeffreys' prior."""

_LOST = 0.01
"""The share of resamples with a singular matrix from which on there is no interval."""


@dataclass(frozen=True, slots=True)
class LabelShare:
    """In [0, 1], with its 95 % interval; None where there is too little for one."""

    share: float
    ci95: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class LabelShares:
    """By label. `uncorrected` says why they are as the judge gave them, "" where they are corrected."""

    by_label: Mapping[str, LabelShare]
    trials: int
    uncorrected: str


def judged_shares(given: Sequence[Sequence[str]], matrix: Confusion | None, *, seed: int = 0) -> LabelShares | None:
    """Shares of labels that a judge gave to trials, in lists by independent question; corrected where the matrix allows
    it. None where no trial has a label. Raises ValueError for a label that the matrix has not, or where there is none
    for one that is no label of distraction.

    The intervals are percentiles of a Bayesian bootstrap (Rubin 1981, "The Bayesian bootstrap", Annals of Statistics 9)
    that weighs questions, and of each kind's row of the matrix given its planted trials; of its corrected shares as the
    inverse gives them, so that those beyond 0 and 1 are not heaped there, cut to [0, 1]. The corrected shares
    themselves are the nearest that are none below 0 and sum to 1.
    """
    said = {label for unit in given for label in unit}
    if not said:
        return None
    labels = matrix.labels if matrix is not None else DISTRACTIONS
    if strange := sorted(said.difference(labels)):
        raise ValueError(f"none of the labels {', '.join(labels)}: {', '.join(strange)}")
    table = _table(given, labels)
    rng = np.random.default_rng(seed)
    reason = _unfit(matrix)
    observed = table.sum(axis=0) / table.sum()
    drawn = _drawn_shares(table, rng) if len(table) >= FEWEST_UNITS else None
    if matrix is None or reason:
        return LabelShares(_shares(labels, observed, _interval(drawn)), int(table.sum()), reason)
    estimate = _nearest_shares(_inverted(observed[None], _rows(matrix)[None])[0])
    corrected = None if drawn is None else _corrected(drawn, _drawn_rows(matrix, rng))
    return LabelShares(_shares(labels, estimate, _interval(corrected)), int(table.sum()), "")


def rescaled(shares: Mapping[str, float], term: float) -> dict[str, float]:
    """The parts of a measured term: as the shares are to each other, and with the term as their sum. Of shares that are
    all 0 there are none."""
    whole = sum(shares.values())
    return {label: term * (share / whole) for label, share in shares.items()} if whole > 0 else {}


def _unfit(matrix: Confusion | None) -> str:
    """Why nothing is corrected by it; "" where it may be."""
    if matrix is None:
        return "no planted trials tell how the judge errs"
    few = [label for label in matrix.labels if matrix.cases(label) < FEWEST_CASES]
    if few:
        return f"fewer than {FEWEST_CASES} planted trials of {', '.join(few)}"
    condition = float(np.linalg.cond(_rows(matrix)))
    if condition > MOST_CONDITION:
        return f"the judge confuses too much (condition number {condition:.1f}, at most {MOST_CONDITION:g})"
    return ""


def _table(given: Sequence[Sequence[str]], labels: Sequence[str]) -> Floats:
    """Counts by question and label."""
    counts = [Counter(unit) for unit in given if unit]
    return np.array([[count[label] for label in labels] for count in counts], dtype=float)


def _rows(matrix: Confusion) -> Floats:
    counts = np.array([[matrix.counts[true][said] for said in matrix.labels] for true in matrix.labels], dtype=float)
    rows: Floats = counts / counts.sum(axis=1, keepdims=True)
    return rows


def _drawn_shares(table: Floats, rng: np.random.Generator) -> Floats:
    """Shares under random weights of questions: (resamples, labels). Each label has the part of a question on top, or
    one that is rare, and not among these, would have an interval that ends at 0."""
    units, labels = table.shape
    sums = rng.standard_exponential((RESAMPLES, units)) @ table
    sums += rng.gamma(_QUESTIONS_ON_TOP, size=(RESAMPLES, labels)) * (table.sum() / units)
    shares: Floats = sums / sums.sum(axis=1, keepdims=True)
    return shares


def _drawn_rows(matrix: Confusion, rng: np.random.Generator) -> Floats:
    """What rows may be, given the planted trials of each kind: (resamples, true, said)."""
    on_top = 1 / len(matrix.labels)
    rows = [
        rng.dirichlet([matrix.counts[true][said] + on_top for said in matrix.labels], size=RESAMPLES)
        for true in matrix.labels
    ]
    drawn: Floats = np.stack(rows, axis=1)
    return drawn


def _corrected(shares: Floats, rows: Floats) -> Floats | None:
    regular = np.linalg.cond(rows) < 10 * MOST_CONDITION
    if regular.mean() < 1 - _LOST:
        return None
    return _inverted(shares[regular], rows[regular])


def _inverted(shares: Floats, rows: Floats) -> Floats:
    found: Floats = np.linalg.solve(rows.transpose(0, 2, 1), shares[:, :, None])[:, :, 0].astype(float)
    return found


def _nearest_shares(estimate: Floats) -> Floats:
    """The point of the simplex that is nearest to it. Duchi et al. (2008), "Efficient projections onto the l1-ball for
    learning in high dimensions", ICML, figure 1."""
    falling = np.flip(np.sort(estimate))
    steps = (np.cumsum(falling) - 1) / np.arange(1, len(falling) + 1)
    last = int(np.nonzero(falling > steps)[0][-1])
    nearest: Floats = np.maximum(estimate - steps[last], 0.0)
    return nearest


def _interval(drawn: Floats | None) -> Floats | None:
    if drawn is None:
        return None
    ends: Floats = np.clip(np.quantile(drawn, [0.025, 0.975], axis=0).T, 0.0, 1.0)
    return ends


def _shares(labels: Sequence[str], shares: Floats, intervals: Floats | None) -> dict[str, LabelShare]:
    """An interval holds the share that it belongs to, also where that was moved to the nearest that is one."""
    if intervals is None:
        return {label: LabelShare(float(share), None) for label, share in zip(labels, shares, strict=True)}
    return {
        label: LabelShare(float(share), (min(float(low), float(share)), max(float(high), float(share))))
        for label, share, (low, high) in zip(labels, shares, intervals, strict=True)
    }


# How what was found drew models away, as judges read it: shares of a term that was measured.


@dataclass(frozen=True, slots=True)
class JudgedDistraction:
    """One model and condition, by one judge, asked in one wording.

    shares  of the labels among the trials that are attributed to retrieval distraction, `none` among them
    points  the term's points, shared out as the labels other than `none` are to each other; they sum to it, and are
            hypotheses as the labels are. Empty where there is no such label
    """

    model: str
    condition: str
    judge: str
    wording: int
    shares: LabelShares
    points: Mapping[str, float]


def judged_distractions(
    decomposition: Decomposition, explained: Iterable[Outlined], matrices: Iterable[JudgeMatrix] = ()
) -> tuple[JudgedDistraction, ...]:
    """Of those trials that are the decomposition's, by judge and wording; none where there is no such term, or no judge
    gave a label. Corrected by the matrix of the same judge and wording, where there is one that allows it."""
    term = next((each.points for each in decomposition.mechanisms if each.name == "retrieval_distraction"), None)
    if term is None:
        return ()
    found: list[JudgedDistraction] = []
    known = {(each.judge, each.wording): confusion_of(each) for each in matrices}
    for (judge, wording), given in sorted(_labels(_of(decomposition, explained)).items()):
        shares = judged_shares(given, known.get((judge, wording)))
        if shares is not None:
            kinds = {name: share for name in get_args(Distraction) if (share := shares.by_label[name].share) > 0}
            points = rescaled(kinds, term)
            found.append(
                JudgedDistraction(decomposition.model, decomposition.condition, judge, wording, shares, points)
            )
    return tuple(found)


def _of(decomposition: Decomposition, explained: Iterable[Outlined]) -> Iterator[Outlined]:
    for each in explained:
        if (each.evidence.model, each.evidence.condition) == (decomposition.model, decomposition.condition):
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
                by_judge[diagnosis.judge, diagnosis.wording][each.evidence.inputs.unit].append(label)
    return {judge: list(units.values()) for judge, units in by_judge.items()}


# What kinds of errors judges see in failures, as table 9 of version 2 of the LPFQA paper counts them: by domain, and
# by model and condition.


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """The wrong trials of one domain, or of one model under one condition; the other names are "" then, and all are
    where it is about all trials.

    labelled    trials to which the judge gave a type
    unlabelled  trials to which it gave none
    questions   that the labelled trials are of
    types       all seven, of the labelled
    """

    domain: str
    model: str
    condition: str
    labelled: int
    unlabelled: int
    questions: int
    types: Mapping[ErrorType, Rate]


@dataclass(frozen=True, slots=True)
class ErrorTypes:
    """What one judge sees, asked in one wording."""

    judge: str
    wording: int
    overall: ErrorRow
    by_domain: tuple[ErrorRow, ...]
    by_arm: tuple[ErrorRow, ...]


_Read = tuple[TrialSummary, Diagnosis]


def error_types(summaries: Iterable[TrialSummary], diagnoses: Iterable[Diagnosis]) -> list[ErrorTypes]:
    """By judge, and by wording where one was asked in several. Of the diagnoses those count whose trial is observed to
    be wrong (scored below one half): an answer key may have been mended since."""
    wrong = {seen.trial: seen for seen in summaries if seen.value is not None and seen.value < RIGHT}
    read: dict[tuple[str, int], list[_Read]] = defaultdict(list)
    for each in diagnoses:
        if each.trial in wrong:
            read[each.judge, each.wording].append((wrong[each.trial], each))
    return [_table_of_types(judge, wording, read[judge, wording]) for judge, wording in sorted(read)]


def _table_of_types(judge: str, wording: int, read: list[_Read]) -> ErrorTypes:
    domains, arms = defaultdict[str, list[_Read]](list), defaultdict[tuple[str, str], list[_Read]](list)
    for pair in read:
        seen = pair[0]
        domains[seen.domain].append(pair)
        arms[seen.model, seen.condition].append(pair)
    return ErrorTypes(
        judge=judge,
        wording=wording,
        overall=_row(read),
        by_domain=tuple(_row(domains[domain], domain=domain) for domain in sorted(domains)),
        by_arm=tuple(
            _row(arms[model, condition], model=model, condition=condition) for model, condition in sorted(arms)
        ),
    )


def _row(read: list[_Read], *, domain: str = "", model: str = "", condition: str = "") -> ErrorRow:
    labelled = [(seen, diagnosis) for seen, diagnosis in read if diagnosis.error_type is not None]
    units = [unit(seen) for seen, _ in labelled]
    return ErrorRow(
        domain=domain,
        model=model,
        condition=condition,
        labelled=len(labelled),
        unlabelled=len(read) - len(labelled),
        questions=len({seen.question for seen, _ in labelled}),
        types={
            name: _clustered_rate([diagnosis.error_type == name for _, diagnosis in labelled], units)
            for name in ERROR_TYPES
        },
    )


def _clustered_rate(hits: Sequence[bool], units: Sequence[Unit]) -> Rate:
    if not hits:
        return Rate(0, 0, None)
    mean, (low, high) = clustered_share(hits, units)
    return Rate(sum(hits), len(hits), Share(mean, low, high))
