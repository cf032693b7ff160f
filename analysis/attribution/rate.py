"""So many of so many, with the interval of their share."""

from dataclasses import dataclass

from toolablate.analysis.attribution.belief.trajectory import Share, share


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` of `of`; `share` is None of none. Its interval takes what is counted for independent: of repeats of a
    question it is too narrow."""

    count: int
    of: int
    share: Share | None


def rate(count: int, of: int) -> Rate:
    """With Wilson's 95 % interval."""
    return Rate(count, of, share(count, of) if of else None)
