"""How a judge came to a score."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from toolablate.reports.terminal import numbers
from toolablate.reports.terminal.events import ROLE_STYLES, indented, rule, usage_of
from toolablate.traces.plain import inert, one_line
from toolablate.traces.records import JudgeCall, Judgement, Model


def judgement_view(judgement: Judgement, *, full: bool) -> Iterator[RenderableType]:
    """Who judged, how often it was asked and what that cost; where `full`, also what it was asked and said, each
    message once."""
    asked = len(judgement.calls)
    times = "once" if asked == 1 else f"{asked} times"
    yield indented(Text(f"judged by {_named(judgement.model)}, asked {times}; cost {_cost(judgement)}"))
    if not full:
        return
    # A reply goes back with the next request, without what its endpoint told besides its words.
    shown = set[tuple[str, str]]()
    for call in judgement.calls:
        for message in call.request.messages:
            if (told := (message.role, message.content)) not in shown:
                shown.add(told)
                yield indented(rule(f"judge: {message.role}", ROLE_STYLES[message.role], ""))
                yield indented(inert(message.content), 4)
        shown.add(("assistant", call.reply.message.content))
        yield from _reply(call)


def _reply(call: JudgeCall) -> Iterator[RenderableType]:
    reply = call.reply
    cost = "" if call.cost_usd is None else numbers.dollars(call.cost_usd)
    note = " · ".join(part for part in (reply.finish_reason, usage_of(reply.usage), cost) if part)
    yield indented(rule("judge: assistant", ROLE_STYLES["assistant"], note))
    if reply.message.reasoning:
        yield indented(inert(reply.message.reasoning, "dim italic"), 4)
    yield indented(inert(reply.message.content or "(nothing)"), 4)


def _named(model: Model) -> str:
    if model.provider != "openai":
        return f"{one_line(model.name)} ({model.provider})"
    return f"{one_line(model.name)} ({one_line(model.wire_name)} at {one_line(model.endpoint)})"


def _cost(judgement: Judgement) -> str:
    costs = [call.cost_usd for call in judgement.calls]
    known = [cost for cost in costs if cost is not None]
    return numbers.dollars(sum(known)) if len(known) == len(costs) else "unknown"
