"""Conditions against a baseline, paired over questions."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

from toolablate.analysis.effect import arms_effect
from toolablate.analysis.flips import Harmed, chance, harmed, right
from toolablate.analysis.misses import CutInputs, MissDifference, MissRate, RefusedCalls
from toolablate.analysis.pairing import Arm, Pair, Side, direction, mean, mean_scores, pairs, scored_in_both, side, unit
from toolablate.analysis.spreadsheets import csv_text, ends
from toolablate.analysis.statistics.harm import Harm, SelectedEffects
from toolablate.analysis.statistics.p_values import benjamini_hochberg, holm
from toolablate.traces.errors import InputError
from toolablate.traces.store import TrialSummary


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition against its baseline, for one model, paired over questions.

    questions           questions that count: those with a scored trial on both sides; all figures below but the
                        counts of trials rest on these alone
    clusters            independent units that intervals and p-values rest on: questions that share a cluster are one,
                        so there are as many as questions where none do
    differing           of these, how many have another score under the condition
    small               clusters worth fewer equal ones than FEW_CLUSTERS, or fewer differing than FEW_DIFFERING (see
                        `effect`), so that the intervals may cover the truth less often than they say
    baseline_score,     percent: the mean over questions of each question's mean over its repeats
      score
    delta_points        score - baseline_score, in percentage points
    ci95                95 % interval of delta_points; None where the data cannot tell (fewer than two independent
                        questions, or no question differs from another)
    delta_relative      delta_points in percent of baseline_score; None where that is 0
    delta_relative_ci95 its 95 % interval, in percent; None also where so few questions have a baseline score above 0
                        that resampled ones might all have 0
    p_value             two-sided sign-flip test of delta = 0, over as many repeats of one side as of the other
    uneven_questions    those that have more repeats on one side, of which the last do not count for p_value
    p_holm, p_bh        the same, corrected over all rows of one `compare`: by Holm (any false finding among them), by
                        Benjamini and Hochberg (the share of false ones among the findings)
    comparisons         how many these are corrected for; rows over the same questions (a group that is all of them)
                        count once
    detectable_points   the true difference that a two-sided test at level .05 (not corrected) finds with probability
                        80 %, given how much the differences vary: (1.96 + 0.84) times the standard error of
                        delta_points over clusters; None where that is 0 or unknown, more than 100, or where so few
                        clusters can have no p_value below .05
    graded              some score is neither 0 nor 1. What follows knows only right and wrong: right is a score of at
                        least 0.5, so that a drop from .95 to .55 is none
    right_to_wrong,     questions whose correctness differs, by the mean score over their repeats
      wrong_to_right
    flips_..., noise_.. the same between single runs, and what chance alone gives: see `Chance`. With one repeat the
                        flips are the counts above and the noise is unknown
    harm                shares of trials, in [0, 1], that are harmed and helped, within bounds; None for groups, where
                        it was not asked for, and where no question has two scored repeats on both sides
    question_effects    what half of the repeats says of the questions that look harmed or helped in the other half, as
                        differences of scores in [-1, 1]; None where `harm` is
    harm_questions      how many questions these two rest on
    trials              trials that ended; of these `failed` by infrastructure (out of all figures), `unscored` (out of
                        all figures) and `unparsed` (no answer could be extracted: counted as 0 unless excluded)
    budget              trials that a limit ended: `limits` says how many ran into which, where that is known. They have
                        been asked for their answer, and are scored like any other
    tokens, cost_usd    mean per trial that counts and of which it is known; None where it is of none, never 0 for
                        unknown
    unpriced            trials that count and whose cost is unknown

    `by` and `group` are None for all questions together; else `by` says what they are grouped by (`domain`,
    `difficulty`, `language`, `kind`, `metadata.KEY`, or several joined by commas) and `group` which of these it is
    (empty where questions do not say).
    `simulated`: a simulated model, no measurement.
    """

    model: str
    baseline: str
    condition: str
    by: str | None
    group: str | None
    simulated: bool
    questions: int
    clusters: int
    differing: int
    small: bool
    excluded_questions: int
    baseline_score: float | None
    score: float | None
    delta_points: float | None
    ci95: tuple[float, float] | None
    delta_relative: float | None
    delta_relative_ci95: tuple[float, float] | None
    p_value: float | None
    uneven_questions: int
    p_holm: float | None
    p_bh: float | None
    comparisons: int
    detectable_points: float | None
    graded: bool
    right_to_wrong: int
    wrong_to_right: int
    flips_right_to_wrong: float
    flips_wrong_to_right: float
    noise_flips: float | None
    noise_questions: int
    condition_noise_flips: float | None
    condition_noise_questions: int
    harm: Harm | None
    question_effects: SelectedEffects | None
    harm_questions: int
    repeats: int
    baseline_trials: int
    trials: int
    baseline_failed: int
    failed: int
    baseline_unscored: int
    unscored: int
    baseline_unparsed: int
    unparsed: int
    baseline_budget: int
    budget: int
    baseline_limits: dict[str, int]
    limits: dict[str, int]
    baseline_tokens: float | None
    tokens: float | None
    baseline_cost_usd: float | None
    cost_usd: float | None
    baseline_unpriced: int
    unpriced: int


