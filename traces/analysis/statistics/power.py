"""The smallest effect that a paired design can see.

Source: the standard two-sided z-test formula; for the variance of a paired difference with repeats see E. Miller,
"Adding Error Bars to Evals: A Statistical Approach to Language Model Evaluations" (2024), section 5.
"""

import math
from statistics import NormalDist

_NORMAL = NormalDist()


def detectable(standard_error: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The true difference that a two-sided test at level `alpha` finds with probability `power`, in the unit of the
    standard error."""
    return (_NORMAL.inv_cdf(1 - alpha / 2) + _NORMAL.inv_cdf(power)) * standard_error


def paired_standard_error(questions: float, between: float, within: float, repeats: int) -> float:
    """Of a mean paired difference: sqrt((between + 2 within / repeats) / questions).

    `between` is the variance over questions of the true difference, `within` the mean variance of one trial's score
    around its question's mean, the same under both conditions; `questions` counts independent ones.
    """
    return math.sqrt((between + 2 * within / repeats) / questions)
