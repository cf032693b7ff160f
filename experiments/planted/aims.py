"""What attribution by each method is to reach on the planted benchmark."""

from collections.abc import Iterator
from dataclasses import dataclass

from toolablate.experiments.planted.scoring import PlantedScore

LEAST_F1 = {"replay": 0.85, "trace": 0.65, "judge": None}
LEAST_EXACT, LEAST_NEAR, LEAST_JOINT = 0.60, 0.80, 0.50
MOST_CALIBRATION_ERROR, MOST_POINTS, MOST_BLAMED = 0.05, 1.0, 0.10
COVERED = (0.85, 0.95)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure beside its aim (`at_least`, `at_most`, or both), and beside what needs no method: the best that can be
    known, the commonest cause, a guess. None where there is none."""

    what: str
    found: float | None
    at_least: float | None = None
    at_most: float | None = None
    at_best: float | None = None
    majority: float | None = None
    guessed: float | None = None
    percent: bool = True

    @property
    def met(self) -> bool | None:
        if self.found is None or (self.at_least is None and self.at_most is None):
            return None
        enough = self.at_least is None or self.found >= self.at_least
        return enough and (self.at_most is None or self.found <= self.at_most)


def figures_of(score: PlantedScore) -> Iterator[Figure]:
    """Aims of replay are shown of other methods, too, where the figure has a meaning there."""
    replay = score.method == "replay"
    yield Figure(
        what="macro-F1 over causes",
        found=score.macro_f1,
        at_least=LEAST_F1[score.method],
        at_best=score.at_best,
        majority=score.majority,
        guessed=score.guessed,
        percent=False,
    )
    yield Figure(
        what="step exact",
        found=score.steps.exact,
        at_least=LEAST_EXACT if replay else None,
        majority=score.constant_step,
        guessed=score.guessed_step,
    )
    yield Figure("step within 1", score.steps.near, LEAST_NEAR if replay else None)
    yield Figure("a step where none is", score.steps.false)
    yield Figure("cause and step", score.steps.joint, LEAST_JOINT if replay else None)
    yield Figure(
        "calibration error (ECE)",
        score.calibration_error,
        at_most=MOST_CALIBRATION_ERROR if replay else None,
        at_best=score.error_of_calibrated,
        percent=False,
    )
    yield Figure("pure churn blamed on tools", score.blamed, at_most=MOST_BLAMED if replay else None)
    if score.shares:
        weights = [each.mechanisms for each in score.shares]
        realised, arms, expected = (
            sum(weight * value for weight, value in zip(weights, values, strict=True)) / sum(weights)
            for values in zip(*((each.realised, each.arms, each.expected) for each in score.shares), strict=True)
        )
        yield Figure("share error, points", realised, at_most=MOST_POINTS, at_best=arms, percent=False)
        yield Figure("the same, of what repeats tend to", expected, percent=False)
    yield Figure("coverage of 90 % intervals", score.whole.share, *COVERED)
    yield Figure("the same, without marked ones", score.whole.share_unmarked)
    yield Figure("the same, over samples of questions", score.sampled.share, *COVERED)
    yield Figure("those, without marked ones", score.sampled.share_unmarked)
