"""The audit: people look at published items drawn at random, and bounds say how many of all may be wrong."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from toolablate.benchmarks.rows.sources import typed_rows
from toolablate.experiments.construction.pipeline import Pipeline
from toolablate.experiments.construction.stages import Content, FullText
from toolablate.experiments.construction.workbench import content_digest
from toolablate.experiments.plans.lines import located
from toolablate.traces.errors import InputError
from toolablate.traces.records import digest_json


class AuditRow(BaseModel):
    """What one person says of one item: whether it is `right`, and where it is not, why. `seen` and `seed` are as
    `build audit` prints them."""

    model_config = ConfigDict(frozen=True)

    item: FullText
    seen: FullText
    seed: int = 0
    right: bool
    auditor: str = ""
    reason: str = ""


ALLOWED = {
    "item": "the item's id, as `build audit` prints it",
    "seen": "as `build audit` prints it",
    "seed": "as `build audit` prints it",
    "right": "true or false",
    "auditor": "a text in quotes",
    "reason": "a text in quotes",
}


@dataclass(frozen=True, slots=True)
class Audit:
    """Of `items` that were drawn, `wrong` are those of which anybody says so, `mended` of these whose text is published
    no more. `published` are all items that are published now: `ci95` bounds the share of them that is wrong,
    `at_most` is its upper bound alone, both at 95 % by `bounds`, and None where nothing is audited or published.
    `not_counted` has, under each reason, the numbers of the rows that say nothing of the draw."""

    items: int
    wrong: int
    mended: int
    published: int
    ci95: tuple[float, float] | None
    at_most: float | None
    not_counted: Mapping[str, Sequence[int]]


def drawn(contents: Mapping[str, Content], number: int, seed: int) -> list[str]:
    """So many items, or all, in the order in which they are drawn: a larger number has the same first ones."""
    return _in_order(contents, seed)[:number]


def _in_order(items: Iterable[str], seed: int) -> list[str]:
    """Of each two items the same one is first whatever the others are."""
    return sorted(items, key=lambda item: digest_json(["audit", seed, item]))


def audit_of(path: str, contents: Mapping[str, Content], earlier: Mapping[str, Collection[str]]) -> Audit:
    """Of what is published, `contents`; `earlier` has the digests of each item's texts that ever were. A finding stays
    one of the draw when it was acted on: what it says of the items that nobody looked at is still so. A row
    counts where everything has one that its seed draws before it: what was picked by hand says nothing of the others.
    Raises InputError that names the file, the row, the key."""
    seen = {item: content_digest(content) for item, content in contents.items()}
    wrong: dict[str, bool] = {}
    still: set[str] = set()
    not_counted: defaultdict[str, list[int]] = defaultdict(list)
    rows = [*typed_rows(path, AuditRow, ALLOWED)]
    looked_at = {row.item for _, row in rows if row.seen in _texts(row, seen, earlier)}
    sample = {
        item
        for seed in {row.seed for _, row in rows}
        for item in takewhile(looked_at.__contains__, _in_order(seen.keys() | looked_at, seed))
    }
    for place, row in rows:
        if why := _not_counted(row, seen, earlier) or ("" if row.item in sample else _PICKED):
            not_counted[why].append(place.number)
            continue
        wrong[row.item] = wrong.get(row.item, False) or not row.right
        if not row.right and row.seen == seen.get(row.item):
            still.add(row.item)
    found = sum(wrong.values())
    unseen = len(seen.keys() - wrong.keys())
    ci95, at_most = bounds(found, len(wrong), unseen, len(still), len(seen)) if wrong and seen else (None, None)
    return Audit(len(wrong), found, found - len(still), len(seen), ci95, at_most, dict(not_counted))


_PICKED = "an item that is drawn before it has none: look at all that `build audit` draws, or at the first ones"


def _texts(row: AuditRow, seen: Mapping[str, str], earlier: Mapping[str, Collection[str]]) -> set[str]:
    """Digests of all that were ever published of the row's item."""
    return {*earlier.get(row.item, ()), *([seen[row.item]] if row.item in seen else [])}


