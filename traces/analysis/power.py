"""What effects a design can see: from the variances of an earlier run, or from assumed ones."""

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass

from toolablate.traces.analysis.pairing import Arm, Pair, counts, pairs
from toolablate.traces.analysis.statistics import (
    Components,
    design_effect,
    detectable,
    paired_standard_error,
    questions_needed,
    repeats_needed,
    variance_components,
)
from toolablate.traces.store import Observation

BETWEEN = 0.02
WITHIN = 0.075
REPEATS = (1, 2, 3, 5, 8, 10)


@dataclass(frozen=True, slots=True)
class PairedDesign:
    """questions     that every condition asks
    clusters         independent units among them: questions that share a source are one
    design_effect    by how much clusters raise the variance of a mean, at worst
    repeats          of each question
    comparisons      conditions other than the baseline, times models
    """

    questions: int
    clusters: int
    design_effect: float
    repeats: int
    comparisons: int


@dataclass(frozen=True, slots=True)
class Aim:
    """With what probability `power` a two-sided test at level `alpha` is to find an effect; `effect_points`, where
    given, is the one that is to be found."""

    power: float = 0.8
    alpha: float = 0.05
    effect_points: float | None = None


@dataclass(frozen=True, slots=True)
class Variances:
    """What one comparison's paired differences vary by, in squared shares.

    model, baseline, condition   whose they are; empty where they are assumed
    measured                     what they were estimated from; None where they are assumed
    simulated                    the model is a stand-in, so they say nothing of a real one
    between                      over questions of the true difference, clusters counted in: times `design_effect`
    within                       of one trial's score around its question's mean, the mean of both conditions
    between_least, within_most   these are `between` and `within`, but where the earlier run has no repeats: there
                                 nothing parts them, and the truth is between all of the one and all of the other
    """

    model: str
    baseline: str
    condition: str
    measured: Components | None
    simulated: bool
    between: float
    within: float
    between_least: float
    within_most: float


@dataclass(frozen=True, slots=True)
class Detectable:
    """The smallest effects that a number of repeats can show, in percentage points; None where nothing varied.

    points, corrected_points         at level alpha; at alpha / comparisons, as in the first step of Holm's correction
    least_points,                    these are the same but where nothing parts the variances: there, what they would be
      corrected_least_points         if all variance were within questions
    questions, corrected_questions   how many questions the effect aimed at would take; None where none is aimed at
    """

    repeats: int
    points: float | None
    corrected_points: float | None
    least_points: float | None
    corrected_least_points: float | None
    questions: int | None
    corrected_questions: int | None


@dataclass(frozen=True, slots=True)
class Sight:
    """What one comparison can show at each number of repeats.

    repeats, corrected_repeats   how many repeats the effect aimed at would take on the design's questions; None where
                                 none is aimed at, or no number of repeats is enough
    """

    variances: Variances
    rows: tuple[Detectable, ...]
    repeats: int | None
    corrected_repeats: int | None


@dataclass(frozen=True, slots=True)
class PowerTable:
    """`left_out` names the comparisons of the earlier run with too few questions to say anything."""

    design: PairedDesign
    aim: Aim
    sights: tuple[Sight, ...]
    left_out: tuple[str, ...] = ()


def paired_design(clusters: Sequence[str], repeats: int, comparisons: int) -> PairedDesign:
    """`clusters` has that of each question, "" for one that stands alone."""
    units = _units(clusters)
    return PairedDesign(len(units), len(set(units)), design_effect(units), repeats, comparisons)


def assumed_variances(design: PairedDesign, between: float = BETWEEN, within: float = WITHIN) -> Variances:
    """`between` is of questions that stand alone; where they share clusters, the worst is assumed: that all questions
    of one cluster have the same true difference."""
    clustered = between * design.design_effect
    return Variances("", "", "", None, False, clustered, within, clustered, within)


