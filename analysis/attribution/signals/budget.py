"""What of a condition's budget was used, and what ran out."""

from toolablate.analysis.attribution.signals.records import BudgetUse
from toolablate.analysis.attribution.signals.steps import Steps, model_calls
from toolablate.traces.records import Budget, Limit, Trace

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
        if len(event.reply.message.tool_calls) > sum(each.kind == "tool_call" for each in trace.events[index:end])
    )
