"""What a model believed before anything was called: the same for all trials of a question under one condition."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from toolablate.traces.analysis.attribution.evidence import Evidence
from toolablate.traces.analysis.attribution.ledger import Scores


def with_outsets(found: Sequence[Evidence]) -> list[Evidence]:
    """Each with what the others of its model, question and condition were asked at their outset."""
    asked: dict[tuple[str, str, str], dict[str, Scores]] = defaultdict(dict)
    for each in found:
        asked[_start(each)][each.chain.trial] = _at_outset(each)
    return [
        replace(
            each,
            outset=tuple(
                score for trial, scores in asked[_start(each)].items() for score in scores if trial != each.chain.trial
            ),
        )
        for each in found
    ]


def _start(evidence: Evidence) -> tuple[str, str, str]:
    return evidence.model, evidence.question, evidence.condition


def _at_outset(evidence: Evidence) -> Scores:
    beliefs = evidence.trajectory.beliefs if evidence.trajectory else ()
    first = next((each for each in beliefs if each.step == 0), None)
    if first is None:
        return ()
    right = round(first.right.mean * first.samples)
    return (1.0,) * right + (0.0,) * (first.samples - right)
