"""Whether the place of an option matters."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from toolablate.analysis.effect import accuracy
from toolablate.analysis.statistics.p_values import holm
from toolablate.benchmarks.encyclo_k.analyses.replies import Arm, Reply, first_repeats, scored
from toolablate.benchmarks.encyclo_k.figures import ChiSquare, Position, PositionBias
from toolablate.benchmarks.lettering import LETTERS

LEAST_EXPECTED = 5

Floats = NDArray[np.float64]


def position_biases(arms: Sequence[Arm], *, seed: int = 0) -> list[PositionBias]:
    """One for each arm; p-values are corrected over all arms, for each of the two tests."""
    found = [_bias(arm, seed) for arm in arms]
    by_right = _corrected([each.by_right for each in found])
    by_choice = _corrected([each.by_choice for each in found])
    return [
        replace(each, by_right=right, by_choice=choice)
        for each, right, choice in zip(found, by_right, by_choice, strict=True)
    ]


def _bias(arm: Arm, seed: int) -> PositionBias:
    first = first_repeats(arm.composed)
    answers = [reply for reply in first if reply.chosen]
    wrong = [reply for reply in answers if not reply.right]
    chosen, wrongly = (Counter(reply.chosen for reply in replies) for replies in (answers, wrong))
    expected = _wrongly_expected(wrong)
    by_place = defaultdict(list)
    for each in scored(arm.composed):
        by_place[_right(each.question.target)].append(each)
    places = max((len(reply.question.choices) for reply in first), default=0)
    return PositionBias(
        model=arm.model,
        condition=arm.condition,
        positions=tuple(
            Position(
                letter,
                accuracy([each.score for each in by_place[place]], [each.unit for each in by_place[place]], seed=seed),
                chosen[letter],
                wrongly[letter],
                float(expected[place]),
            )
            for place, letter in enumerate(LETTERS[:places])
        ),
        by_right=accuracy_test(first),
        by_choice=choice_test(wrong),
    )


def accuracy_test(replies: Sequence[Reply]) -> ChiSquare:
    """Whether accuracy differs by the place of the right option, among questions with as many options.

    Within these, since the last places are those of questions with many options, which are harder. Generalised
    Cochran-Mantel-Haenszel test of general association over strata; source: Landis, Heyman and Koch (1978), "Average
    partial association in three-way contingency tables", International Statistical Review 46. Questions count as
    independent.
    """
    away, spread = np.zeros(len(LETTERS)), np.zeros((len(LETTERS),) * 2)
    rights, wrongs, most = 0, 0, 1
    strata = defaultdict(list)
    for reply in replies:
        strata[len(reply.question.choices)].append(reply)
    for options, found in strata.items():
        total, right = len(found), sum(reply.right for reply in found)
        if total < 2 or right in (0, total):
            continue
        places = _counts(found)
        away += _counts([reply for reply in found if reply.right]) - right * places / total
        scale = right * (total - right) / (total**2 * (total - 1))
        spread += scale * (total * np.diag(places) - np.outer(places, places))
        rights, wrongs = rights + right, wrongs + total - right
        most = max(most, options)
    return _test(away, spread, min(rights, wrongs) / most)


def choice_test(wrong: Sequence[Reply]) -> ChiSquare:
    """Whether wrong answers prefer a place: each would name any of the other options but the right one as often.

    The score test of that; like Pearson's where all questions have as many options, and their right one in one place.
    """
    away, spread = -_wrongly_expected(wrong), np.zeros((len(LETTERS),) * 2)
    for reply in wrong:
        away[LETTERS.index(reply.chosen)] += 1
    for even, count in _even_chances(wrong):
        spread += count * (np.diag(even) - np.outer(even, even))
    places = max((len(reply.question.choices) for reply in wrong), default=1)
    return _test(away, spread, len(wrong) / places)


def _wrongly_expected(wrong: Sequence[Reply]) -> Floats:
    return sum((count * even for even, count in _even_chances(wrong)), start=np.zeros(len(LETTERS)))


def _even_chances(wrong: Sequence[Reply]) -> Iterator[tuple[Floats, int]]:
    """The chance of each place under a wrong answer that prefers none, and of how many wrong answers."""
    kinds = Counter((len(reply.question.choices), _right(reply.question.target)) for reply in wrong)
    for (options, right), count in kinds.items():
        even = np.zeros(len(LETTERS))
        even[:options] = 1 / (options - 1)
        even[right] = 0
        yield even, count


def _counts(replies: Sequence[Reply]) -> Floats:
    return np.bincount([_right(reply.question.target) for reply in replies], minlength=len(LETTERS)).astype(float)


def _right(target: object) -> int:
    letters: tuple[str, ...] = getattr(target, "letters", ())
    return LETTERS.index(letters[0])


def _test(away: Floats, spread: Floats, expected: float) -> ChiSquare:
    degrees = int(np.linalg.matrix_rank(spread, hermitian=True))
    if not degrees:
        return ChiSquare(0.0, 0, None)
    statistic = float(away @ np.linalg.pinv(spread, hermitian=True) @ away)
    enough = expected >= LEAST_EXPECTED
    return ChiSquare(statistic, degrees, float(chi2.sf(statistic, degrees)) if enough else None)


def _corrected(tests: Sequence[ChiSquare]) -> list[ChiSquare]:
    p_values = iter(holm([each.p_value for each in tests if each.p_value is not None]))
    return [each if each.p_value is None else replace(each, p_holm=next(p_values)) for each in tests]