def comparisons_json(
    comparisons: Iterable[Comparison],
    rates: Iterable[MissRate] = (),
    differences: Iterable[MissDifference] = (),
    refused: Iterable[RefusedCalls] = (),
    cuts: Iterable[CutInputs] = (),
    *,
    of_models: bool = False,
) -> str:
    """`{"comparisons": [...], "misses": {"rates": [...], "differences": [...]}, "refused_calls": [...],
    "cut_inputs": [...]}` with the fields of the records; what is unknown is null. Rows `of_models` have
    `condition`, `baseline_model` and `model` in place of `model`, `baseline` and `condition`."""
    content = {
        "comparisons": [_named(asdict(row), of_models=of_models) for row in comparisons],
        "misses": {"rates": [asdict(row) for row in rates], "differences": [asdict(row) for row in differences]},
        "refused_calls": [asdict(row) for row in refused],
        "cut_inputs": [asdict(row) for row in cuts],
    }
    return json.dumps(content, ensure_ascii=False, indent=2)


_OF_MODELS = {"model": "condition", "baseline": "baseline_model", "condition": "model"}


def _named(row: dict[str, Any], *, of_models: bool) -> dict[str, Any]:
    """The fields of a comparison of two models under names that say so."""
    return {_OF_MODELS.get(name, name): value for name, value in row.items()} if of_models else row


def comparisons_csv(comparisons: Sequence[Comparison], *, of_models: bool = False) -> str:
    """The same as CSV with a header, flat: an interval is two columns that end in `_low` and `_high`, bounds are
    `harmed_share_low` and so on, limits are one column of the form `turns:3 seconds:1`. What is unknown is empty."""
    columns = list(_named(_flat({}), of_models=of_models))
    return csv_text(columns, comparison_rows(comparisons, of_models=of_models))


