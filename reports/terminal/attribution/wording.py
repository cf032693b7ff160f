"""What mechanisms and methods are called where people read of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from toolablate.analysis.attribution.naming import mechanism_name
from toolablate.analysis.pairing import RIGHT, mean
from toolablate.traces.records import Attribution, Distraction


@dataclass(frozen=True, slots=True)
class Apart:
    """A line that stands apart from the sentences around it: a command, or what is quoted."""

    text: str


Said = str | Apart

_DISTRACTIONS: Mapping[Distraction, str] = {
    "misleading_adoption": "misleading content adopted",
    "existence_as_norm": "existence taken as norm",
    "over_engineering": "over-engineering",
}
_METHODS = {"trace": "by trace", "replay": "by replay", "judge": "by judge"}

AS_WITHOUT = "luck, as without tools"


def distraction_name(distraction: Distraction) -> str:
    return _DISTRACTIONS[distraction]


def attributed(attribution: Attribution) -> str:
    """`retrieval distraction (over-engineering)`."""
    name = mechanism_name(attribution.mechanism)
    return f"{name} ({distraction_name(attribution.distraction)})" if attribution.distraction else name


def put_down_to(attribution: Attribution) -> str:
    """The same where it is said of a trial: luck by its trace is what trials without tools would have had wrong, too,
    and nothing that was tried."""
    expected = attribution.mechanism == "luck" and attribution.method == "trace"
    return AS_WITHOUT if expected else attributed(attribution)


def method_name(attribution: Attribution) -> str:
    return _METHODS[attribution.method]


def chance(value: float) -> str:
    """A probability: `.82`, `1.0`."""
    shown = f"{value:.2f}"
    return shown[1:] if shown.startswith("0") else shown[:-1]


def right_of(scores: tuple[float, ...]) -> str:
    """`3 of 4 right`, with the mean where scores are graded."""
    right = sum(score >= RIGHT for score in scores)
    graded = any(0 < score < 1 for score in scores)
    return f"{right} of {len(scores)} right" + (f" (mean score {chance(mean(scores))})" if graded else "")