def _not_counted(row: AuditRow, seen: Mapping[str, str], earlier: Mapping[str, Collection[str]]) -> str:
    """Why a row says nothing of the draw; "" where it does."""
    known = _texts(row, seen, earlier)
    if not known:
        shortened = any(item.startswith(row.item.rstrip(".")) for item in (*seen, *earlier))
        return "`item` is not the whole id" if shortened else "`item` is none that was published"
    if row.seen not in known:
        shortened = any(each.startswith(row.seen.rstrip(".")) for each in known)
        return "`seen` is not whole" if shortened else "`seen` is of no text that was published"
    if row.right and row.seen != seen.get(row.item):
        # It was not changed for the audit's sake: what else changed is not known.
        return "it was right, and is another text or none by now (where these are many, draw anew)"
    return ""


def audit_in(
    pipeline: Pipeline, contents: Mapping[str, Content], earlier: Mapping[str, Collection[str]]
) -> Audit | None:
    """Of the file that `[card] audit` names, None where it names none. Raises InputError, also where it is missing."""
    path = pipeline.card.audit
    if not path:
        return None
    if not Path(path).is_file():
        hint = "`toolablate build audit` draws what people write it on; leave the key out until it is there"
        error = InputError(f"card.audit: there is no file {path}", hint=hint, code="bad_plan")
        error.key = "audit"
        raise located(error, pipeline.file, "card", 0)
    return audit_of(path, contents, earlier)


def bounds(wrong: int, items: int, unseen: int, still: int, published: int) -> tuple[tuple[float, float], float]:
    """Of `published` items, the share that is wrong: two-sided, and the upper bound alone, at 95 %.

    `items` were drawn without replacement out of themselves and `unseen` others, and `wrong` found, of which `still`
    are published as they were. How many of the others are wrong has the exact bounds of a hypergeometric count: all
    numbers M that a test does not reject, P(X <= wrong) > a and P(X >= wrong) > a for X of `items` draws out of
    `items` + `unseen` with `wrong` + M wrong ones (Buonaccorsi 1987, The American Statistician 41:215). They are those
    of Clopper and Pearson where `unseen` is large, and narrower where much of all was looked at."""
    from scipy.stats import hypergeom

    numbers, drawn_from = range(unseen + 1), items + unseen

    def most(level: float) -> int:
        return bisect_left(numbers, True, key=lambda m: hypergeom.cdf(wrong, drawn_from, wrong + m, items) <= level) - 1

    fewest = bisect_left(numbers, True, key=lambda m: hypergeom.sf(wrong - 1, drawn_from, wrong + m, items) > 0.025)
    low, high, at_most = ((still + each) / published for each in (fewest, most(0.025), most(0.05)))
    return (low, high), at_most


ROWS_NAMED = 10


def audit_told(audit: Audit) -> Sequence[str]:
    """Sentences; none where nothing was audited."""
    from toolablate.reports.numbers import counted

    told = []
    if audit.ci95 is not None and audit.at_most is not None:
        low, high = (f"{100 * each:.1f}" for each in audit.ci95)
        mended = f", {audit.mended} of them mended or taken out since" if audit.mended else ""
        told.append(
            f"Audit: {audit.wrong} of {audit.items} items drawn were not right{mended}; of all {audit.published} that"
            f" are published {low} to {high} % are not (95 %; one-sided at most {100 * audit.at_most:.1f} %)"
        )
    for why, rows in audit.not_counted.items():
        told.append(f"Audit: {counted(len(rows), 'row')} not counted, {why}: {rows_named(rows)}")
    return told


def rows_named(rows: Sequence[int]) -> str:
    named = ", ".join(map(str, rows[:ROWS_NAMED])) + (", ..." if len(rows) > ROWS_NAMED else "")
    return f"{'row' if len(rows) == 1 else 'rows'} {named}"
