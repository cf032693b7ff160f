"""What the estimators share: how many resamples, how many digits, how much memory."""

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
CELLS_AT_ONCE = 2_000_000

# Differences that are equal on paper differ in the last bits; a score in [0, 1] has no meaning beyond this digit.
DIGITS = 12

Floats = NDArray[np.float64]
