"""Calls that were refused or failed, tools that were never used, what of the budget was used, how the reply ended."""

import re
from collections.abc import Sequence

from toolablate.analysis.attribution.signals.answers import AnswerForm, can_hold_answer
from toolablate.analysis.attribution.signals.signal_types import (
    BudgetUse,
    CallSeen,
    CallSignal,
    Changed,
    Effort,
    Ending,
    Reading,
    RefusedCall,
    Repeated,
    Steps,
    Trouble,
    TroubleKind,
    UnusedTool,
    model_calls,
)
from toolablate.traces.records import Budget, Event, Limit, Trace

NO_OUTPUT = "(no output)"
SUBSTITUTES = frozenset({"sham", "placebo"})
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

_MISSING_PACKAGE = re.compile(
    r"ModuleNotFoundError: No module named '[A-Za-z_]\w*'|ImportError: Missing optional dependency '[^']+'.*"
)
"""The last line of a traceback where a package is not there at all; without a part of one, code asked for what no such
package has."""

_NOTHING = ("No results for ", "No match for ")


def unused_tools(trace: Trace) -> tuple[UnusedTool, ...]:
    """Of those that a request offered, in the order in which they were. The calls of a provider's tool bear a part of
    its name, or have it in theirs (`web_search_20250305`, `bash_code_execution`)."""
    made = [event for event in trace.events if event.kind == "tool_call"]
    called = {event.call.name for event in made if not event.by_provider}
    by_provider = {event.call.name for event in made if event.by_provider}
    first: dict[str, int] = {}
    for index, event in model_calls(trace):
        for spec in event.request.tools:
            first.setdefault(spec.name, index)
        for tool in event.request.provider_tools:
            name = str(tool.get("name") or tool.get("type") or next(iter(tool), ""))
            first.setdefault(name, index)
            called |= {name} if any(each in name or name in each for each in by_provider) else set()
    return tuple(UnusedTool(tool, index) for tool, index in first.items() if tool not in called)


def calls_seen(calls: Sequence[CallSignal]) -> tuple[CallSeen, ...]:
    return tuple(
        CallSeen(
            *(call.event, call.made.call.name, call.form),
            *(_gave(call), len(call.output), call.made.status == "ok"),
            by_provider=call.made.by_provider,
        )
        for call in calls
    )


def refused_calls(calls: Sequence[CallSignal]) -> tuple[RefusedCall, ...]:
    return tuple(
        RefusedCall(call.event, call.made.call.name, call.made.error) for call in calls if call.made.status == "invalid"
    )


def troubles(trace: Trace, calls: Sequence[CallSignal]) -> tuple[Trouble, ...]:
    """In the order of their events. Recovered is a call after which the same tool worked; an attempt that
    infrastructure spoiled is one where any tool did. That a cell ends without an error makes up for no package."""
    works = [call for call in calls if call.made.status == "ok" and not _found_nothing(call)]
    gives = [call for call in calls if _gave(call)]
    found = [
        Trouble(
            *(call.event, call.made.call.name, kind),
            _later(call.event, gives if kind == "missing_package" else works, call.made.call.name),
        )
        for call in calls
        if (kind := _kind(call)) is not None
    ]
    found += [
        Trouble(index, event.boundary, "infrastructure", _later(index, works))
        for index, event in enumerate(trace.events)
        if event.kind == "failure" and event.boundary in ("tool", "sandbox")
    ]
    return tuple(sorted(found, key=lambda trouble: trouble.event))


def interventions(calls: Sequence[CallSignal]) -> tuple[Changed, ...]:
    return tuple(Changed(call.event, change.intervention) for call in calls for change in call.made.changes)


def _later(event: int, works: Sequence[CallSignal], tool: str | None = None) -> int | None:
    return next((call.event for call in works if call.event > event and tool in (None, call.made.call.name)), None)


def _gave(call: CallSignal) -> bool:
    substituted = any(change.intervention in SUBSTITUTES for change in call.made.changes)
    if substituted or _found_nothing(call):
        return False
    if call.made.status == "ok":
        return call.output.strip() not in ("", NO_OUTPUT)
    raised = _TRACEBACK.search(call.output) if _kind(call) in ("exception", "missing_package") else None
    return raised is not None and bool(call.output[: raised.start()].strip())


def _found_nothing(call: CallSignal) -> bool:
    return call.form in ("search", "page") and call.output.startswith(_NOTHING)


