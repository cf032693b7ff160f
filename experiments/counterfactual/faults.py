"""Calls that went wrong for no fault of the model, and the interventions that made them."""

from collections.abc import Collection, Iterable

from toolablate.experiments.counterfactual.recorded import REPLAY
from toolablate.traces.records import Event, ToolCall


def at_fault(events: Iterable[Event]) -> frozenset[str]:
    """The interventions that made calls fail. Where the tool was not called, that is the first that changed anything;
    where it worked, any of those that did."""
    return frozenset(
        change.intervention
        for event in events
        if isinstance(event, ToolCall) and was_made_to_fail(event)
        for change in (event.changes if event.original else event.changes[:1])
    )


def was_made_to_fail(event: ToolCall) -> bool:
    """By what stands between the model and the tool, which was not called, or had worked."""
    changed = any(change.intervention != REPLAY for change in event.changes)
    return event.status == "error" and changed and (event.original is None or event.original.status == "ok")


def is_faulty(event: ToolCall, coding: Collection[str]) -> bool:
    """Whether sound tools would have given something else; an exception of the model's own code they would not."""
    if event.status != "error":
        return False
    own = event.call.name in coding and event.error != "timeout" and event.error.partition(":")[0] != "died"
    return was_made_to_fail(event) or not own