def comparison_rows(comparisons: Sequence[Comparison], *, of_models: bool = False) -> list[dict[str, Any]]:
    """The rows of `comparisons_csv`, in which what is unknown is None."""
    return [_named(_flat(asdict(row)), of_models=of_models) for row in comparisons]


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its columns; of no row, the columns."""
    found: dict[str, Any] = {}
    for name in Comparison.__dataclass_fields__:
        found |= _columns(name, row.get(name))
    return found


def _columns(name: str, value: Any) -> dict[str, Any]:
    if name in ("ci95", "delta_relative_ci95"):
        return ends(name, value)
    if name == "harm":
        bounds = {f"{way}_share": (value or {}).get(way) or {} for way in ("harmed", "helped")}
        return {
            column: content
            for way, found in bounds.items()
            for column, content in (ends(way, (found.get("low"), found.get("high"))) | _ci(way, found)).items()
        }
    if name == "question_effects":
        return {
            column: content
            for way in ("harmed", "helped")
            for found in [(value or {}).get(way) or {}]
            for column, content in {
                f"looked_{way}_questions": found.get("questions"),
                f"looked_{way}_effect": found.get("effect"),
                **_ci(f"looked_{way}_effect", found),
            }.items()
        }
    if name in ("baseline_limits", "limits"):
        return {name: " ".join(f"{limit}:{count}" for limit, count in (value or {}).items())}
    return {name: value}


def _ci(name: str, found: Mapping[str, Any]) -> dict[str, Any]:
    return ends(f"{name}_ci95", found.get("ci95"))


# Conditions against a baseline, paired over questions.


GROUPINGS = ("domain", "difficulty", "language", "kind")
METADATA = "metadata."
_AND = " × "


def compare(
    summaries: Iterable[TrialSummary],
    baseline: str,
    *,
    by: str | Sequence[str] = (),
    seed: int = 0,
    order: Sequence[str] = (),
    harm: bool = True,
) -> list[Comparison]:
    """One row per model and condition other than the baseline; with `by`, one more for each group of questions after
    it: each domain, difficulty, language or kind of answer, or value of `metadata.KEY`; a question with several values
    is in several groups. Names joined by commas (`domain,kind`) are crossed: one group for each combination. Of
    several, one grouping follows the other.

    Rows come by model name, then by condition: those named in `order` first, the others by name. P-values are corrected
    over all rows. The result depends on the summaries and the seed alone, not on their order. Raises InputError where
    no trial of the baseline ended, and for a grouping that no question has. Without `harm` whom a condition harms is
    left unknown, which is quicker.
    """
    found = pairs(summaries, baseline, order)
    groupings = _groupings(by, found)
    return _corrected([row for pair in found for row in _rows(pair, groupings, seed, harm=harm)])


def compare_models(
    summaries: Iterable[TrialSummary],
    first: str,
    second: str,
    *,
    by: str | Sequence[str] = (),
    seed: int = 0,
    order: Sequence[str] = (),
    harm: bool = True,
) -> list[Comparison]:
    """Two models under each condition that both have, paired over questions as two conditions of one model are.

    In the rows `model` is the condition, `baseline` the first model and `condition` the second; `comparisons_json` and
    `comparisons_csv` name them so. P-values are corrected over all rows. Raises InputError as `compare` does, and where
    no condition has ended trials of both.
    """
    of_both = [
        replace(seen, model=seen.condition, condition=seen.model) for seen in summaries if seen.model in (first, second)
    ]
    rows = compare(of_both, first, by=by, seed=seed, harm=harm)
    places = {name: place for place, name in reversed(list(enumerate(order)))}
    rows = sorted((row for row in rows if row.baseline_trials), key=lambda row: places.get(row.model, len(places)))
    if not rows:
        raise InputError(
            f"No condition has ended trials of both {first!r} and {second!r}",
            hint="Run both models under one plan.",
            code="no_common_condition",
        )
    return rows


@dataclass(frozen=True, slots=True)
class Alone:
    """The score of one model under one condition, in percent, over all of its questions that have one; None where no
    trial has."""

    model: str
    condition: str
    simulated: bool
    questions: int
    score: float | None


def alone(summaries: Iterable[TrialSummary], condition: str) -> list[Alone]:
    """By model name: what there is to tell where nothing ran to compare a condition with."""
    arms: dict[str, Arm] = defaultdict(lambda: defaultdict(list))
    for seen in summaries:
        if seen.condition == condition:
            arms[seen.model][seen.question].append(seen)
    found = []
    for model, arm in sorted(arms.items()):
        scores = list(mean_scores(arm).values())
        simulated = any(trial.simulated for trials in arm.values() for trial in trials)
        found.append(Alone(model, condition, simulated, len(scores), 100 * mean(scores) if scores else None))
    return found


Test = tuple[str, str, tuple[str, ...]]
"""What makes two rows the same comparison: model, condition and questions."""


def _groupings(by: str | Sequence[str], found: Sequence[Pair]) -> list[str]:
    given = [by] if isinstance(by, str) else by
    names = list(dict.fromkeys(",".join(part.strip() for part in name.split(",")) for name in given))
    trials = [trials[0] for pair in found for arm in (pair.before, pair.after) for trials in arm.values() if trials]
    keys = sorted({key for trial in trials for key, _ in trial.metadata})
    for name in names:
        for part in name.split(","):
            if part not in GROUPINGS and not (part.startswith(METADATA) and part.removeprefix(METADATA) in keys):
                raise _unknown(part, keys)
    return names


def _unknown(name: str, keys: Sequence[str]) -> InputError:
    if name.startswith(METADATA):
        there_are = f"Their metadata has: {', '.join(keys)}." if keys else "Their metadata has nothing to group by."
    else:
        there_are = f"One of: {', '.join(GROUPINGS)}, {METADATA}KEY; several joined by commas are crossed."
    return InputError(f"Questions cannot be grouped by {name!r}", hint=there_are, code="unknown_group")


def _rows(pair: Pair, groupings: Sequence[str], seed: int, *, harm: bool) -> list[tuple[Test, Comparison]]:
    rows = [_row(pair, seed, harm=harm)]
    for by in groupings:
        labels = {
            label for arm in (pair.before, pair.after) for trials in arm.values() for label in _labels(trials, by)
        }
        for label in sorted(labels):
            # Groups are small, and bounds from them wide.
            rows.append(_row(_within(pair, by, label), seed, by, label, harm=False))
    return rows


def _labels(trials: list[TrialSummary], by: str) -> tuple[str, ...]:
    """The groups of a question: one, or several where its metadata has a list."""
    names = by.split(",")
    values = [_values(trials[0], name) for name in names]
    if len(names) == 1:
        return values[0]
    told = [[value or f"(no {name})" for value in each] for name, each in zip(names, values, strict=True)]
    return tuple(map(_AND.join, product(*told)))


def _values(trial: TrialSummary, name: str) -> tuple[str, ...]:
    if name.startswith(METADATA):
        return dict(trial.metadata).get(name.removeprefix(METADATA), ("",))
    label: str = getattr(trial, name)
    return (label,)


def _within(pair: Pair, by: str, label: str) -> Pair:
    """The same pair over the questions of one group."""
    before, after = (
        {question: trials for question, trials in arm.items() if label in _labels(trials, by)}
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
    pair: Pair, seed: int, by: str | None = None, group: str | None = None, *, harm: bool
) -> tuple[Test, Comparison]:
    before, after = pair.before, pair.after
    counted = scored_in_both(pair.scored_before, pair.scored_after)
    units = [unit(after[question][0]) for question in counted]
    found = arms_effect(pair.scored_before, pair.scored_after, counted, units, seed=seed)
    old, new = ([arm[question] for question in counted] for arm in (pair.scored_before, pair.scored_after))
    ways = [direction(mean(one), mean(other)) for one, other in zip(old, new, strict=True)]
    both = right(old), right(new)
    row = Comparison(
        model=pair.model,
        baseline=pair.baseline,
        condition=pair.condition,
        by=by,
        group=group,
        simulated=any(trial.simulated for arm in (before, after) for repeats in arm.values() for trial in repeats),
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
