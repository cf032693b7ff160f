"""What a number says of an answer."""

from toolablate.traces.records import Verdict


def verdict_of(value: float | None) -> Verdict:
    """Of a value in [0, 1], or of None: not scored."""
    if value is None:
        return "unscored"
    return "correct" if value == 1 else "wrong" if value == 0 else "partial"
