"""Which items of two sequences belong together, in order."""

import numpy as np
from numpy.typing import NDArray


def best_matches(gains: NDArray[np.float32]) -> list[tuple[int, int]]:
    """Pairs of a row and a column, rising in both, whose gains sum to the most that is possible; what is left without a
    partner costs nothing, so a pair that gains nothing is never made.

    Dynamic programming, a row at a time (Needleman and Wunsch 1970): time and memory are rows x columns.
    """
    rows, columns = gains.shape
    best = np.zeros((rows + 1, columns + 1), dtype=np.float32)
    for row in range(rows):
        matched = best[row, :-1] + np.maximum(gains[row], 0)
        best[row + 1, 1:] = np.maximum.accumulate(np.maximum(best[row, 1:], matched))
    pairs = []
    row, column = rows, columns
    while row and column:
        if best[row, column] == best[row - 1, column]:
            row -= 1
        elif best[row, column] == best[row, column - 1]:
            column -= 1
        else:
            row, column = row - 1, column - 1
            pairs.append((row, column))
    return pairs[::-1]
