"""Shares of labels corrected for what is known of the judge's confusions, and scaled to what was measured.

Where a share p of trials is truly of each kind, a judge that gives label s to a trial of kind t with the probability
M[t, s] gives the labels with the shares p M. So p is estimated by the given shares times the inverse of M: Rogan and
Gladen (1978), "Estimating prevalence from the results of a screening test", American Journal of Epidemiology 107, for
two kinds; Forman (2008), "Quantifying counts and costs via classification", Data Mining and Knowledge Discovery 17, for
more. It holds where the judge errs on real trials as it does on planted ones, which nobody can know.

A matrix that is nearly singular multiplies every error, so nothing is corrected by one: the shares are then given as
they are.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from toolablate.analysis.attribution.confusion import DISTRACTIONS, Confusion
from toolablate.analysis.statistics.numerals import Floats

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
class Share:
    """In [0, 1], with its 95 % interval; None where there is too little for one."""

    share: float
    ci95: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Shares:
    """By label. `uncorrected` says why they are as the judge gave them, "" where they are corrected."""

    by_label: Mapping[str, Share]
    trials: int
    uncorrected: str


def judged_shares(given: Sequence[Sequence[str]], matrix: Confusion | None, *, seed: int = 0) -> Shares | None:
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
        return Shares(_shares(labels, observed, _interval(drawn)), int(table.sum()), reason)
    estimate = _nearest_shares(_inverted(observed[None], _rows(matrix)[None])[0])
    corrected = None if drawn is None else _corrected(drawn, _drawn_rows(matrix, rng))
    return Shares(_shares(labels, estimate, _interval(corrected)), int(table.sum()), "")


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


def _shares(labels: Sequence[str], shares: Floats, intervals: Floats | None) -> dict[str, Share]:
    """An interval holds the share that it belongs to, also where that was moved to the nearest that is one."""
    if intervals is None:
        return {label: Share(float(share), None) for label, share in zip(labels, shares, strict=True)}
    return {
        label: Share(float(share), (min(float(low), float(share)), max(float(high), float(share))))
        for label, share, (low, high) in zip(labels, shares, intervals, strict=True)
    }
