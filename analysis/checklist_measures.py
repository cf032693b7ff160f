"""CLEAR's measures of one checklist: precision, recall, F1, accuracy, ternary, coverage, overfill.

Source: Ruan et al. (2025), "ExpertLongBench", arXiv 2506.01241, and its published evaluation.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from toolablate.traces.records import ItemScore

NaRule = Literal["published", "out", "recall"]
"""What becomes of items that the reference leaves "N/A".

published  they count: silence is right there (precision and recall 1), any text wrong
out        they leave every denominator
recall     as `out`, but those that the answer fills count against precision
"""
NA_RULES: tuple[NaRule, ...] = ("published", "out", "recall")

PER_ITEM = ("precision", "recall", "accuracy", "ternary")
MEASURES = ("precision", "recall", "f1", "accuracy", "ternary", "coverage", "overfill")


def item_values(item: ItemScore, na: NaRule) -> dict[str, float]:
    """Of one item the measures of PER_ITEM that it counts for."""
    if na == "published" or item.expected:
        precision, recall = float(item.precision), float(item.recall)
        both = {"accuracy": precision * recall, "ternary": (precision + recall) / 2}
        return {"precision": precision, "recall": recall, **both}
    return {"precision": 0.0} if na == "recall" and item.filled else {}


def sample_values(items: Sequence[ItemScore], na: NaRule) -> dict[str, float]:
    """The measures of one checklist, those left out that it has no items for; F1 is of the checklist's own precision
    and recall, 0 where both are 0. Coverage is the share filled of the items that the reference has, overfill that of
    the items that it leaves "N/A"."""
    found = [item_values(item, na) for item in items]
    means = {name: mean_of(each[name] for each in found if name in each) for name in PER_ITEM}
    precision, recall = means["precision"], means["recall"]
    if precision is not None and recall is not None:
        means["f1"] = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    else:
        # Precision of overfilled items alone would be that of a checklist without a recall.
        means["precision"] = None
    means["coverage"] = mean_of(float(item.filled) for item in items if item.expected)
    means["overfill"] = mean_of(float(item.filled) for item in items if not item.expected)
    return {name: value for name, value in means.items() if value is not None}


def silenced(items: Iterable[ItemScore]) -> tuple[ItemScore, ...]:
    """The checklist of an answer of which nothing can be mapped."""
    return tuple(
        ItemScore(item=each.item, expected=each.expected, precision=not each.expected, recall=not each.expected)
        for each in items
    )


def mean_of(values: Iterable[float]) -> float | None:
    known = list(values)
    return math.fsum(known) / len(known) if known else None
