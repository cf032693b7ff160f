"""Where a belief turned, and what the model saw there."""

import json
from collections.abc import Iterator, Sequence

from toolablate.traces.analysis.attribution.evidence import Evidence
from toolablate.traces.analysis.attribution.explanation import Explanation
from toolablate.traces.analysis.attribution.steps import belief_steps
from toolablate.traces.records import Event, ModelCall, ToolCall
from toolablate.traces.terminal import numbers
from toolablate.traces.terminal.attribution.wording import Apart, Said, chance
from toolablate.traces.terminal.plain import inert, one_line, plain_text, shortened

QUOTED_LINES, QUOTED_CELLS = 3, 72
MOST_LINES, MOST_CHARS = 400, 40_000


def turned(told: Explanation) -> Iterator[Said]:
    """Sentences, and lines that are quoted."""
    evidence = told.explained.evidence
    if evidence.trajectory is None:
        yield from _by_trace(told)
        return
    if evidence.flip is None:
        yield _never_fell(evidence)
        return
    flip = evidence.flip
    steps = belief_steps(told.conversation)
    start, end = steps[flip.after], steps[flip.step]
    where = f"at event {start}" if end - start == 1 else f"in events {start} to {end - 1}"
    yield (
        f"The share of right answers falls {where}, from {chance(flip.before)} to {chance(flip.level)}, and stays down"
        f" (the same step in {100 * flip.confidence:.0f} % of resamples)."
    )
    for number, event in enumerate(told.conversation[start:end], start=start):
        yield from quoted(number, event, evidence)


def quoted(number: int, event: Event, evidence: Evidence) -> Iterator[Said]:
    """The lines of a reply or result that matter most: those that check cases in place of the question, or hold the
    final answer; else the first."""
    match event:
        case ModelCall():
            calls = event.reply.message.tool_calls
            text = "\n".join(_decoded(call.arguments) for call in calls) if calls else event.reply.message.content
            what = "It writes" if calls else "It says"
            matters = tuple(check.text for check in evidence.signals.reformulation.checks)
        case ToolCall():
            text, what = event.output, f"{one_line(event.call.name)} gives"
            matters = evidence.score.extracted
        case _:
            return
    yield f"{what} (event {number}):"
    yield from (Apart(f"│ {shortened(line, QUOTED_CELLS)}") for line in telling_lines(text, matters))


def telling_lines(text: str, matters: Sequence[str]) -> list[str]:
    """At most QUOTED_LINES, from the first that holds one of the texts that matter on, or else from the start."""
    lines = [line.rstrip() for line in plain_text(text[:MOST_CHARS]).splitlines()[:MOST_LINES] if line.strip()]
    wanted = [each.strip().lower() for each in matters if len(each.strip()) > 1]
    start = next((at for at, line in enumerate(lines) if any(each in line.lower() for each in wanted)), 0)
    shown = [inert(line).plain.replace("\n", " ") for line in lines[start : start + QUOTED_LINES]]
    return shown or ["(nothing)"]


def _decoded(arguments: str) -> str:
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    if not isinstance(given, dict):
        return arguments
    return "\n".join(each if isinstance(each, str) else str(each) for each in given.values())


def _never_fell(evidence: Evidence) -> str:
    assert evidence.trajectory is not None
    first, last = evidence.trajectory.beliefs[0].right.mean, evidence.trajectory.beliefs[-1].right.mean
    ends = f"{chance(first)} right before anything was read, {chance(last)} before the final reply"
    return f"The belief in the right answer does not fall for good at any step that was asked about: {ends}."


def _by_trace(told: Explanation) -> Iterator[Said]:
    signals = told.explained.evidence.signals
    yield "What it would have answered after each step was not asked."
    if not signals.changes:
        return
    change = signals.changes[-1]
    seen = f", having seen the results of events {_listed(change.results)}" if change.results else ""
    before, after = (one_line(", ".join(each.answer)) for each in (change.before, change.after))
    yield (
        f"By its words it spoke for {before} at event {change.before.event}, and for {after} at event"
        f" {change.after.event}{seen}."
    )
    for number in change.results[-1:]:
        yield from quoted(number, told.conversation[number], told.explained.evidence)


def _listed(events: Sequence[int]) -> str:
    return ", ".join(map(str, events)) or numbers.UNKNOWN
