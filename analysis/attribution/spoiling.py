"""What spoiled a trial from outside its reasoning: a limit that ran out, a tool that failed."""

from collections.abc import Iterable

from toolablate.analysis.attribution.signals import Signals, Trouble

_NO_FAULTS = frozenset({"exception", "nothing_found", "cut_off"})
"""Kinds of trouble that are none of the tool's: the model's own code, and what was not there or not allowed."""

BEYOND_BUDGETS = frozenset({"reply_length", "context_length"})
"""Limits that a larger budget does not move."""


def ran_out(signals: Signals) -> bool:
    """Whether a limit of the condition's budget ended it."""
    return signals.budget.stopped is not None and signals.budget.stopped not in BEYOND_BUDGETS


def faults(signals: Signals) -> tuple[int, ...]:
    """The events of calls that a tool is to blame for, and after which it never worked."""
    return tuple(each.event for each in unrecovered(signals.troubles))


def fail_by_themselves(troubles: Iterable[Trouble]) -> bool:
    """Whether one of these is a tool's that no intervention made fail, and was not recovered from."""
    return any(each.kind != "injected" for each in unrecovered(troubles))


def unrecovered(troubles: Iterable[Trouble]) -> list[Trouble]:
    """Those that a tool is to blame for, and after which it never worked."""
    return [each for each in troubles if each.recovered is None and each.kind not in _NO_FAULTS]
