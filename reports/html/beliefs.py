"""How the belief in the right answer goes from step to step, as a figure and as lines of a table."""

from collections.abc import Iterator
from dataclasses import dataclass

from toolablate.analysis.attribution.belief import Belief
from toolablate.analysis.attribution.evidence import Explanation
from toolablate.reports.html.attributed import believed
from toolablate.reports.terminal.explanation import BeliefStep, step_lines
from toolablate.traces.plain import one_line

HEIGHT, TOP, LEFT = 96.0, 12.0, 34.0
LEAST_STEP, MOST_STEP, WIDTH = 24.0, 56.0, 560.0
MOST_STEPS, FIRST_STEPS, LAST_STEPS, AROUND = 200, 100, 40, 10
"""Lines of a table: all of so many, of more these."""


@dataclass(frozen=True, slots=True)
class Point:
    """The belief before one event: places in the figure, in pixels, of the share of right answers and of the ends of
    its 95 % interval."""

    event: int
    x: float
    y: float
    low: float
    high: float
    says: str


@dataclass(frozen=True, slots=True)
class BeliefFigure:
    """`fall` is the stretch, from x to x, in which the belief falls for good; None where it does not."""

    width: float
    height: float
    points: tuple[Point, ...]
    fall: tuple[float, float] | None
    levels: tuple[tuple[str, float], ...]

    @property
    def path(self) -> str:
        return " ".join(f"{point.x:.1f},{point.y:.1f}" for point in self.points)


@dataclass(frozen=True, slots=True)
class StepLine:
    """A line of the table: `share` is that of right answers after it, None where nobody asked. Right before it
    `skipped` lines are left out."""

    line: BeliefStep
    falls: bool
    skipped: int = 0

    @property
    def share(self) -> float | None:
        return self.line.right / self.line.samples if self.line.samples else None


def belief_figure(told: Explanation) -> BeliefFigure | None:
    """None where no answers were asked for along the trial."""
    evidence = told.explained.evidence
    if evidence.trajectory is None:
        return None
    beliefs = evidence.trajectory.beliefs
    last = max(beliefs[-1].step, 1)
    step = min(MOST_STEP, max(LEAST_STEP, (WIDTH - LEFT) / last))

    def across(place: int) -> float:
        return LEFT + 12 + step * place

    flip = evidence.flip
    return BeliefFigure(
        width=across(last) + 24,
        height=TOP + HEIGHT + 24,
        points=tuple(_point(each, evidence.steps[each.step], across(each.step)) for each in beliefs),
        fall=None if flip is None else (across(flip.after), across(flip.step)),
        levels=tuple((name, _down(share)) for name, share in (("1", 1.0), (".5", 0.5), ("0", 0.0))),
    )


def told_steps(told: Explanation) -> Iterator[StepLine]:
    """What the trial did, the question alone first: of very many steps the first, the last, and those where the belief
    falls."""
    flip, lines = told.explained.evidence.flip, tuple(step_lines(told))
    kept = set(range(len(lines)))
    if len(lines) > MOST_STEPS:
        kept = {*range(FIRST_STEPS), *range(len(lines) - LAST_STEPS, len(lines))}
        kept |= set() if flip is None else {*range(flip.after - AROUND, flip.step + AROUND + 1)}
    skipped = 0
    for place, line in enumerate(lines):
        if place in kept:
            yield StepLine(line, flip is not None and flip.after < place <= flip.step, skipped)
        skipped = 0 if place in kept else skipped + 1


def _point(belief: Belief, event: int, x: float) -> Point:
    right = belief.right
    leading = max(belief.options, key=lambda name: belief.options[name].mean, default="")
    most = f"; most say {one_line(leading, max_chars=40)}" if leading else ""
    says = f"before event {event}: {believed(belief)} right{most}, of {belief.samples} answers"
    return Point(event, x, _down(right.mean), _down(right.low), _down(right.high), says)


def _down(share: float) -> float:
    return TOP + HEIGHT * (1 - share)
