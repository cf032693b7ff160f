"""Calibrates the confidences of attributions by what people decided of the same trials.

A confidence c becomes 1 / (1 + exp(-(a + b logit c))) (Platt 1999, "Probabilistic Outputs for Support Vector Machines",
on the scale of its own log-odds). `a` is shrunk to 0 and `b` to 1, so that few labels change little. With some hundred
labels two numbers are safer than isotonic regression, which needs about a thousand (Niculescu-Mizil and Caruana 2005,
"Predicting Good Probabilities with Supervised Learning", ICML).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from toolablate.analysis.attribution.evidence import Outlined
from toolablate.analysis.labels.held import AttributedCause, Decided, decided, held
from toolablate.analysis.statistics.intervals import by_unit, clustered_standard_error, effective_clusters
from toolablate.traces.records import MECHANISM_BOOK, Attribution, Label, Mechanism, Method, digest_text

LEAST_LABELS, LEAST_QUESTIONS = 50, 25
"""Decided labels of attributions by one method, and their questions (or clusters of them), below which nothing is
calibrated. The standard error of a share of 50 labels is 7 points: of fewer it is larger than the errors that are worth
mending."""

FOLDS, BINS = 10, 10
LEAST_CONFIDENCE, DIGITS = 0.01, 4
SHIFT_SD, SLOPE_SD = 1.0, 0.5
"""Of the normal priors of `a` about 0 and of `b` about 1: the confidences are made to be probabilities."""

_CONFIDENCE_LOGIT = math.log((1 - LEAST_CONFIDENCE) / LEAST_CONFIDENCE)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an attribution of this confidence names what people decided; it stands for `weight` trials. Verdicts of
    one `unit`, a question or a cluster of them, are not independent."""

    confidence: float
    right: bool
    unit: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """Of the confidences by one method.

    labels, questions      decided labels that it rests on, and their questions or clusters
    applied                whether confidences are changed: there are enough labels, and out of fold the Brier score
                           falls by more than its standard error over questions
    shift, slope           `a` and `b` above; 0 and 1 where nothing is applied
    ece_before, ece_after  expected calibration error in [0, 1] in ten bins, before, and out of fold with the fit; None
                           where there are too few labels
    brier_before,          mean squared error of the confidences, likewise
      brier_after
    """

    method: Method
    labels: int
    questions: int
    applied: bool = False
    shift: float = 0.0
    slope: float = 1.0
    ece_before: float | None = None
    ece_after: float | None = None
    brier_before: float | None = None
    brier_after: float | None = None

    @property
    def enough(self) -> bool:
        return self.labels >= LEAST_LABELS and self.questions >= LEAST_QUESTIONS

    def of(self, confidence: float) -> float:
        """What a confidence becomes."""
        if not self.applied:
            return confidence
        return round(float(_moved(_logits([confidence]), self.shift, self.slope)[0]), DIGITS)


def calibration(method: Method, verdicts: Sequence[Verdict]) -> Calibration:
    """Fits, and measures out of fold: each question's verdicts by what the other questions' say. Depends on the
    verdicts, not on their order."""
    verdicts = sorted(verdicts, key=lambda each: (each.unit, each.confidence, each.right, each.weight))
    units = [each.unit for each in verdicts]
    found = Calibration(method, len(verdicts), len(set(units)))
    if not found.enough:
        return found
    logits, right = _logits([each.confidence for each in verdicts]), np.array([float(each.right) for each in verdicts])
    weights = _weights(verdicts)
    before, after = np.array([each.confidence for each in verdicts]), np.empty(len(verdicts))
    folds = np.array([int(digest_text(unit), 16) % FOLDS for unit in units])
    for fold in set(folds):
        out = folds == fold
        after[out] = _moved(logits[out], *_fitted(logits[~out], right[~out], weights[~out]))
    gain = weights * ((before - right) ** 2 - (after - right) ** 2)
    sums, sizes = by_unit(units, gain.tolist(), weights.tolist())
    error = clustered_standard_error(sums, sizes)
    shift, slope = _fitted(logits, right, weights)
    applied = error is not None and float(gain.sum() / weights.sum()) > error
    return replace(
        found,
        applied=applied,
        shift=shift if applied else 0.0,
        slope=slope if applied else 1.0,
        ece_before=calibration_error(before, right, weights),
        ece_after=calibration_error(after, right, weights),
        brier_before=float(np.average((before - right) ** 2, weights=weights)),
        brier_after=float(np.average((after - right) ** 2, weights=weights)),
    )


