"""What the other repeats of a trial tell of it: to the model they are one with it until something is called."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from toolablate.analysis.attribution.decomposition import Scores
from toolablate.analysis.attribution.evidence import Evidence


def beside_repeats(found: Sequence[Evidence]) -> list[Evidence]:
    """Each with the scores of the others of its model, question and condition, and what they were asked at their
    outset."""
    groups: dict[tuple[str, str, str], list[Evidence]] = defaultdict(list)
    for each in found:
        groups[_start(each)].append(each)
    return [_beside(each, groups[_start(each)]) for each in found]


def _beside(evidence: Evidence, group: Sequence[Evidence]) -> Evidence:
    others = [each for each in group if each.chain.trial != evidence.chain.trial]
    return replace(
        evidence,
        repeats=tuple(each.chain.score for each in others),
        outset=tuple(score for each in others for score in _at_outset(each)),
    )


def _start(evidence: Evidence) -> tuple[str, str, str]:
    return evidence.model, evidence.question, evidence.condition


def _at_outset(evidence: Evidence) -> Scores:
    beliefs = evidence.trajectory.beliefs if evidence.trajectory else ()
    first = next((each for each in beliefs if each.step == 0), None)
    if first is None:
        return ()
    right = round(first.right.mean * first.samples)
    return (1.0,) * right + (0.0,) * (first.samples - right)
