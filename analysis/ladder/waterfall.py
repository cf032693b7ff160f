"""What a ladder's rungs are worth, for one model."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from toolablate.analysis.ladder.arms import ArmKind
from toolablate.analysis.tables import csv_text, ends


@dataclass(frozen=True, slots=True)
class Step:
    """From one arm to another, paired over questions. What figures rest on is said in `Comparison`.

    name               of a rung: the factors that differ ("availability + calling" where the arm between is missing);
                         else `total`, `oracle` or `adversarial`
    before, after      labels of the two conditions
    questions          questions that count; `clusters`: independent units that interval and p-value rest on
    small              too few of these, or too few that differ, for an interval that covers what it says (`effect`)
    before_score,      percent: the mean over questions of each question's mean over its repeats; None without a
      score              question
    points             score - before_score, in percentage points
    ci95               95 % interval of points; None where the data cannot tell
    p_value            two-sided sign-flip test of points = 0
    p_holm             the same, corrected over all steps of all waterfalls that were made together; the same two arms
                         over the same questions count once
    detectable_points  the true difference that would have been found with probability 80 % at level .05
    flips_..., noise_  questions that flip between single runs, and what chance alone gives, in the arm before and in
      condition_noise_   the arm after: see `Chance`
    """

    name: str
    before: str
    after: str
    questions: int
    clusters: int
    small: bool
    before_score: float | None
    score: float | None
    points: float | None
    ci95: tuple[float, float] | None
    p_value: float | None
    p_holm: float | None
    detectable_points: float | None
    flips_right_to_wrong: float
    flips_wrong_to_right: float
    noise_flips: float | None
    noise_questions: int
    condition_noise_flips: float | None
    condition_noise_questions: int


@dataclass(frozen=True, slots=True)
class ShapleyValue:
    """What a rung is worth whichever place the prompt takes among the others, in points, with its 95 % interval.
    `own` is the rung in the ladder's own order, over the same questions; `moved_ci95` is the interval of how far the
    value is from that. `small` as in Step."""

    name: str
    small: bool
    points: float
    ci95: tuple[float, float] | None
    own: float
    moved_ci95: tuple[float, float] | None

    @property
    def moved(self) -> float:
        """How far the ladder's own order is from it, in points."""
        return self.points - self.own

    @property
    def order_matters(self) -> bool:
        """Whether the interval of `moved` leaves 0 out."""
        return not self.small and self.moved_ci95 is not None and not self.moved_ci95[0] <= 0 <= self.moved_ci95[1]


@dataclass(frozen=True, slots=True)
class Shapley:
    """One value for each rung, over the `questions` scored in all arms with and without prompt; their sum is `total`,
    the real arm less `none`, in points."""

    questions: int
    clusters: int
    values: tuple[ShapleyValue, ...]
    total: float


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The rungs of one ladder for one model, over the questions that are scored in all its arms: they sum to the total.

    ladder               label of the condition whose ladder it is
    arms                 labels, in order
    missing              arms that were not run; the rungs on both sides of such an arm are one
    unscored             labels of arms that were run and have no question that is scored
    excluded_questions   questions that were asked in an arm and do not count, for want of a score in one
    relative             the total in percent of the score under `none`; None where that is 0. `relative_ci95`: its 95 %
                           interval
    bounds               the arm just below the real one against oracle and adversarial content, over those of the
                           questions that are scored under these too; no part of the sum
    comparisons          how many there are among the steps of all waterfalls that were made together: what p_holm is
                           corrected for
    shapley              None where an arm without prompt is lacking (`lacking` says which) or there is no prompt

    `simulated` tells that the model is a stand-in, not a measurement.
    """

    model: str
    simulated: bool
    ladder: str
    arms: tuple[str, ...]
    missing: tuple[ArmKind, ...]
    unscored: tuple[str, ...]
    excluded_questions: int
    rungs: tuple[Step, ...]
    total: Step
    relative: float | None
    relative_ci95: tuple[float, float] | None
    bounds: tuple[Step, ...]
    comparisons: int
    shapley: Shapley | None
    lacking: tuple[ArmKind, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        """All of them: rungs, total, bounds."""
        return (*self.rungs, self.total, *self.bounds)


def waterfalls_json(waterfalls: Iterable[Waterfall]) -> str:
    """`{"waterfalls": [...]}` with the fields of the records; what is unknown is null."""
    return json.dumps({"waterfalls": [asdict(each) for each in waterfalls]}, ensure_ascii=False, indent=2)


def waterfalls_csv(waterfalls: Iterable[Waterfall]) -> str:
    """A line for each step (`kind` rung, total or bound) with its waterfall's model and ladder; what is unknown is
    empty. The columns `shapley...` belong to rungs, `relative` and `excluded_questions` to totals."""
    return csv_text(_COLUMNS, (line for each in waterfalls for line in _lines(each)))


_COLUMNS = (
    *("model", "simulated", "ladder", "kind", "name", "before", "after", "questions", "clusters", "small"),
    *("excluded_questions", "before_score", "score", "points", "ci95_low", "ci95_high", "p_value", "p_holm"),
    *("detectable_points", "flips_right_to_wrong", "flips_wrong_to_right", "noise_flips", "noise_questions"),
    *("condition_noise_flips", "condition_noise_questions"),
    *("relative", "relative_ci95_low", "relative_ci95_high"),
    *("shapley_points", "shapley_ci95_low", "shapley_ci95_high", "shapley_small", "shapley_questions"),
)


def _lines(waterfall: Waterfall) -> Iterator[dict[str, Any]]:
    shapley = waterfall.shapley
    for place, rung in enumerate(waterfall.rungs):
        line = _line(waterfall, "rung", rung)
        if shapley is not None:
            value = shapley.values[place]
            line |= {"shapley_points": value.points, "shapley_small": value.small}
            line |= {"shapley_questions": shapley.questions, **ends("shapley_ci95", value.ci95)}
        yield line
    of_total = {"relative": waterfall.relative, **ends("relative_ci95", waterfall.relative_ci95)}
    of_total |= {"excluded_questions": waterfall.excluded_questions}
    yield _line(waterfall, "total", waterfall.total) | of_total
    yield from (_line(waterfall, "bound", bound) for bound in waterfall.bounds)


def _line(waterfall: Waterfall, kind: str, step: Step) -> dict[str, Any]:
    fields = asdict(step)
    interval = fields.pop("ci95")
    whose = {"model": waterfall.model, "simulated": waterfall.simulated, "ladder": waterfall.ladder, "kind": kind}
    return {**whose, **fields, **ends("ci95", interval)}
