"""Requests that got no reply: how a failure is kept, and how it is told again."""

from toolablate.tools.misses import MISS_MESSAGES
from toolablate.tools.web import Exchange, FetchError
from toolablate.tools.web.follow import check_status
from toolablate.traces.records import FetchFailure, MissKind


class MissedError(FetchError):
    """What the archive does not give in a replay; `nearest` describes the nearest recorded request, if any."""

    def __init__(self, message: str, *, code: str, miss: MissKind, nearest: str = "", policy: bool = False) -> None:
        super().__init__(message, code=code, policy=policy)
        self.miss: MissKind = miss
        self.nearest = nearest


def missed(miss: MissKind, nearest: str) -> MissedError:
    return MissedError(MISS_MESSAGES[miss], code=miss, miss=miss, nearest=nearest)


def failure_of(error: FetchError) -> FetchFailure:
    return FetchFailure(message=error.message, code=error.code, transient=error.transient, policy=error.policy)


def error_of(failure: FetchFailure) -> FetchError:
    return FetchError(failure.message, code=failure.code, transient=failure.transient, policy=failure.policy)


def recorded_error(failure: FetchFailure) -> MissedError:
    """In the words in which the failure was told when it was recorded."""
    return MissedError(failure.message, code=failure.code, miss="recorded_error", policy=failure.policy)


def passing_error(exchange: Exchange) -> FetchError | None:
    """What a model is told of a reply whose status may pass; None for all other replies."""
    try:
        check_status(exchange.url, exchange.status, exchange.reason)
    except FetchError as error:
        return error if error.transient else None
    return None
