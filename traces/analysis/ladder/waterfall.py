"""What a ladder's rungs are worth, for one model."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from toolablate.traces.analysis.ladder.arms import ArmKind


@dataclass(frozen=True, slots=True)
class Step:
    """From one arm to another, paired over questions.

    name            of a rung: the factors that differ ("availability + calling" where the arm between is missing); else
                      `total`, `oracle` or `adversarial`
    before, after   labels of the two conditions
    questions       questions that count; `clusters`: independent units that interval and p-value rest on
    small           too few of these, or too few that differ, for an interval that covers what it says (`effect`)
    before_score,   percent: the mean over questions of each question's mean over its repeats; None without a question
      score
    points          score - before_score, in percentage points
    ci95            95 % interval of points; None where the data cannot tell
    p_value         two-sided sign-flip test of points = 0
    p_holm          the same, corrected over all steps of all waterfalls that were made together; a step that several
                      ladders share counts once
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
    p_holm: float | None = None


@dataclass(frozen=True, slots=True)
class ShapleyValue:
    """What a rung is worth whichever place the prompt takes among the others, in points, with its 95 % interval.
    `own` is the rung in the ladder's own order, over the same questions."""

    name: str
    points: float
    own: float
    ci95: tuple[float, float] | None

    @property
    def moved(self) -> float:
        """How far the ladder's own order is from it, in points."""
        return self.points - self.own


@dataclass(frozen=True, slots=True)
class Shapley:
    """One value for each rung, over the `questions` scored in all arms with and without prompt; their sum is `total`,
    the real arm less `none`, in points."""

    questions: int
    clusters: int
    values: tuple[ShapleyValue, ...]
    total: float

    @property
    def farthest(self) -> ShapleyValue:
        """The rung whose value depends most on the order."""
        return max(self.values, key=lambda value: abs(value.moved))


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The rungs of one ladder for one model, over the questions that are scored in all its arms: they sum to the total.

    ladder               label of the condition whose ladder it is
    arms                 labels, in order
    missing              arms that were not run; the rungs on both sides of such an arm are one
    unscored             labels of arms that were run and have no question that is scored
    excluded_questions   questions that were asked in an arm and do not count, for want of a score in one
    relative             the total in percent of the score under `none`; None where that is 0
    bounds               the arm just below the real one against oracle and adversarial content, over those of the
                           questions that are scored under these too; no part of the sum
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
    bounds: tuple[Step, ...]
    shapley: Shapley | None
    lacking: tuple[ArmKind, ...]


def waterfalls_json(waterfalls: Iterable[Waterfall]) -> str:
    """`{"waterfalls": [...]}` with the fields of the records; what is unknown is null."""
    return json.dumps({"waterfalls": [asdict(each) for each in waterfalls]}, ensure_ascii=False, indent=2)


def waterfalls_csv(waterfalls: Sequence[Waterfall]) -> str:
    """A line for each step (`kind` rung, total or bound) with its waterfall's model and ladder; what is unknown is
    empty. The columns `shapley...` belong to rungs, `relative` and `excluded_questions` to totals."""
    lines = [line for each in waterfalls for line in _lines(each)]
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _inert(value) for name, value in line.items()} for line in lines)
    return out.getvalue()


_COLUMNS = (
    *("model", "simulated", "ladder", "kind", "name", "before", "after", "questions", "clusters", "small"),
    *("excluded_questions", "before_score", "score", "points", "ci95_low", "ci95_high", "p_value", "p_holm"),
    *("relative", "shapley_points", "shapley_ci95_low", "shapley_ci95_high", "shapley_questions"),
)


def _lines(waterfall: Waterfall) -> Iterator[dict[str, Any]]:
    shapley = waterfall.shapley
    for place, rung in enumerate(waterfall.rungs):
        line = _line(waterfall, "rung", rung)
        if shapley is not None:
            value = shapley.values[place]
            line |= {"shapley_points": value.points, "shapley_questions": shapley.questions}
            line |= _ends("shapley_ci95", value.ci95)
        yield line
    of_total = {"relative": waterfall.relative, "excluded_questions": waterfall.excluded_questions}
    yield _line(waterfall, "total", waterfall.total) | of_total
    yield from (_line(waterfall, "bound", bound) for bound in waterfall.bounds)


def _line(waterfall: Waterfall, kind: str, step: Step) -> dict[str, Any]:
    fields = asdict(step)
    interval = fields.pop("ci95")
    whose = {"model": waterfall.model, "simulated": waterfall.simulated, "ladder": waterfall.ladder, "kind": kind}
    return {**whose, **fields, **_ends("ci95", interval)}


def _ends(name: str, interval: tuple[float, float] | None) -> dict[str, float | None]:
    low, high = interval or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def _inert(value: Any) -> Any:
    # A spreadsheet would run a name that begins like this as a formula.
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
