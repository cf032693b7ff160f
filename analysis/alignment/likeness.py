"""How alike the steps of two conversations are, cheaply: a thousand by a thousand in well under a second."""

import re
import zlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from toolablate.analysis.alignment.steps import Step

READ = 1_000
"""Characters of the beginning and of the end of a text that are looked at."""

_BUCKETS = 1_024
_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]|[^\W\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]{1,100}")
_NEARLY = 0.99


def likeness(left: Sequence[Step], right: Sequence[Step]) -> NDArray[np.float32]:
    """One row for each left step, one column for each right one; in [0, 1], and 1 only where the model said and did the
    same.

    Half of it is for calling the same tools, or none (the share of tools in common of all that either calls), half for
    what was said: the cosine of counts of words, each count as log(1 + count), hashed into 1,024 buckets (feature
    hashing: Weinberger and others 2009, "Feature Hashing for Large Scale Multitask Learning").
    """
    alike = _vectors(left) @ _vectors(right).T
    found = np.minimum(0.5 * _same_tools(left, right) + 0.5 * alike, _NEARLY).astype(np.float32)
    numbers: dict[tuple[str, ...], int] = {}
    ours, theirs = (np.array([numbers.setdefault(each.said, len(numbers)) for each in side]) for side in (left, right))
    found[np.equal.outer(ours, theirs)] = 1.0
    return found


def _same_tools(left: Sequence[Step], right: Sequence[Step]) -> NDArray[np.float32]:
    sets: dict[frozenset[str], int] = {}
    ours, theirs = ([sets.setdefault(each.tools, len(sets)) for each in side] for side in (left, right))
    shares = [[len(one & other) / len(one | other) if one | other else 1.0 for other in sets] for one in sets]
    return np.array(shares, dtype=np.float32)[np.ix_(ours, theirs)]


def _vectors(steps: Sequence[Step]) -> NDArray[np.float32]:
    found = np.zeros((len(steps), _BUCKETS), dtype=np.float32)
    for row, step in zip(found, steps, strict=True):
        text = "\n".join(part if len(part) <= 2 * READ else part[:READ] + part[-READ:] for part in step.said)
        words = [_bucket(word) for word in _WORD.findall(text[: 4 * READ])]
        row += np.log1p(np.bincount(words, minlength=_BUCKETS)) if words else 0
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    found /= np.maximum(lengths, 1e-9)
    return found


@lru_cache(maxsize=100_000)
def _bucket(word: str) -> int:
    return zlib.crc32(word.casefold().encode("utf-8", "surrogatepass")) % _BUCKETS
