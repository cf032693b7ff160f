"""Calls: tools that were never used, calls that were refused, and calls that came to nothing."""

import re
from collections.abc import Sequence

from toolablate.analysis.attribution.signals.records import (
    CallSeen,
    Changed,
    RefusedCall,
    Trouble,
    TroubleKind,
    UnusedTool,
)
from toolablate.analysis.attribution.signals.steps import Call, model_calls
from toolablate.traces.records import Trace

NO_OUTPUT = "(no output)"
STAND_INS = frozenset({"sham", "placebo"})
"""Interventions in whose results nothing is of the tool's own."""

_EXACT: dict[str, TroubleKind] = {
    "timeout": "timeout",
    "out_of_time": "cut_off",
    "call_limit": "cut_off",
    "injected_failure": "injected",
    "not_in_archive": "not_recorded",
    "recorded_error": "not_recorded",
    "after_cutoff": "not_recorded",
    "blocked_by_policy": "not_recorded",
}
_TRACEBACK = re.compile(r"^(?:-{75}$| +(?:Cell In\[|File )|Traceback )", re.MULTILINE)
"""Where IPython, and Python itself, begin to say what was raised."""

_NOTHING = ("No results for ", "No match for ")


def unused_tools(trace: Trace) -> tuple[UnusedTool, ...]:
    """Of those that a request offered, in the order in which they were."""
    called = {event.call.name for event in trace.events if event.kind == "tool_call"}
    first: dict[str, int] = {}
    for index, event in model_calls(trace):
        for spec in event.request.tools:
            first.setdefault(spec.name, index)
    return tuple(UnusedTool(tool, index) for tool, index in first.items() if tool not in called)


def calls_seen(calls: Sequence[Call]) -> tuple[CallSeen, ...]:
    return tuple(CallSeen(call.event, call.made.call.name, call.form, _gave(call)) for call in calls)


def refused_calls(calls: Sequence[Call]) -> tuple[RefusedCall, ...]:
    return tuple(
        RefusedCall(call.event, call.made.call.name, call.made.error) for call in calls if call.made.status == "invalid"
    )


def troubles(trace: Trace, calls: Sequence[Call]) -> tuple[Trouble, ...]:
    """In the order of their events. Recovered is a call after which the same tool worked; an attempt that
    infrastructure spoiled is one where any tool did."""
    works = [call for call in calls if call.made.status == "ok" and not _found_nothing(call)]
    found = [
        Trouble(call.event, call.made.call.name, kind, _later(call.event, works, call.made.call.name))
        for call in calls
        if (kind := _kind(call)) is not None
    ]
    found += [
        Trouble(index, event.boundary, "infrastructure", _later(index, works))
        for index, event in enumerate(trace.events)
        if event.kind == "failure" and event.boundary in ("tool", "sandbox")
    ]
    return tuple(sorted(found, key=lambda trouble: trouble.event))


def interventions(calls: Sequence[Call]) -> tuple[Changed, ...]:
    return tuple(Changed(call.event, change.intervention) for call in calls for change in call.made.changes)


def _later(event: int, works: Sequence[Call], tool: str | None = None) -> int | None:
    return next((call.event for call in works if call.event > event and tool in (None, call.made.call.name)), None)


def _gave(call: Call) -> bool:
    stood_in = any(change.intervention in STAND_INS for change in call.made.changes)
    if stood_in or _found_nothing(call):
        return False
    if call.made.status == "ok":
        return call.output.strip() not in ("", NO_OUTPUT)
    raised = _TRACEBACK.search(call.output) if _kind(call) == "exception" else None
    return raised is not None and bool(call.output[: raised.start()].strip())


def _found_nothing(call: Call) -> bool:
    return call.form in ("search", "page") and call.output.startswith(_NOTHING)


def _kind(call: Call) -> TroubleKind | None:
    """What went wrong with a call that was no mistake in the call itself."""
    error = call.made.error
    if call.made.status == "ok":
        return "nothing_found" if _found_nothing(call) else None
    if call.made.status == "invalid":
        return None
    if error in _EXACT:
        return _EXACT[error]
    if error == "died" or error.startswith("died:"):
        return "dead_kernel"
    by_form: dict[str, TroubleKind] = {"code": "exception", "search": "search_failed", "page": "page_not_there"}
    return by_form.get(call.form, "other")
