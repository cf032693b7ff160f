"""Where a belief turned, and what the model saw there."""

import json
import re
from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from toolablate.analysis.attribution.evidence import Evidence
from toolablate.analysis.attribution.explanation import Explanation
from toolablate.analysis.attribution.steps import belief_steps
from toolablate.reports.terminal import numbers
from toolablate.reports.terminal.attribution.wording import Apart, Said, chance
from toolablate.traces.plain import inert, one_line, plain_text
from toolablate.traces.records import Event, ModelCall, ToolCall

QUOTED_LINES, QUOTED_CHARS = 3, 210
_NUMBERED = re.compile(r"L\d+: ")
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
        f"The share of right answers falls {where}, from {chance(flip.before)} over the steps just before to"
        f" {chance(flip.level)} over those just after, and stays down"
        f" (the same step in {100 * flip.confidence:.0f} % of resamples)."
    )
    for number, event in enumerate(told.conversation[start:end], start=start):
        yield from quoted(number, event, told)


def quoted(number: int, event: Event, told: Explanation) -> Iterator[Said]:
    """The lines of a reply or result that matter most: those that check cases in place of the question, or that hold
    the final answer or words of the final reply; else the first."""
    evidence = told.explained.evidence
    match event:
        case ModelCall():
            calls = event.reply.message.tool_calls
            text = "\n".join(_decoded(call.arguments) for call in calls) if calls else event.reply.message.content
            what = "It writes" if calls else "It says"
            matters = tuple(check.text for check in evidence.signals.reformulation.checks)
        case ToolCall():
            text, what = event.output, f"{one_line(event.call.name)} {'gives' if event.status == 'ok' else 'fails'}"
            repeated = (run.text for run in evidence.signals.echo.runs if run.event == number)
            matters = (*_answers(told), *repeated)
        case _:
            return
    yield f"{what} (event {number}):"
    for line in telling_lines(text, matters):
        yield Apart(f"│ {line[:QUOTED_CHARS]}{'…' if len(line) > QUOTED_CHARS else ''}")


def telling_lines(text: str, matters: Sequence[str]) -> list[str]:
    """At most QUOTED_LINES, from the first that holds one of the texts that matter on, or else from the start."""
    read = [line.rstrip() for line in plain_text(text[:MOST_CHARS]).splitlines()[:MOST_LINES] if line.strip()]
    # A page is numbered line by line; what stands before is the browser's own.
    lines = [line for line in read if _NUMBERED.match(line)] or read
    wanted = [each.strip().lower() for each in matters if len(each.strip()) > 1]
    start = next((at for at, line in enumerate(lines) if any(each in line.lower() for each in wanted)), 0)
    shown = [inert(line).plain.replace("\n", " ") for line in lines[start : start + QUOTED_LINES]]
    return shown or ["(nothing)"]


def _answers(told: Explanation) -> tuple[str, ...]:
    """The final answer, letters as the options that they stand for."""
    choices = told.question.choices
    letters = dict(zip(ascii_uppercase, choices, strict=False))
    return tuple(letters.get(each, each) for each in told.explained.evidence.score.extracted)


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
        yield from quoted(number, told.conversation[number], told)


def _listed(events: Sequence[int]) -> str:
    return ", ".join(map(str, events)) or numbers.UNKNOWN