def _kind(call: CallSignal) -> TroubleKind | None:
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
    if call.form == "code" and _MISSING_PACKAGE.fullmatch(call.output.rstrip().rpartition("\n")[2]):
        return "missing_package"
    by_form: dict[str, TroubleKind] = {"code": "exception", "search": "search_failed", "page": "page_not_there"}
    return by_form.get(call.form, "other")


# What of a condition's budget was used, and what ran out.


NEAR = 0.8
"""The share of a limit from which on a trial that it did not stop is told to be near it."""


def budget_use(trace: Trace, budget: Budget, steps: Steps) -> BudgetUse:
    stopped = _stopped(trace)
    used = _used(trace, budget)
    near = () if stopped else tuple(name for name, share in used.items() if share >= NEAR)
    return BudgetUse(stopped, steps.ended if stopped else None, used, near, _not_run(trace))


def _stopped(trace: Trace) -> Limit | None:
    return next((event.limit for event in reversed(trace.events) if event.kind == "answer"), None)


def _used(trace: Trace, budget: Budget) -> dict[str, float]:
    """Shares of the limits that there are. Time that infrastructure lost counts against none."""
    asked = sum(event.purpose == "ask" for _, event in model_calls(trace))
    called = sum(event.kind == "tool_call" for event in trace.events)
    lost = sum(event.seconds for event in trace.events if event.kind == "failure")
    used = {"turns": asked / budget.turns, "seconds": max(trace.seconds - lost, 0.0) / budget.seconds}
    if budget.tool_calls:
        used["tool_calls"] = called / budget.tool_calls
    tokens = (trace.usage.input_tokens or 0) + (trace.usage.output_tokens or 0)
    if budget.tokens is not None:
        used["tokens"] = tokens / budget.tokens
    if budget.cost_usd is not None and trace.cost_usd is not None:
        used["cost_usd"] = trace.cost_usd / budget.cost_usd
    return used


def _not_run(trace: Trace) -> tuple[int, ...]:
    """Replies that asked for more calls than were answered before the next one."""
    indices = [index for index, _ in model_calls(trace)]
    ends = [*indices[1:], len(trace.events)] if indices else []
    return tuple(
        index
        for (index, event), end in zip(model_calls(trace), ends, strict=True)
        if len(event.reply.message.tool_calls) > sum(map(_is_answer, trace.events[index:end]))
    )


def _is_answer(event: Event) -> bool:
    """Whether it is a result that a reply before it asked for; the provider's own calls are a part of the reply after
    them."""
    return event.kind == "tool_call" and not event.by_provider


# What a model did with its calls: searches and pages, and how much code it wrote.


_WORD = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")


def reading(calls: Sequence[CallSignal]) -> Reading:
    """Of all calls that were not refused."""
    made = [call for call in calls if call.made.status != "invalid"]
    searches = [call for call in made if call.form == "search"]
    return Reading(
        searches=tuple(call.event for call in searches),
        pages=tuple(call.event for call in made if call.form == "page" and call.made.status == "ok"),
        repeated=_repeated(searches),
        leaks=tuple(call.event for call in made if any(mark.kind == "answer_leak" for mark in call.made.markers)),
    )


def effort(calls: Sequence[CallSignal]) -> Effort:
    """Lines that hold nothing, or a comment alone, are none."""
    cells = [call for call in calls if call.form == "code" and call.made.status != "invalid"]
    lines = [line.strip() for call in cells for line in call.asked.split("\n")]
    written = sum(bool(line) and not line.startswith("#") for line in lines)
    return Effort(tuple(call.event for call in cells), written)


def _repeated(searches: Sequence[CallSignal]) -> tuple[Repeated, ...]:
    first: dict[tuple[str, ...], int] = {}
    found: list[Repeated] = []
    for call in searches:
        words = tuple(sorted(_WORD.findall(call.asked.casefold())))
        earlier = first.setdefault(words, call.event)
        if earlier != call.event:
            found.append(Repeated(call.event, earlier))
    return tuple(found)


# How the final reply ended, and whether an answer can be in it.


_LONG = 400
"""Characters of a reply that a limit may have ended; a short one that stops anywhere was ended by the model."""

_OPEN = re.compile(r"[^\W_]\s*$|[,(=+\-]\s*$")


def ending(trace: Trace, steps: Steps, form: AnswerForm) -> Ending:
    """A reply that breaks off and is asked for once more counts as it ended at last."""
    last = next((event for _, event in reversed(list(model_calls(trace)))), None)
    cut_off = last is not None and last.reply.finish_reason == "length"
    is_open = len(steps.final) >= _LONG and _OPEN.search(steps.final) is not None
    return Ending(steps.ended, cut_off, is_open, not can_hold_answer(steps.final, form))
