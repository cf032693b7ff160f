"""Statements judged one by one beside the questions that they are composed into."""

import math
from collections.abc import Iterator, Sequence

from toolablate.analysis.effect import accuracy
from toolablate.benchmarks.encyclo_k.analyses.replies import Arm, scored
from toolablate.benchmarks.encyclo_k.figures import SingleAndComposed
from toolablate.benchmarks.encyclo_k.single import statement_ids


def singles_and_composed(arms: Sequence[Arm], *, seed: int = 0) -> list[SingleAndComposed]:
    """One for each arm in which statements were judged one by one."""
    return [found for arm in arms for found in _of_arm(arm, seed)]


def _of_arm(arm: Arm, seed: int) -> Iterator[SingleAndComposed]:
    judged = scored(arm.single)
    if not judged:
        return
    of_statement = {str(each.question.metadata["statement"]): each.score for each in judged}
    whole = [
        (each, [of_statement[one] for one in statements])
        for each in scored(arm.composed)
        for statements in [statement_ids(each.question)]
        if statements and all(one in of_statement for one in statements)
    ]
    means = [math.fsum(scores) / len(scores) for _, scores in whole]
    units = [each.unit for each, _ in whole]
    yield SingleAndComposed(
        arm.model,
        arm.condition,
        statements=accuracy([each.score for each in judged], [each.unit for each in judged], seed=seed),
        questions=accuracy(means, units, seed=seed),
        composed=accuracy([each.score for each, _ in whole], units, seed=seed),
    )
