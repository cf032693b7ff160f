"""The score of an attribution as tables."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.experiments.planted.proof import CAUSES
from toolablate.experiments.planted.scored_against_truth import PlantedScore
from toolablate.reports import numbers
from toolablate.reports.tables import Fitted, figures, names, simulated_banner
from toolablate.reports.terminal.attribution import matrices_view


@dataclass(frozen=True, slots=True)
class ScoreFigure:
    """A figure beside what needs no method: the best that can be known, the commonest cause, a guess. None where there
    is none."""

    what: str
    found: float | None
    at_best: float | None = None
    majority: float | None = None
    guessed: float | None = None
    percent: bool = True


def figures_of(score: PlantedScore) -> Iterator[ScoreFigure]:
    yield ScoreFigure(
        "macro-F1 over causes", score.macro_f1, score.at_best, score.majority, score.guessed, percent=False
    )
    yield ScoreFigure("step exact", score.steps.exact, majority=score.constant_step, guessed=score.guessed_step)
    yield ScoreFigure("step within 1", score.steps.near)
    yield ScoreFigure("a step where none is", score.steps.false)
    yield ScoreFigure("cause and step", score.steps.joint)
    yield ScoreFigure("calibration error (ECE)", score.calibration_error, score.error_of_calibrated, percent=False)
    yield ScoreFigure("pure sampling noise blamed on tools", score.blamed)
    if score.shares:
        weights = [each.mechanisms for each in score.shares]
        realised, arms, expected = (
            sum(weight * value for weight, value in zip(weights, values, strict=True)) / sum(weights)
            for values in zip(*((each.realised, each.arms, each.expected) for each in score.shares), strict=True)
        )
        yield ScoreFigure("share error, points", realised, arms, percent=False)
        yield ScoreFigure("the same, of what repeats tend to", expected, percent=False)
    yield ScoreFigure("coverage of 90 % intervals", score.whole.share)
    yield ScoreFigure("the same, without marked ones", score.whole.share_unmarked)
    yield ScoreFigure("the same, over samples of questions", score.sampled.share)
    yield ScoreFigure("those, without marked ones", score.sampled.share_unmarked)


_SHORT = {
    "misleading_adoption": "misled",
    "existence_as_norm": "norm",
    "lock_in": "lock-in",
    "tool_fault": "fault",
    "budget": "budget",
    "format": "format",
    "availability": "avail.",
    "sampling_noise": "noise",
    "own_error": "own",
}


def planted_json(score: PlantedScore) -> str:
    """The fields of the record, and the figures of the table; what is unknown is null, what has no verdict "none"."""
    found: dict[str, Any] = asdict(score)
    found["confusion"] = {
        cause: {str(said or "none"): count for said, count in row.items()} for cause, row in score.confusion.items()
    }
    found["judges"] = [each.model_dump(mode="json") for each in score.judges]
    found["figures"] = [asdict(each) for each in figures_of(score)]
    return json.dumps(found, ensure_ascii=False, indent=2)


def planted_view(score: PlantedScore) -> RenderableType:
    shown = list(figures_of(score))
    return Group(
        _title(f"Attribution by {score.method} against ground truth"),
        simulated_banner(),
        _figures(shown),
        _title("Attributed cause (across) by true cause (down)"),
        _confusion(score),
        *matrices_view(score.judges),
        Padding(Text("\n".join(_footnotes(score)), style="dim"), (0, 1, 1, 1)),
    )


def _title(text: str) -> Text:
    return Text(f" {text}", style="bold", overflow="fold")


def _figures(shown: list[ScoreFigure]) -> Fitted:
    return Fitted(
        (
            names("", [Text(each.what) for each in shown]),
            figures("found", [Text(_written(each, each.found), style="bold") for each in shown]),
            figures("at best", [_or_blank(each, each.at_best) for each in shown]),
            figures("majority", [_or_blank(each, each.majority) for each in shown]),
            figures("guess", [_or_blank(each, each.guessed) for each in shown]),
        )
    )


def _written(figure: ScoreFigure, value: float | None) -> str:
    if value is None:
        return numbers.UNKNOWN
    return f"{100 * value:.1f} %" if figure.percent else f"{value:.3f}"


def _or_blank(figure: ScoreFigure, value: float | None) -> str:
    return "" if value is None else _written(figure, value)


def _confusion(score: PlantedScore) -> Fitted:
    true = list(score.confusion)
    said = [cause for cause in CAUSES if any(score.confusion[each].get(cause) for each in true)]
    rest = [figures("none", [_count(score, each, None) for each in true])]
    unsaid = rest if any(score.confusion[each].get(None) for each in true) else []
    return Fitted(
        (
            names("true", [Text(each.replace("_", " ")) for each in true]),
            *(figures(_SHORT[cause], [_count(score, each, cause) for each in true]) for cause in said),
            *unsaid,
            figures("F1", [Text(f"{score.f1[each]:.2f}", style="bold") for each in true]),
        )
    )


def _count(score: PlantedScore, true: Any, said: Any) -> Text:
    count = score.confusion[true].get(said, 0)
    return Text(str(count) if count else "", style="bold" if true == said else "")


def _footnotes(score: PlantedScore) -> Iterator[str]:
    total = score.wrong + score.right
    yield (
        f"{numbers.counted(total, 'trial')} with tools, {score.wrong} of them wrong; {score.verdicts} of these are"
        f" judged by {score.method}."
    )
    yield (
        f"step: of the {score.steps.trials} wrong trials whose belief truly falls for good; a step that is not named is"
        " wrong."
    )
    yield "at best: whoever knows all beliefs and not the draw of the answer. majority: the commonest cause every time,"
    yield "and of steps the commonest place, from the start or from the end."
    yield "ECE, at best: what chance alone makes of it where so many confidences are true."
    yield "norm: what exists taken for what is right, or an answer built up beyond need."
    yield "avail.: also calls that gave nothing, and prompts."
    yield (
        "sampling noise: wrong by the draw alone, and pure where nothing else can have been the cause of such an answer"
        f" ({numbers.counted(score.pure, 'trial')})."
    )
    yield "own: wrong without tools as well. none: nothing is said."
    yield "share error: of mechanisms, given the trials' answers; at best: what chance in the arms leaves."
    yield (
        f"coverage: {score.whole.held} of {score.whole.intervals} intervals hold what repeats tend to;"
        f" {score.whole.missing} more shares are something and have none. Samples of questions are a third each, and"
        " overlap."
    )
    yield "marked: too small for their intervals, as the decomposition says."
    yield (
        "For scale, on other data: best published step accuracies on Who&When 47.5 and 29.3 %, AgentErrorBench 24.3 %"
        " all correct, CodeTracer .48 macro-F1."
    )
    yield from score.notes
