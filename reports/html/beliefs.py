"""Why a trial went as it did, on a page: attribution, early answers after each step, quoted evidence."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from string import ascii_uppercase

from markupsafe import Markup

from toolablate.analysis.attribution.belief import EarlyAnswers
from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.signals.answers import NUMBER
from toolablate.reports.cause_wording import attributed, chance, method_name
from toolablate.reports.html.cards import Marks, Quote
from toolablate.reports.html.marking import inert
from toolablate.reports.terminal.explanation import BeliefStep, around_fall, step_lines
from toolablate.reports.why.causes import hundred
from toolablate.reports.why.named_causes import named_shares
from toolablate.reports.why.turn import count, last_reply_step, told_flip, turn_of
from toolablate.traces.records import Attribution, Diagnosis, Event, ModelCall, Question, Score
from toolablate.traces.terminal_text import one_line

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
        case "interaction":
            yield from _checks(told, events)
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
    return answer_quotes(told.question, told.explained.evidence.signals.answer, says, last=last)


def answer_quotes(question: Question, items: Iterable[str], says: str, *, last: bool = False) -> Iterator[Quote]:
    """Letters as the options that they stand for: a letter alone is found anywhere, and so is a digit."""
    options = dict(zip(ascii_uppercase, question.choices, strict=False))
    for item in items:
        if question.target.kind == "choice":
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


# What an attribution says, put to the events that it speaks of.


_EVENTS = re.compile(r"\bevents? \d{1,9}(?:(?:, | to | and )\d{1,9})*")
_NUMBER = re.compile(r"\d+")


def marks_of(told: Explanation) -> Mapping[int, Marks]:
    """By the numbers of events; those of which nothing is said are not among them."""
    evidence, attribution = told.explained.evidence, told.explained.attribution
    speaks: defaultdict[int, dict[str, list[str]]] = defaultdict(dict)
    for each in (() if attribution is None else (attribution,)) + told.explained.hypotheses:
        if each.mechanism != "unknown" and (name := _marked(each, told)):
            for event in each.evidence:
                speaks[event].setdefault(name, []).append(method_name(each))
    for diagnosis in evidence.diagnoses:
        if diagnosis.error_type is not None:
            for event in diagnosis.evidence:
                speaks[event].setdefault(diagnosis.error_type.replace("_", " "), []).append("by a judge")
    falls = frozenset(falling(told))
    beliefs = {}
    if evidence.trajectory is not None:
        known = {each.step: each for each in evidence.trajectory.beliefs}
        beliefs = {event: known[step] for step, event in enumerate(evidence.steps) if step in known}
    quotes: defaultdict[int, list[Quote]] = defaultdict(list)
    for event, quote in quotes_of(told):
        quotes[event].append(quote)
    events = sorted({*speaks, *falls, *beliefs, *quotes})
    return {
        event: Marks(
            evidence=tuple(_evidence(name, methods) for name, methods in speaks[event].items()),
            belief=_believed_at(beliefs[event], evidence) if event in beliefs else "",
            falls=event in falls,
            quotes=tuple(dict.fromkeys(quotes[event])) if event in quotes else (),
        )
        for event in events
    }


def _marked(found: Attribution, told: Explanation) -> str:
    """The cause that its events are evidence for, with the probability where another is likelier; empty of what the
    page does not name."""
    attribution, name = told.explained.attribution, attributed(found)
    if attribution is None or attribution.method != "replay":
        return name
    shares = named_shares(told, attribution)
    known = dict(shares.others)
    if found.mechanism == shares.cause:
        return name
    return f"{name} (probability {hundred(known[found.mechanism])})" if known.get(found.mechanism) else ""


def with_answer(
    marks: Mapping[int, Marks], question: Question, scores: Sequence[Score], conversation: Sequence[Event]
) -> Mapping[int, Marks]:
    """The same with the answer, as the last scorer that read one did, marked in the last reply."""
    said = max((at for at, event in enumerate(conversation) if event.kind == "model_call"), default=None)
    items = next((score.extracted for score in reversed(scores) if score.extracted), ())
    if said is None or not items:
        return marks
    answered = answer_quotes(question, items, "the answer that was given in the end", last=True)
    own = marks.get(said, Marks())
    quotes = tuple(dict.fromkeys((*own.quotes, *(_at(each, "reply") for each in answered))))
    return {**marks, said: replace(own, quotes=quotes)}


def _evidence(name: str, methods: Sequence[str]) -> str:
    return f"evidence for {name}, {' and '.join(dict.fromkeys(methods))}"


def falling(told: Explanation) -> range:
    """The events between the last belief before the fall and the first after it; none where no clear place is known."""
    turn = turn_of(told.explained.evidence)
    return range(0) if turn is None else range(turn.start, turn.end)


def believed(belief: EarlyAnswers) -> str:
    """`.80 (.40 to .96)`, of samples at one step."""
    right = belief.right
    return f"{chance(right.mean)} ({chance(right.low)} to {chance(right.high)})"


def _believed_at(belief: EarlyAnswers, evidence: Evidence) -> str:
    again = _again(belief, evidence)
    return f"{believed(belief)}{f'{again}: {count([belief])} right' if again else ''}{_unread(belief)}"


def _again(belief: EarlyAnswers, evidence: Evidence) -> str:
    """What it is measured by, where nobody was asked at once."""
    return ", by its last reply, drawn again" if belief.step == last_reply_step(evidence) else ""


def _unread(belief: EarlyAnswers) -> str:
    """How many replies have no readable answer, and were not asked for it once more."""
    unread = round(belief.unreadable.mean * belief.samples)
    return f"; {unread} of {belief.samples} have no readable answer" if unread else ""


def evidence_events(told: Explanation) -> Sequence[int]:
    """Of the attribution that counts, and where the belief falls."""
    attribution = told.explained.attribution
    return sorted({*(attribution.evidence if attribution else ()), *falling(told)[:1]})


def with_links(sentence: str, address: Callable[[int], str]) -> Markup:
    """A sentence of ours in which events that it names lead to them."""
    return Markup("").join(_linked(sentence, address))


def _linked(sentence: str, address: Callable[[int], str]) -> Iterator[Markup]:
    place = 0
    for named in _EVENTS.finditer(sentence):
        for number in _NUMBER.finditer(sentence, named.start(), named.end()):
            yield inert(sentence[place : number.start()])
            yield Markup('<a href="{}">{}</a>').format(address(int(number[0])), number[0])
            place = number.end()
    yield inert(sentence[place:])


HEIGHT, TOP, LEFT = 96.0, 12.0, 34.0
LEAST_STEP, MOST_STEP, WIDTH = 24.0, 56.0, 560.0
MOST_STEPS, FIRST_STEPS, LAST_STEPS, AROUND = 200, 100, 40, 10
"""Lines of a table: all of so many, of more these."""


@dataclass(frozen=True, slots=True)
class Point:
    """The belief before one event: places in the figure, in pixels, of the share of right answers and of the ends of
    its 95 % interval."""

    event: int
    x: float
    y: float
    low: float
    high: float
    says: str


@dataclass(frozen=True, slots=True)
class BeliefFigure:
    """`fall` is the stretch, from x to x, in which the belief falls for good; None where it does not."""

    width: float
    height: float
    points: tuple[Point, ...]
    fall: tuple[float, float] | None
    levels: tuple[tuple[str, float], ...]

    @property
    def path(self) -> str:
        return " ".join(f"{point.x:.1f},{point.y:.1f}" for point in self.points)


@dataclass(frozen=True, slots=True)
class StepLine:
    """A line of the table: `share` is that of right answers after it, None where nobody asked. Right before it
    `skipped` lines are left out."""

    line: BeliefStep
    falls: bool
    skipped: int = 0

    @property
    def share(self) -> float | None:
        return self.line.right / self.line.samples if self.line.samples else None


def belief_figure(told: Explanation) -> BeliefFigure | None:
    """None where no answers were asked for along the trial."""
    evidence = told.explained.evidence
    if evidence.trajectory is None:
        return None
    beliefs = evidence.trajectory.beliefs
    last = max(beliefs[-1].step, 1)
    step = min(MOST_STEP, max(LEAST_STEP, (WIDTH - LEFT) / last))

    def across(place: int) -> float:
        return LEFT + 12 + step * place

    flip = told_flip(evidence)
    return BeliefFigure(
        width=across(last) + 24,
        height=TOP + HEIGHT + 24,
        points=tuple(
            _point(each, evidence.steps[each.step], across(each.step), _again(each, evidence)) for each in beliefs
        ),
        fall=None if flip is None else (across(flip.after), across(flip.step)),
        levels=tuple((name, _down(share)) for name, share in (("1", 1.0), (".5", 0.5), ("0", 0.0))),
    )


def told_steps(told: Explanation) -> Iterator[StepLine]:
    """What the trial did, the question alone first: of very many steps the first, the last, and those where the belief
    falls."""
    evidence, lines = told.explained.evidence, tuple(step_lines(told))
    flip, turn = told_flip(evidence), turn_of(evidence)
    kept = set(range(len(lines)))
    if len(lines) > MOST_STEPS:
        kept = {*range(FIRST_STEPS), *range(len(lines) - LAST_STEPS, len(lines))}
        kept |= {*around_fall(flip, lines, AROUND)}
    skipped = 0
    for place, line in enumerate(lines):
        if place in kept:
            falls = turn is not None and line.event is not None and turn.holds(line.event)
            yield StepLine(line, falls, skipped)
        skipped = 0 if place in kept else skipped + 1


def _point(belief: EarlyAnswers, event: int, x: float, again: str) -> Point:
    right = belief.right
    leading = max(belief.options, key=lambda name: belief.options[name].mean, default="")
    most = f"; most say {one_line(leading, max_chars=40)}" if leading else ""
    says = f"before event {event}{again}: {believed(belief)} right{most}, of {belief.samples} answers"
    return Point(event, x, _down(right.mean), _down(right.low), _down(right.high), says)


def _down(share: float) -> float:
    return TOP + HEIGHT * (1 - share)
