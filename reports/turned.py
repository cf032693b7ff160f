"""Where the early answers of one trial turned, what the model saw there, and what each result did: in sentences."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from string import ascii_uppercase

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.pairing import RIGHT
from toolablate.reports import numbers
from toolablate.reports.cause_wording import chance
from toolablate.reports.not_known import Apart, Said
from toolablate.reports.turn import inferred, never_fell, turn_of
from toolablate.traces.records import Event, ModelCall, ToolCall
from toolablate.traces.terminal_text import inert, one_line, plain_text

QUOTED_LINES, QUOTED_CHARS = 3, 210
_NUMBERED = re.compile(r"L\d+: ")
_WORD = re.compile(r"\w{4,}")
MOST_OUTPUT_LINES, MOST_CHARS = 400, 40_000


def turned(told: Explanation) -> Iterator[Said]:
    """Sentences, and lines that are quoted."""
    evidence = told.explained.evidence
    if evidence.trajectory is None:
        yield from _by_trace(told)
        return
    turn = turn_of(evidence)
    if turn is None:
        yield never_fell(evidence)
        return
    yield from inferred(turn, told.explained.attribution, evidence)
    yield f"The same place comes out in {turn.resamples}."
    back = turn.sure and [
        each
        for each in evidence.trajectory.beliefs
        if evidence.steps[each.step] > turn.end and each.right.mean >= RIGHT
    ]
    if back:
        right = round(back[0].right.mean * back[0].samples)
        yield f"Before event {evidence.steps[back[0].step]}, {right} of {back[0].samples} are right again."
    start, end = turn.start, turn.end
    for number, event in enumerate(told.conversation[start:end], start=start):
        yield from quoted(number, event, told)


def quoted(number: int, event: Event, told: Explanation) -> Iterator[Said]:
    """The lines of a reply or result that matter most: those that check cases in place of the question, or that hold
    the final answer or words of the final reply; else those with words of the wrong options that it chose, or the
    first."""
    evidence = told.explained.evidence
    hints: Set[str] = frozenset()
    match event:
        case ModelCall():
            calls = event.reply.message.tool_calls
            text = "\n".join(_decoded(call.arguments) for call in calls) if calls else event.reply.message.content
            what = "It writes" if calls else "It says"
            matters = tuple(check.text for check in evidence.signals.reformulation.checks)
        case ToolCall():
            text, what = event.output, f"{one_line(event.call.name)} {'gives' if event.status == 'ok' else 'fails'}"
            repeated = (run.text for run in evidence.signals.echo.runs if run.event == number)
            matters, hints = (*_answers(told), *repeated), _words_of_wrong_options(told)
        case _:
            return
    yield f"{what} (event {number}):"
    for line in telling_lines(text, matters, hints):
        yield Apart(f"│ {line[:QUOTED_CHARS]}{'…' if len(line) > QUOTED_CHARS else ''}")


def telling_lines(text: str, matters: Sequence[str], hints: Set[str] = frozenset()) -> list[str]:
    """At most QUOTED_LINES, from the first that holds one of the texts that matter on; or else from the first of those
    with the most of these words, rare ones first, or from the start."""
    read = [line.rstrip() for line in plain_text(text[:MOST_CHARS]).splitlines()[:MOST_OUTPUT_LINES] if line.strip()]
    # A page is numbered line by line; what stands before is the browser's own.
    lines = [line for line in read if _NUMBERED.match(line)] or read
    wanted = [each.strip().lower() for each in matters if len(each.strip()) > 1]
    start = next((at for at, line in enumerate(lines) if any(each in line.lower() for each in wanted)), None)
    if start is None:
        held = [hints & _words(line) for line in lines]
        lines_with = Counter(word for words in held for word in words)
        telling = [sum(1 / lines_with[word] for word in sorted(words)) for words in held]
        # A sentence goes over several lines of a page.
        start = max(0, telling.index(max(telling)) - 1) if telling else 0
    shown = [inert(line).plain.replace("\n", " ") for line in lines[start : start + QUOTED_LINES]]
    return shown or ["(nothing)"]


def _answers(told: Explanation) -> tuple[str, ...]:
    """The final answer, letters as the options that they stand for."""
    choices = told.question.choices
    letters = dict(zip(ascii_uppercase, choices, strict=False))
    return tuple(letters.get(each, each) for each in told.explained.evidence.score.extracted)


def _words_of_wrong_options(told: Explanation) -> Set[str]:
    """Words of the wrong options that it chose which neither the question nor another option has."""
    question = told.question
    target = question.target
    if target.kind != "choice":
        return frozenset()
    chosen = set(told.explained.evidence.score.extracted) - set(target.letters)
    options = dict(zip(ascii_uppercase, question.choices, strict=False))
    others = " ".join(option for letter, option in options.items() if letter not in chosen)
    return _words(" ".join(options.get(letter, "") for letter in chosen)) - _words(f"{question.prompt} {others}")


def _words(text: str) -> Set[str]:
    return frozenset(_WORD.findall(text.lower()))


def _decoded(arguments: str) -> str:
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    if not isinstance(given, dict):
        return arguments
    return "\n".join(each if isinstance(each, str) else str(each) for each in given.values())


def _by_trace(told: Explanation) -> Iterator[Said]:
    signals = told.explained.evidence.signals
    yield "No early answers were asked for."
    if not signals.changes:
        return
    change = signals.changes[-1]
    seen = f", having seen the results of events {_events_listed(change.results)}" if change.results else ""
    before, after = (one_line(", ".join(each.answer)) for each in (change.before, change.after))
    yield (
        f"Its text supports {before} at event {change.before.event}, and {after} at event {change.after.event}{seen}."
    )
    for number in change.results[-1:]:
        yield from quoted(number, told.conversation[number], told)


def _events_listed(events: Sequence[int]) -> str:
    return ", ".join(map(str, events)) or numbers.UNKNOWN


# What each result did, where replays left them out one by one.


SHOWN_RESULTS = 3
LEAST_SHOWN = 0.005


def shapley_lines(evidence: Evidence) -> Iterator[str]:
    """Shapley values of results, the most harmful first."""
    ordered = sorted(evidence.shapley.items(), key=lambda item: item[1].value)
    for event, shapley in ordered[:SHOWN_RESULTS]:
        sign = "+" if shapley.value >= 0 else "\u2212"
        error = "" if shapley.standard_error is None else f" ({_spread(shapley.standard_error)})"
        yield f"Shapley value of event {event}'s result: {sign}{chance(abs(shapley.value))}{error}."


def _spread(standard_error: float) -> str:
    """Runs that all end alike have no spread, which does not make them certain."""
    return (
        f"standard error {chance(standard_error)}" if standard_error >= LEAST_SHOWN else "runs of a kind all end alike"
    )