def measured_variances(
    observations: Iterable[Observation], baseline: str, order: Sequence[str] = ()
) -> tuple[list[Variances], list[str]]:
    """Of each model and condition of an earlier run, in the order of `compare`, and the names of those that have fewer
    than two independent questions. Raises InputError where no trial of the baseline ended."""
    found, left_out = [], []
    for pair in pairs(observations, baseline, order):
        variances = _measured(pair)
        if variances is None:
            left_out.append(f"{pair.model} {pair.condition}")
        else:
            found.append(variances)
    return found, left_out


def power_table(
    design: PairedDesign, aim: Aim, variances: Sequence[Variances], left_out: Sequence[str] = ()
) -> PowerTable:
    """For each comparison: what 1, 2, 3, 5, 8 and 10 repeats and the design's own can show."""
    return PowerTable(design, aim, tuple(_sight(design, aim, each) for each in variances), tuple(left_out))


def power_json(table: PowerTable) -> str:
    """The fields of `PowerTable`; what is unknown is null."""
    return json.dumps(asdict(table), ensure_ascii=False, indent=2)


def _units(clusters: Sequence[str]) -> list[Hashable]:
    # A question that stands alone is a cluster of its own, and never meets one of the same name.
    return [cluster or number for number, cluster in enumerate(clusters)]


def _measured(pair: Pair) -> Variances | None:
    before, after = _scores(pair.before), _scores(pair.after)
    shared = sorted(before.keys() & after.keys())
    units = _units([pair.after[question][0].cluster for question in shared])
    found = variance_components([before[one] for one in shared], [after[one] for one in shared], units)
    if found is None:
        return None
    simulated = any(seen.simulated for arm in (pair.before, pair.after) for trials in arm.values() for seen in trials)
    names = pair.model, pair.baseline, pair.condition
    if found.within_before is None or found.within_after is None or found.clustered is None:
        # One trial each: twice the variance within, and that between, add up to what was seen.
        return Variances(*names, found, simulated, found.total, 0.0, 0.0, found.total / 2)
    within = (found.within_before + found.within_after) / 2
    return Variances(*names, found, simulated, found.clustered, within, found.clustered, within)


def _scores(arm: Arm) -> dict[str, list[float]]:
    scored = {
        question: [seen.value for seen in trials if counts(seen) and seen.value is not None]
        for question, trials in arm.items()
    }
    return {question: values for question, values in scored.items() if values}


def _sight(design: PairedDesign, aim: Aim, variances: Variances) -> Sight:
    repeats = sorted({*REPEATS, design.repeats})
    rows = tuple(_detectable(design, aim, variances, count) for count in repeats)
    plain, corrected = (_repeats_needed(design, aim, variances, alpha) for alpha in _levels(design, aim))
    return Sight(variances, rows, plain, corrected)


def _levels(design: PairedDesign, aim: Aim) -> tuple[float, float]:
    return aim.alpha, aim.alpha / design.comparisons


def _detectable(design: PairedDesign, aim: Aim, variances: Variances, repeats: int) -> Detectable:
    def points(between: float, within: float, alpha: float) -> float | None:
        error = paired_standard_error(design.questions, between, within, repeats)
        return 100 * detectable(error, alpha=alpha, power=aim.power) if error else None

    def questions(alpha: float) -> int | None:
        if aim.effect_points is None or not (variances.between or variances.within):
            return None
        effect = aim.effect_points / 100
        return questions_needed(effect, variances.between, variances.within, repeats, alpha=alpha, power=aim.power)

    alpha, corrected = _levels(design, aim)
    most, least = (variances.between, variances.within), (variances.between_least, variances.within_most)
    return Detectable(
        repeats=repeats,
        points=points(*most, alpha),
        corrected_points=points(*most, corrected),
        least_points=points(*least, alpha),
        corrected_least_points=points(*least, corrected),
        questions=questions(alpha),
        corrected_questions=questions(corrected),
    )


def _repeats_needed(design: PairedDesign, aim: Aim, variances: Variances, alpha: float) -> int | None:
    if aim.effect_points is None or not (variances.between or variances.within):
        return None
    effect = aim.effect_points / 100
    return repeats_needed(effect, variances.between, variances.within, design.questions, alpha=alpha, power=aim.power)
