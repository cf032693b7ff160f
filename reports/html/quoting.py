"""The words of events by which they are evidence. None is made up: each is a signal's or a record's own."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from string import ascii_uppercase

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.attribution.signals.answers import NUMBER
from toolablate.reports.html.cards import Quote
from toolablate.traces.records import Diagnosis, Event, ModelCall

Quoted = tuple[int, Quote]
"""The event in whose texts it is looked for, and what is looked for."""

_QUOTED = re.compile(r"[“\"「『]([^“”\"「」『』\n]{12,300})[”\"」』]")
"""Shorter ones are names and words."""
MOST_QUOTED = 12
"""Of one reason of a judge."""


def quotes_of(told: Explanation) -> Iterator[Quoted]:
    """Of the events that are evidence of a mechanism, by what the mechanism is known by there."""
    evidence, attribution = told.explained.evidence, told.explained.attribution
    for each in (() if attribution is None else (attribution,)) + told.explained.hypotheses:
        yield from _of_mechanism(told, each.mechanism, frozenset(each.evidence))
    for diagnosis in evidence.diagnoses:
        for event, text in _of_judge(diagnosis):
            yield from _said(told, event, Quote("", text, "quoted by a judge"))


def _of_mechanism(told: Explanation, mechanism: str, events: frozenset[int]) -> Iterator[Quoted]:
    match mechanism:
        case "lock_in":
            yield from _checks(told, events)
            yield from _adopted(told, events)
        case "retrieval_distraction" | "other_results":
            yield from _adopted(told, events)
            yield from _read(told, events)
        case "format":
            yield from _misstated(told, events)
        case "tool_fault":
            yield from _faults(told, events)


def _checks(told: Explanation, events: frozenset[int]) -> Iterator[Quoted]:
    for check in told.explained.evidence.signals.reformulation.checks:
        if check.event in events:
            yield from _asked(told, check.event, Quote("", check.text, "a look at finitely many cases"))


def _read(told: Explanation, events: frozenset[int]) -> Iterator[Quoted]:
    signals = told.explained.evidence.signals
    for backing in signals.backing:
        if backing.event in events:
            says = "claims the answer" if backing.kind == "claimed" else "offers the answer, and no more"
            yield backing.event, Quote("output", backing.text, says)
    for run in signals.echo.runs:
        if run.event is not None and run.event in events:
            yield run.event, Quote("output", run.text, "the final reply has these words, too", "words")


def _misstated(told: Explanation, events: frozenset[int]) -> Iterator[Quoted]:
    form = told.explained.evidence.signals.misstated
    for item in _answer(told, "the answer, in another form", last=True):
        if form is not None and form.event in events:
            yield from _said(told, form.event, item)


def _faults(told: Explanation, events: frozenset[int]) -> Iterator[Quoted]:
    for trouble in told.explained.evidence.signals.troubles:
        event = _event(told, trouble.event)
        if trouble.event in events and event is not None and event.kind == "tool_call":
            yield trouble.event, Quote("output", event.error, "what went wrong", last=True)


def _adopted(told: Explanation, events: frozenset[int]) -> Iterator[Quoted]:
    """The final answer where results hold it, and where the model turned to it."""
    signals = told.explained.evidence.signals
    for result in () if signals.adoption is None else signals.adoption.results:
        if result in events:
            yield from ((result, _at(item, "output")) for item in _answer(told, "the answer that was given in the end"))
    for change in signals.changes:
        if change.after.event in events and change.after.answer == signals.answer:
            for item in _answer(told, "the answer that it turned to", last=True):
                yield from _said(told, change.after.event, item)


def _answer(told: Explanation, says: str, *, last: bool = False) -> Iterator[Quote]:
    """Letters as the options that they stand for: a letter alone is found anywhere, and so is a digit."""
    options = dict(zip(ascii_uppercase, told.question.choices, strict=False))
    for item in told.explained.evidence.signals.answer:
        if told.question.target.kind == "choice":
            yield Quote("", options.get(item, ""), says, last=last)
        elif NUMBER.fullmatch(item):
            yield Quote("", item, says, "number", last or len(item) < 2)
        else:
            yield Quote("", item, says, last=last)


def _of_judge(diagnosis: Diagnosis) -> Iterator[tuple[int, str]]:
    """What stands between quotation marks in a judge's reasons, for each event that the judge points to."""
    for reason, events in (
        (diagnosis.reason, diagnosis.evidence),
        (diagnosis.distraction_reason, diagnosis.distraction_evidence),
    ):
        quoted = islice(_QUOTED.finditer(reason), MOST_QUOTED)
        yield from ((event, found[1]) for found in quoted for event in events)


def _said(told: Explanation, number: int, quote: Quote) -> Iterator[Quoted]:
    """In what a model said at an event, or for an answer at the reply right above, or in what a tool gave."""
    event = _event(told, number)
    match event.kind if event else "":
        case "model_call":
            yield from ((number, _at(quote, part)) for part in ("reply", "reply-reasoning"))
        case "answer":
            yield number, _at(quote, "answer")
            above = max(
                (at for at, each in enumerate(told.conversation[:number]) if each.kind == "model_call"), default=0
            )
            yield above, _at(quote, "reply")
        case "tool_call":
            yield number, _at(quote, "output")


def _asked(told: Explanation, number: int, quote: Quote) -> Iterator[Quoted]:
    """In what was called: where the call was answered, and in the reply that made it."""
    event = _event(told, number)
    if event is None or event.kind != "tool_call":
        return
    yield number, _at(quote, "call")
    for above in range(number - 1, -1, -1):
        reply = told.conversation[above]
        if isinstance(reply, ModelCall):
            calls = [call.id for call in reply.reply.message.tool_calls]
            if event.call.id in calls:
                yield above, _at(quote, f"reply-call-{calls.index(event.call.id)}")
                return


def _event(told: Explanation, number: int) -> Event | None:
    """None where there is none: a judge may point to any number."""
    return told.conversation[number] if number < len(told.conversation) else None


def _at(quote: Quote, part: str) -> Quote:
    return replace(quote, part=part)
