"""What effects a plan could show, before it is run: what `power` prints."""

import math
from dataclasses import dataclass
from pathlib import Path

from toolablate.analysis.arms import Contrast, ladders
from toolablate.analysis.from_store import Paired, paired
from toolablate.analysis.power import (
    BETWEEN,
    WITHIN,
    Aim,
    PairedDesign,
    PowerTable,
    assumed_variances,
    measured_variances,
    paired_design,
    power_table,
)
from toolablate.experiments.plans.plan import Plan, design
from toolablate.traces.errors import InputError
from toolablate.traces.store import Store

LEAST_POINTS = 0.01


@dataclass(frozen=True, slots=True)
class Assumed:
    """Variances as a command line gives them; None stands for the usual ones."""

    between: float | None = None
    within: float | None = None


def plan_power(plan: Plan, aim: Aim, *, assumed: Assumed = Assumed(), earlier: Path | None = None) -> PowerTable:
    """Reads the plan's questions and, where given, the store of an earlier run; runs nothing and needs no key.

    Raises InputError for figures that are out of range, a plan without two conditions, and a store that tells nothing;
    StoreError.
    """
    _check(aim, assumed)
    planned = plan_design(plan)
    if earlier is None:
        given = assumed_variances(
            planned,
            BETWEEN if assumed.between is None else assumed.between,
            WITHIN if assumed.within is None else assumed.within,
        )
        return power_table(planned, aim, [given])
    if assumed != Assumed():
        raise InputError("--from goes with neither --between nor --within, which it estimates", code="usage")
    trials, contrasts = _earlier(earlier)
    found, left_out = measured_variances(trials.summaries, trials.baseline, trials.order, contrasts=contrasts)
    if not found:
        raise InputError(
            f"--from: {earlier} has no condition with two independent questions that are scored under it and"
            f" under {trials.baseline!r}",
            hint="run more of it, or leave --from out for usual variances",
            code="too_few_questions",
        )
    return power_table(planned, aim, found, left_out)


def plan_design(plan: Plan) -> PairedDesign:
    """Raises InputError where there is nothing to compare or nothing to ask."""
    # What is needed of the trials is their number, which repeats multiply.
    found = design(plan.model_copy(update={"repeats": 1}))
    comparisons = (len(found.conditions) - 1) * len(found.models)
    if not comparisons:
        raise InputError(
            f"conditions: found one, {found.conditions[0].name!r}; a comparison needs two", code="nothing_to_compare"
        )
    return paired_design([question.cluster for question in found.questions], plan.repeats, comparisons)


def _earlier(path: Path) -> tuple[Paired, list[Contrast]]:
    """The trials of a store's latest run, and the contrasts of its ladders, each once; one that starts at the baseline
    is a comparison already."""
    with Store(path) as store, store.at_one_moment():
        trials = paired(store)
        found = ladders(store.conditions_of(trials.summaries))
    contrasts = {(contrast.before, contrast.after): contrast for ladder in found for contrast in ladder.contrasts}
    return trials, [contrast for contrast in contrasts.values() if contrast.before != trials.baseline]


def _check(aim: Aim, assumed: Assumed) -> None:
    _require("--alpha", aim.alpha, 0 < aim.alpha < 1, "between 0 and 1")
    _require("--power", aim.power, aim.alpha < aim.power < 1, f"between --alpha ({aim.alpha:g}) and 1")
    if aim.effect_points is not None:
        _require("--effect", aim.effect_points, LEAST_POINTS <= aim.effect_points <= 100, "from 0.01 to 100 points")
    if assumed.between is not None:
        _require("--between", assumed.between, 0 <= assumed.between <= 1, "from 0 to 1")
    if assumed.within is not None:
        _require("--within", assumed.within, 0 <= assumed.within <= 0.25, "from 0 to 0.25")
    if (assumed.between, assumed.within) == (0, 0):
        raise InputError("--between and --within: found 0 for both; one must be above 0", code="out_of_range")


def _require(option: str, value: float, fits: bool, allowed: str) -> None:
    if not fits or not math.isfinite(value):
        raise InputError(f"{option}: found {value:g}; allowed is {allowed}", code="out_of_range")
