"""The numbers of each figure as CSV, not rounded; what is unknown is empty."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from toolablate.analysis.attribution.belief import Trajectory
from toolablate.analysis.attribution.report import decompositions_csv
from toolablate.analysis.comparison import comparisons_csv
from toolablate.analysis.findings import ArmScore, Findings
from toolablate.analysis.flips import Floor
from toolablate.analysis.ladder import waterfalls_csv
from toolablate.analysis.spreadsheets import csv_text, ends
from toolablate.reports.outline import Took
from toolablate.reports.plots.figures import decompositions_of, in_order, models_of
from toolablate.reports.plots.panels import ENDINGS
from toolablate.reports.plots.scores import EndedArm

Row = Mapping[str, Any]


def figure_csv(name: str, findings: Findings, endings: Sequence[EndedArm]) -> str:
    """Of a plate by its name: all rows, where the plate draws a part of them. "" where there is no such plate."""
    match name:
        case "scores":
            return _csv(_score(arm) for arm in findings.arms)
        case "effects":
            return comparisons_csv(in_order(findings, findings.comparisons))
        case "flips":
            return _csv(_floor(each) for each in in_order(findings, findings.floors))
        case "matrices":
            return _csv(asdict(each) for each in in_order(findings, findings.flips))
        case "outcomes":
            return _csv(_ended(arm) for arm in endings)
    for model, ending in models_of(findings):
        if name == f"domains{ending}":
            return comparisons_csv([each for each in findings.by_domain if each.model == model])
        if name == f"mechanisms{ending}":
            own = [each for each in decompositions_of(findings) if each.model == model]
            return decompositions_csv(own, findings.simulated)
        if name == f"ladders{ending}":
            return waterfalls_csv(each for each in findings.waterfalls if each.model == model)
    return ""


def _csv(rows: Iterable[Row]) -> str:
    found = list(rows)
    return csv_text(list(found[0]), found) if found else ""


def _score(arm: ArmScore) -> Row:
    score = arm.accuracy
    return {
        "model": arm.model,
        "condition": arm.condition,
        "questions": score.questions,
        "percent": score.percent,
        **ends("ci95", score.ci95),
        "small": score.small,
    }


def _floor(each: Floor) -> Row:
    named = {"model": each.model, "baseline": each.baseline, "condition": each.condition, "questions": each.questions}
    return named | asdict(each.chance)


def _ended(arm: EndedArm) -> Row:
    return {"model": arm.model, "condition": arm.condition} | {name: arm.endings.get(name, 0) for name in ENDINGS}


def belief_csv(found: Trajectory, events: Sequence[int]) -> str:
    """`event` is the one before which a model was asked at once; shares are in [0, 1]."""
    return _csv(
        {
            "step": each.step,
            "event": events[each.step] if each.step < len(events) else None,
            "samples": each.samples,
            "right": each.right.mean,
            **ends("ci95", (each.right.low, each.right.high)),
        }
        for each in found.beliefs
    )


def timeline_csv(figures: Iterable[Took]) -> str:
    """By event: seconds since the trial began, seconds, tokens, US dollars; `..._so_far` with the event itself."""
    return _csv(_with_sums(figures))


def _with_sums(figures: Iterable[Took]) -> Iterator[Row]:
    tokens, cost = 0, 0.0
    for each in figures:
        tokens, cost = tokens + (each.tokens or 0), cost + (each.cost or 0.0)
        yield {
            "event": each.number,
            "kind": each.kind,
            "at_seconds": each.at,
            "took_seconds": each.seconds,
            "tokens": each.tokens,
            "tokens_so_far": tokens,
            "cost_usd": each.cost,
            "cost_usd_so_far": cost,
        }
