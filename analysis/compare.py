"""Conditions against a baseline, paired over questions."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from toolablate.analysis.comparison import Comparison
from toolablate.analysis.effect import arms_effect
from toolablate.analysis.noise import Harmed, chance, harmed, right
from toolablate.analysis.pairing import Pair, direction, mean, pairs, scored_in_both, unit
from toolablate.analysis.sides import Side, side
from toolablate.analysis.statistics import benjamini_hochberg, holm
from toolablate.traces.errors import InputError
from toolablate.traces.store import Observation

GroupBy = Literal["domain", "difficulty", "language", "kind"]


def compare(
    observations: Iterable[Observation],
    baseline: str,
    *,
    by: GroupBy | Sequence[GroupBy] = (),
    seed: int = 0,
    order: Sequence[str] = (),
    harm: bool = True,
) -> list[Comparison]:
    """One row per model and condition other than the baseline; with `by`, one more for each group of questions after
    it: each domain, difficulty, language or kind of answer. Of several, one grouping follows the other.

    Rows come by model name, then by condition: those named in `order` first, the others by name. P-values are corrected
    over all rows. The result depends on the observations and the seed alone, not on their order. Raises InputError
    where no trial of the baseline ended. Without `harm` whom a condition harms is left unknown, which is quicker.
    """
    groupings, found = _groupings(by), pairs(observations, baseline, order)
    return _corrected([row for pair in found for row in _rows(pair, groupings, seed, harm=harm)])


Test = tuple[str, str, tuple[str, ...]]
"""What makes two rows the same comparison: model, condition and questions."""


def _groupings(by: GroupBy | Sequence[GroupBy]) -> list[GroupBy]:
    found: list[GroupBy] = list(dict.fromkeys([by] if isinstance(by, str) else by))
    for name in found:
        if name not in get_args(GroupBy):
            raise InputError(
                f"Questions cannot be grouped by {name!r}",
                hint=f"One of: {', '.join(get_args(GroupBy))}.",
                code="unknown_group",
            )
    return found


def _rows(pair: Pair, groupings: Sequence[GroupBy], seed: int, *, harm: bool) -> list[tuple[Test, Comparison]]:
    rows = [_row(pair, seed, harm=harm)]
    for by in groupings:
        labels = {_label(trials, by) for arm in (pair.before, pair.after) for trials in arm.values()}
        for label in sorted(labels):
            # Groups are small, and bounds from them wide.
            rows.append(_row(_within(pair, by, label), seed, by, label, harm=False))
    return rows


def _label(trials: list[Observation], by: GroupBy) -> str:
    label: str = getattr(trials[0], by)
    return label


def _within(pair: Pair, by: GroupBy, label: str) -> Pair:
    """The same pair over the questions of one group."""
    before, after = (
        {question: trials for question, trials in arm.items() if _label(trials, by) == label}
        for arm in (pair.before, pair.after)
    )
    return replace(
        pair,
        before=before,
        after=after,
        scored_before={question: values for question, values in pair.scored_before.items() if question in before},
        scored_after={question: values for question, values in pair.scored_after.items() if question in after},
    )


def _row(
    pair: Pair, seed: int, by: GroupBy | None = None, group: str | None = None, *, harm: bool
) -> tuple[Test, Comparison]:
    before, after = pair.before, pair.after
    counted = scored_in_both(pair.scored_before, pair.scored_after)
    units = [unit(after[question][0]) for question in counted]
    found = arms_effect(pair.scored_before, pair.scored_after, counted, units, seed=seed)
    old, new = ([arm[question] for question in counted] for arm in (pair.scored_before, pair.scored_after))
    ways = [direction(mean(one), mean(other)) for one, other in zip(old, new, strict=True)]
    both = right(old), right(new)
    trials = [trial for arm in (before, after) for repeats in arm.values() for trial in repeats]
    row = Comparison(
        model=pair.model,
        baseline=pair.baseline,
        condition=pair.condition,
        by=by,
        group=group,
        simulated=any(trial.simulated for trial in trials),
        **_fields(found),
        uneven_questions=sum(len(one) != len(other) for one, other in zip(old, new, strict=True)),
        p_holm=None,
        p_bh=None,
        comparisons=0,
        graded=any(score not in (0, 1) for scores in (*old, *new) for score in scores),
        right_to_wrong=ways.count("right_to_wrong"),
        wrong_to_right=ways.count("wrong_to_right"),
        **_fields(chance(*both)),
        **_fields(harmed(*both, units, seed=seed) if harm else Harmed(None, None, 0)),
        repeats=max((len(repeats) for arm in (before, after) for repeats in arm.values()), default=0),
        excluded_questions=len(before.keys() | after.keys()) - len(counted),
        **_sides(side(before, counted), side(after, counted)),
    )
    return (pair.model, pair.condition, tuple(counted)), row


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def _sides(before: Side, after: Side) -> dict[str, Any]:
    return {f"baseline_{name}": value for name, value in _fields(before).items()} | _fields(after)


def _corrected(rows: list[tuple[Test, Comparison]]) -> list[Comparison]:
    p_values = {test: row.p_value for test, row in rows if row.p_value is not None}
    each = list(p_values.values())
    corrected = dict(zip(p_values, zip(holm(each), benjamini_hochberg(each), strict=True), strict=True))
    found = []
    for test, row in rows:
        p_holm, p_bh = corrected.get(test, (None, None))
        found.append(replace(row, p_holm=p_holm, p_bh=p_bh, comparisons=len(corrected)))
    return found
