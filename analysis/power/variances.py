from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from toolablate.analysis.ladder import Rung
from toolablate.analysis.pairing import Arm, Pair, pairs, scored_in_both, unit
from toolablate.analysis.power.records import Interval, PairedDesign, Variances
from toolablate.analysis.statistics import Resampled, resampled_components, variance_components
from toolablate.analysis.statistics.numerals import Floats
from toolablate.traces.store import Observation

BETWEEN = 0.02
WITHIN = 0.075


@dataclass(frozen=True, slots=True)
class Estimate:
    """Variances, and what they would have been had other questions been asked; None where they are assumed."""

    variances: Variances
    resampled: Resampled | None


def assumed_variances(design: PairedDesign, between: float = BETWEEN, within: float = WITHIN) -> Estimate:
    """`between` is of questions that stand alone; where they share clusters, the worst is assumed: that all questions
    of one cluster have the same true difference."""
    clustered = between * design.design_effect
    return Estimate(Variances("", "", "", "", None, False, clustered, within, clustered, within, None, None), None)


def measured_variances(
    observations: Iterable[Observation],
    baseline: str,
    order: Sequence[str] = (),
    *,
    rungs: Sequence[Rung] = (),
    seed: int = 0,
) -> tuple[list[Estimate], list[str]]:
    """Of each model and condition of an earlier run, in the order of `compare`, then of each model and rung; and the
    names of those that have fewer than two independent questions. Raises InputError where no trial of the baseline
    ended."""
    seen = list(observations)
    found: list[Estimate] = []
    left_out: list[str] = []
    compared = [(pair, "") for pair in pairs(seen, baseline, order)]
    for rung in rungs:
        of_rung = [each for each in seen if each.condition in (rung.before, rung.after)]
        compared += [(pair, rung.name) for pair in pairs(of_rung, rung.before)]
    for pair, name in compared:
        estimate = _measured(pair, name, seed)
        if estimate is None:
            left_out.append(f"{pair.model} {name or pair.condition}")
        else:
            found.append(estimate)
    return found, left_out


def _measured(pair: Pair, rung: str, seed: int) -> Estimate | None:
    shared = scored_in_both(pair.scored_before, pair.scored_after)
    before, after = ([arm[question] for question in shared] for arm in (pair.scored_before, pair.scored_after))
    units = [unit(pair.after[question][0]) for question in shared]
    found = variance_components(before, after, units)
    if found is None:
        return None
    resampled = resampled_components(before, after, units, seed=seed)
    if found.within_before is None or found.within_after is None or found.clustered is None:
        # One trial each: twice the variance within, and that between, add up to what was seen.
        parts = found.total, 0.0, 0.0, found.total / 2
    else:
        within = (found.within_before + found.within_after) / 2
        parts = found.clustered, within, found.clustered, within
    variances = Variances(
        pair.model,
        pair.baseline,
        pair.condition,
        rung,
        found,
        _simulated(pair.before) or _simulated(pair.after),
        *parts,
        between_ci95=_interval(resampled.clustered),
        within_ci95=_interval(resampled.within),
    )
    return Estimate(variances, resampled)


def _simulated(arm: Arm) -> bool:
    return any(seen.simulated for trials in arm.values() for seen in trials)


def _interval(found: Floats | None) -> Interval | None:
    if found is None:
        return None
    low, high = np.nanquantile(found, [0.025, 0.975])
    return float(low), float(high)
