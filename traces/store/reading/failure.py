from dataclasses import dataclass

from toolablate.traces.errors import Boundary


@dataclass(frozen=True, slots=True)
class FailureCount:
    """How many trials of one model failed for one reason.

    `boundary` and `code` are those of the last failure of each trial's trace, `message` is that of one of them,
    `trial` its id. `boundary` is None, `code` and `message` are empty, where the traces hold no failure that tells.
    """

    model: str
    boundary: Boundary | None
    code: str
    message: str
    count: int
    trial: str
