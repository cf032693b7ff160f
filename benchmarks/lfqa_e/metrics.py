"""Metrics that need no model: what each says of a pair of answers, constants beside them, and verdicts from a file."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolablate.benchmarks.judging.pairs import better
from toolablate.benchmarks.lfqa_e.comparisons import VERDICTS, Comparison
from toolablate.benchmarks.rows.row_errors import LineError, at, shown
from toolablate.benchmarks.rows.sources import rows_of
from toolablate.benchmarks.scoring.rouge import rouge_l, rouge_n, rouge_tokens
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install

UNREAD = 3
FAILED = -1
"""Beside the places of VERDICTS: a reply without a verdict, and no reply."""

LENGTHS = ("length_chars", "length_tokens")

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MetricVerdicts:
    """What one metric says of each comparison, in their order: places in VERDICTS, UNREAD or FAILED.

    `scores` are those of a and b that the verdicts rest on, None where there are none. `tau` is the lowest and the
    highest difference up to which two scores are a tie, None for a verdict that is no difference of scores. `turned`
    says of each whether the verdict turned with the order, None where one order was asked; `contradicted` whether a
    reply's reasons end with another preference than its verdict, `asked_again` whether a reply had none that could be
    read, None where there are no replies in words.
    `drawn_evenly`: each verdict has chance 1/3, and figures are expected ones; `codes` then mean nothing.
    """

    name: str
    codes: Codes
    scores: NDArray[np.float64] | None = None
    tau: tuple[float, float] | None = None
    drawn_evenly: bool = False
    turned: NDArray[np.bool_] | None = None
    contradicted: NDArray[np.bool_] | None = None
    asked_again: NDArray[np.bool_] | None = None

    @property
    def is_scored(self) -> bool:
        """Whether all comparisons have scores, so that a threshold can be fitted."""
        return self.scores is not None and bool(np.isfinite(self.scores).all())


def labels_of(comparisons: Sequence[Comparison]) -> Codes:
    return np.array([VERDICTS.index(each.label) for each in comparisons])


def static_metrics(comparisons: Sequence[Comparison], *, with_fitted: bool = True) -> tuple[list[MetricVerdicts], str]:
    """Lengths, ROUGE, BLEU and chrF with a tau of 0, then each with a tau fitted on other questions (`NAME_tau`), and
    what is missing, else "": references, without which there are lengths only, or sacrebleu and how it is installed."""
    scores, missing = _text_scores(comparisons), ""
    if all(each.reference for each in comparisons):
        try:
            scores |= _sacrebleu_scores(comparisons)
        except InputError as error:
            missing = str(error)
    else:
        scores = {name: found for name, found in scores.items() if name in LENGTHS}
        missing = "no reference answers: ROUGE, BLEU and chrF are left out"
    made = [by_difference(name, found) for name, found in scores.items()]
    if with_fitted:
        made += [with_fitted_tau(each, comparisons) for each in made]
    return made, missing


def baselines(comparisons: Sequence[Comparison]) -> list[MetricVerdicts]:
    """What is right without reading: constants, the longer or the shorter answer in characters, an even draw."""
    longer = np.array([_sign(len(each.a) - len(each.b)) for each in comparisons])
    shorter = np.where(longer < 2, 1 - longer, longer)
    constants = [
        MetricVerdicts(f"always_{verdict}", np.full(len(comparisons), code)) for code, verdict in enumerate(VERDICTS)
    ]
    return [
        *constants,
        MetricVerdicts("longer", longer),
        MetricVerdicts("shorter", shorter),
        MetricVerdicts("random", np.full(len(comparisons), FAILED), drawn_evenly=True),
    ]


def by_difference(name: str, scores: NDArray[np.float64], tau: float = 0.0) -> MetricVerdicts:
    """The higher of two scores is better; up to `tau` apart they are the same."""
    away = scores[:, 0] - scores[:, 1]
    return MetricVerdicts(name, _codes(away, np.full(len(away), tau)), scores, (tau, tau))


def with_fitted_tau(metric: MetricVerdicts, comparisons: Sequence[Comparison]) -> MetricVerdicts:
    """Each comparison by the tau that is most often right on all other questions; of equals the smallest.

    The threshold is that of Deutsch, Foster and Freitag (2023), "Ties Matter", EMNLP, section 5, here fitted leaving
    out the question's own comparisons. With one question there are no others, and tau stays 0."""
    assert metric.scores is not None
    away = metric.scores[:, 0] - metric.scores[:, 1]
    size, labels = np.abs(away), labels_of(comparisons)
    candidates = np.unique(np.concatenate([[0.0], size]))
    tied, level = labels == 2, np.where(away > 0, 0, 1) == labels
    # What each comparison adds to the number of right ones at each candidate.
    _, clusters = np.unique([each.cluster for each in comparisons], return_inverse=True)
    if len(set(clusters.tolist())) < 2:
        return MetricVerdicts(f"{metric.name}_tau", metric.codes, metric.scores, (0.0, 0.0))
    total, own = np.zeros(len(candidates)), dict[int, NDArray[np.float64]]()
    for place, cluster in enumerate(clusters.tolist()):
        same = size[place] <= candidates
        right = np.where(same, tied[place], level[place]).astype(float)
        total += right
        own[cluster] = own.get(cluster, 0.0) + right
    best = {cluster: float(candidates[int(np.argmax(total - mine))]) for cluster, mine in own.items()}
    taus = np.array([best[cluster] for cluster in clusters.tolist()])
    return MetricVerdicts(
        f"{metric.name}_tau", _codes(away, taus), metric.scores, (float(taus.min()), float(taus.max()))
    )


