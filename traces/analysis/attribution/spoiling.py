"""What spoiled a trial from outside its reasoning: a limit that ran out, a tool that failed."""

from toolablate.traces.analysis.attribution.signals import Signals

NO_FAULTS = frozenset({"exception", "nothing_found", "cut_off"})
"""Kinds of trouble that are none of the tool's: the model's own code, and what was not there or not allowed."""

BEYOND_BUDGETS = frozenset({"reply_length", "context_length"})
"""Limits that a larger budget does not move."""


def ran_out(signals: Signals) -> bool:
    """Whether a limit of the condition's budget ended it."""
    return signals.budget.stopped is not None and signals.budget.stopped not in BEYOND_BUDGETS


def faults(signals: Signals) -> tuple[int, ...]:
    """The calls that a tool is to blame for and that were not recovered from, by their events."""
    return tuple(each.event for each in signals.troubles if each.recovered is None and each.kind not in NO_FAULTS)
