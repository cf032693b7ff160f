"""The published algorithm in plain loops, written from its description and without our code: what ours is held to."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

Row = dict[str, Any]
DIRECTIONS = ("model_contains_reference", "reference_contains_model")
YES = ("Yes", "yes", "YES.", " Yes\n", "**Yes**", "Yes, it does.", "Correct: Yes", '"Yes"')
NO = ("No", "no", "NO.", " No\n", "**No**", "No, one is missing.", "Correct: No", '"No"')


def made(rng: random.Random, *, samples: int, items: int, na: float, judges: Sequence[str], varying: bool) -> list[Row]:
    """Rows of checklists of which a share `na` of texts is "N/A"; where `varying`, samples have some of the items."""
    rows = []
    for sample in range(samples):
        names = [f"Item {number}" for number in range(items)]
        if varying:
            names = sorted(rng.sample(names, rng.randint(1, items)))
        for name in names:
            texts = ["N/A" if rng.random() < na else f"text {rng.random():.3f}" for _ in range(2)]
            replies = {
                judge: {direction: rng.choice(rng.choice((YES, NO))) for direction in DIRECTIONS} for judge in judges
            }
            rows.append(
                {"sample": f"T-{sample}", "item": name, "reference": texts[0], "mapped": texts[1], "replies": replies}
            )
    return rows


def marks(row: Row, judge: str) -> tuple[float, float]:
    """Precision and recall of one item."""
    if row["reference"] == "N/A" or row["mapped"] == "N/A":
        same = 1.0 if row["reference"] == row["mapped"] else 0.0
        return same, same
    recall, precision = ("yes" in row["replies"][judge][direction].lower() for direction in DIRECTIONS)
    return float(precision), float(recall)


def mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known)


def published(rows: Sequence[Row], judges: Sequence[str]) -> dict[str, Any]:
    """Of each judge the samples' means, their mean over judges, and that over samples."""
    samples = list(dict.fromkeys(row["sample"] for row in rows))
    items = list(dict.fromkeys(row["item"] for row in rows))
    measures = {
        "precision": lambda p, r: p,
        "recall": lambda p, r: r,
        "accuracy": lambda p, r: p * r,
        "ternary": lambda p, r: (p + r) / 2,
    }
    found: dict[str, Any] = {name: {"by_item": {}} for name in measures}
    by_sample: dict[str, dict[str, float]] = {sample: {} for sample in samples}
    for name, of in measures.items():
        for item in items:
            own = [row for row in rows if row["item"] == item]
            found[name]["by_item"][item] = mean(mean(of(*marks(row, judge)) for judge in judges) for row in own)
        for sample in samples:
            own = [row for row in rows if row["sample"] == sample]
            by_sample[sample][name] = mean(mean(of(*marks(row, judge)) for row in own) for judge in judges)
        found[name]["overall"] = mean(by_sample[sample][name] for sample in samples)
    for sample in samples:
        own, f1 = [row for row in rows if row["sample"] == sample], []
        for judge in judges:
            p, r = mean(marks(row, judge)[0] for row in own), mean(marks(row, judge)[1] for row in own)
            f1.append(2 * p * r / (p + r + 1e-10))
        by_sample[sample]["f1"] = mean(f1)
    found["f1"] = mean(by_sample[sample]["f1"] for sample in samples)
    found["by_sample"] = by_sample
    if len(judges) == 2:
        said = {name: [[of(*marks(row, judge)) for judge in judges] for row in rows] for name, of in measures.items()}
        found["kappa"] = {name: kappa(said[name]) for name in ("accuracy", "ternary")}
        found["agreement"] = {name: mean(one == two for one, two in said[name]) for name in ("accuracy", "ternary")}
    return found


def kappa(pairs: Sequence[Sequence[float]]) -> float | None:
    observed = mean(one == two for one, two in pairs)
    first, second = Counter(one for one, _ in pairs), Counter(two for _, two in pairs)
    expected = sum(first[kind] * second[kind] for kind in first) / len(pairs) ** 2
    return None if expected == 1 else (observed - expected) / (1 - expected)