def _codes(away: NDArray[np.float64], tau: NDArray[np.float64]) -> Codes:
    return np.where(np.abs(away) <= tau, 2, np.where(away > 0, 0, 1))


def _sign(away: float) -> int:
    return VERDICTS.index(better(away))


# What people or programs elsewhere say: a second annotator, BERTScore.


_GIVEN = "A row has id and verdict ('a', 'b' or 'same'), or id and the scores a and b, two numbers."


def metric_of_file(name: str, path: str | Path, comparisons: Sequence[Comparison]) -> MetricVerdicts:
    """Rows of `id` with a `verdict`, or with scores `a` and `b`; further keys are not used. A comparison without a row
    has no verdict (FAILED). Raises InputError that names the row and key."""
    places = {each.id: place for place, each in enumerate(comparisons)}
    said: dict[int, str | tuple[float, float]] = {}
    for where, row in rows_of(path):
        try:
            id_ = row.get("id")
            place = places.get(id_) if isinstance(id_, str) else None
            if place is None:
                raise LineError(f"no comparison has the id {shown(row.get('id'))}", _GIVEN)
            if place in said:
                raise LineError(f"a second row of the id {shown(row['id'])}", "Name another file for each annotator.")
            said[place] = _given(row)
        except LineError as error:
            raise at(where, error) from error
    if not said:
        raise InputError(f"{path}: holds no row", hint=_GIVEN, code="no_row")
    if len({isinstance(each, str) for each in said.values()}) > 1:
        raise InputError(f"{path}: some rows have a verdict, others scores", hint=_GIVEN, code="bad_row")
    codes = np.full(len(comparisons), FAILED)
    if all(isinstance(each, str) for each in said.values()):
        for place, verdict in said.items():
            codes[place] = [*VERDICTS].index(verdict)  # type: ignore[arg-type]
        return MetricVerdicts(name, codes)
    scores = np.full((len(comparisons), 2), np.nan)
    for place, pair in said.items():
        scores[place] = pair
        codes[place] = _sign(float(scores[place, 0] - scores[place, 1]))
    return MetricVerdicts(name, codes, scores, (0.0, 0.0))


def _given(row: dict[str, Any]) -> str | tuple[float, float]:
    if "verdict" in row:
        if row["verdict"] not in VERDICTS:
            raise LineError(f"'verdict' must be 'a', 'b' or 'same'; found {shown(row['verdict'])}")
        return str(row["verdict"])
    for key in ("a", "b"):
        if key not in row:
            raise LineError(f"the key '{key}' is missing", _GIVEN)
        value = row[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise LineError(f"'{key}' must be a number; found {shown(value)}")
    return float(row["a"]), float(row["b"])


Scores = dict[str, NDArray[np.float64]]


def _text_scores(comparisons: Sequence[Comparison]) -> Scores:
    rows: dict[str, list[tuple[float, float]]] = {}
    for each in comparisons:
        reference = rouge_tokens(each.reference)
        one, other = (_of_answer(reference, answer) for answer in (each.a, each.b))
        for name, value in one.items():
            rows.setdefault(name, []).append((value, other[name]))
    return {name: np.array(values, dtype=float) for name, values in rows.items()}


def _of_answer(reference: Sequence[str], answer: str) -> dict[str, float]:
    tokens = rouge_tokens(answer)
    found = {"length_chars": float(len(answer)), "length_tokens": float(len(tokens))}
    for name, rouge in (
        ("rouge1", rouge_n(reference, tokens, 1)),
        ("rouge2", rouge_n(reference, tokens, 2)),
        ("rougeL", rouge_l(reference, tokens)),
    ):
        found |= {f"{name}_f": rouge.f, f"{name}_r": rouge.recall, f"{name}_p": rouge.precision}
    return found


class _Sacre(NamedTuple):
    bleu: dict[str, Any]
    chrf: Any


def _sacrebleu_scores(comparisons: Sequence[Comparison]) -> Scores:
    """BLEU and chrF of each answer by itself, in percent. Raises InputError where sacrebleu is not installed."""
    sacre = _open_sacrebleu()

    def bleu(each: Comparison, answer: str) -> float:
        tokenizer = "zh" if each.language == "zh" else "13a"
        return float(sacre.bleu[tokenizer].sentence_score(answer, [each.reference]).score)

    def chrf(each: Comparison, answer: str) -> float:
        return float(sacre.chrf.sentence_score(answer, [each.reference]).score)

    scorers: dict[str, Callable[[Comparison, str], float]] = {"bleu": bleu, "chrf": chrf}
    return {
        name: np.array([[score(each, each.a), score(each, each.b)] for each in comparisons], dtype=float)
        for name, score in scorers.items()
    }


def _open_sacrebleu() -> _Sacre:
    try:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
    except ImportError:
        raise InputError(
            "BLEU and chrF need the package sacrebleu, which is not installed",
            hint=to_install("lfqa-e"),
            code="no_sacrebleu",
        ) from None
    # A short answer may have no 4-gram in common; BLEU then counts the orders that it has.
    return _Sacre({name: BLEU(tokenize=name, effective_order=True) for name in ("zh", "13a")}, CHRF())
