"""The audit: people look at published items drawn at random, and bounds say how many of all may be wrong."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from toolablate.benchmarks.rows.sources import typed_rows
from toolablate.experiments.construction.pipeline import Pipeline
from toolablate.experiments.construction.stages import Content, FullText
from toolablate.experiments.construction.workbench import content_digest
from toolablate.experiments.plans.lines import located
from toolablate.traces.errors import InputError


class AuditRow(BaseModel):
    """What one person says of one item: whether it is `right`, and where it is not, why. `seen` is as `build audit`
    prints it."""

    model_config = ConfigDict(frozen=True)

    item: FullText
    seen: FullText
    right: bool
    auditor: str = ""
    reason: str = ""


ALLOWED = {
    "item": "the item's id, as `build audit` prints it",
    "seen": "as `build audit` prints it",
    "right": "true or false",
    "auditor": "a text in quotes",
    "reason": "a text in quotes",
}


@dataclass(frozen=True, slots=True)
class Audit:
    """Of `items` audited `wrong` are: those of which anybody says so. `ci95` bounds the share of all published items
    that are, two-sided by Clopper and Pearson (1934); `at_most` is its upper bound alone, at 95 %. `not_counted` has,
    under each reason, the numbers of the rows that say nothing of what is published. Bounds hold for items drawn at
    random."""

    items: int
    wrong: int
    ci95: tuple[float, float] | None
    at_most: float | None
    not_counted: Mapping[str, Sequence[int]]


def drawn(contents: Mapping[str, Content], number: int, seed: int) -> list[str]:
    """So many items, or all, in the order in which they are drawn: a larger number has the same first ones."""
    items = sorted(contents)
    random.Random(f"audit {seed}").shuffle(items)  # noqa: S311 - a sample, not a secret
    return items[:number]


def audit_of(path: str, contents: Mapping[str, Content]) -> Audit:
    """Raises InputError that names the file, the row, the key."""
    seen = {item: content_digest(content) for item, content in contents.items()}
    right: dict[str, bool] = {}
    not_counted: defaultdict[str, list[int]] = defaultdict(list)
    for place, row in typed_rows(path, AuditRow, ALLOWED):
        if why := _not_counted(row, seen):
            not_counted[why].append(place.number)
        else:
            right[row.item] = right.get(row.item, True) and row.right
    wrong = sum(not each for each in right.values())
    ci95, at_most = bounds(wrong, len(right)) if right else (None, None)
    return Audit(len(right), wrong, ci95, at_most, dict(not_counted))


def _not_counted(row: AuditRow, seen: Mapping[str, str]) -> str:
    """Why a row says nothing of what is published; "" where it does."""
    if row.item not in seen:
        shortened = any(item.startswith(row.item.rstrip(".")) for item in seen)
        return "`item` is not the whole id" if shortened else "`item` is none that is published"
    if row.seen == seen[row.item]:
        return ""
    shortened = seen[row.item].startswith(row.seen.rstrip("."))
    return "`seen` is not whole" if shortened else "`seen` is of another text than is published now"


def audit_in(pipeline: Pipeline, contents: Mapping[str, Content]) -> Audit | None:
    """Of the file that `[card] audit` names, None where it names none. Raises InputError, also where it is missing."""
    path = pipeline.card.audit
    if not path:
        return None
    if not Path(path).is_file():
        hint = "`toolablate build audit` draws what people write it on; leave the key out until it is there"
        error = InputError(f"card.audit: there is no file {path}", hint=hint, code="bad_plan")
        error.key = "audit"
        raise located(error, pipeline.file, "card", 0)
    return audit_of(path, contents)


def bounds(wrong: int, items: int) -> tuple[tuple[float, float], float]:
    from scipy.stats import binomtest

    found = binomtest(wrong, items)
    both = found.proportion_ci(0.95, "exact")
    above = binomtest(wrong, items, alternative="less").proportion_ci(0.95, "exact").high
    return (float(both.low), float(both.high)), float(above)


ROWS_NAMED = 10


def audit_told(audit: Audit) -> Sequence[str]:
    """Sentences; none where nothing was audited."""
    from toolablate.reports.numbers import counted

    told = []
    if audit.ci95 is not None and audit.at_most is not None:
        low, high = (f"{100 * each:.1f}" for each in audit.ci95)
        told.append(
            f"Audit: {audit.wrong} of {audit.items} items are not right (95 % interval {low} to {high} % of all,"
            f" one-sided at most {100 * audit.at_most:.1f} %)"
        )
    for why, rows in audit.not_counted.items():
        named = ", ".join(map(str, rows[:ROWS_NAMED])) + (", ..." if len(rows) > ROWS_NAMED else "")
        told.append(
            f"Audit: {counted(len(rows), 'row')} not counted, {why}: {'row' if len(rows) == 1 else 'rows'} {named}"
        )
    return told