def calibration_error(confidences: Floats, right: Floats, weights: Floats) -> float:
    """Mean |confidence - share right| over ten bins of equal width, weighed by what is in them (Naeini et al. 2015,
    "Obtaining Well Calibrated Probabilities Using Bayesian Binning", AAAI)."""
    bins = np.minimum((confidences * BINS).astype(int), BINS - 1)
    away = np.bincount(bins, weights * (confidences - right), BINS)
    return float(np.abs(away).sum() / weights.sum())


def _weights(verdicts: Sequence[Verdict]) -> Floats:
    """They sum to how many verdicts of one weight they are worth, which the priors are weighed against."""
    weights: Floats = np.array([each.weight for each in verdicts])
    worth: Floats = weights * (effective_clusters(weights.tolist()) / weights.sum())
    return worth


def _logits(confidences: Iterable[float]) -> Floats:
    shares = np.clip(np.array(list(confidences), dtype=float), LEAST_CONFIDENCE, 1 - LEAST_CONFIDENCE)
    logits: Floats = np.log(shares / (1 - shares))
    return logits


def _moved(logits: Floats, shift: float, slope: float) -> Floats:
    moved: Floats = 1 / (1 + np.exp(-np.clip(shift + slope * logits, -_CONFIDENCE_LOGIT, _CONFIDENCE_LOGIT)))
    return moved


def _fitted(logits: Floats, right: Floats, weights: Floats) -> tuple[float, float]:
    """The most likely shift and slope, by Newton's method: the loss is convex. A slope is never negative."""
    at, design = np.array([0.0, 1.0]), np.column_stack([np.ones_like(logits), logits])
    precision = np.array([SHIFT_SD**-2, SLOPE_SD**-2])
    for _ in range(50):
        share = 1 / (1 + np.exp(-design @ at))
        slope = design.T @ (weights * (share - right)) + precision * (at - [0.0, 1.0])
        curve = (design.T * (weights * share * (1 - share))) @ design + np.diag(precision)
        step = np.linalg.solve(curve, slope)
        at = at - step * min(1.0, 1 / float(np.abs(step).max() or 1.0))
        if float(np.abs(step).max()) < 1e-9:
            break
    return float(at[0]), max(0.0, float(at[1]))


# Of a store: which of its attributions people have decided about.


def calibrations(
    explained: Iterable[Outlined], labels: Iterable[Label], units: Mapping[str, str]
) -> tuple[Calibration, ...]:
    """By method, of those of whose attributions anything is decided. Labels count that were given blind, name a
    mechanism, and are agreed on by two or more people or were decided. `units` are the questions of trials, or their
    clusters."""
    known = {each.attribution.trial: each.attribution for each in explained if each.attribution is not None}
    about = {
        trial: AttributedCause(units[trial], units[trial], each.mechanism, each.method) for trial, each in known.items()
    }
    settled = decided(held([label for label in labels if label.trial in about], about.__getitem__))
    verdicts: dict[Method, list[Verdict]] = {}
    for each in settled:
        if (found := _verdict(each, known[each.trial])) is not None:
            verdicts.setdefault(known[each.trial].method, []).append(found)
    return tuple(calibration(method, verdicts[method]) for method in sorted(verdicts))


def calibrated(explained: Sequence[Outlined], by: Sequence[Calibration]) -> tuple[Outlined, ...]:
    """With the confidences that they become; hypotheses beside an attribution keep theirs."""
    of = {each.method: each for each in by if each.applied}
    return tuple(
        replace(each, attribution=why.model_copy(update={"confidence": of[why.method].of(why.confidence)}))
        if (why := each.attribution) is not None and why.method in of and why.mechanism != _UNKNOWN
        else each
        for each in explained
    )


_UNKNOWN: Mechanism = "unknown"


def _verdict(each: Decided, why: Attribution) -> Verdict | None:
    if each.book != MECHANISM_BOOK or not each.blind or _UNKNOWN in (each.said[0], why.mechanism):
        return None
    return Verdict(why.confidence, each.said[0] == why.mechanism, each.unit, each.weight)
