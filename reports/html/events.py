"""The events of a trace as parts of a page; long texts are cut and repeats folded."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import is_

from toolablate.reports import numbers
from toolablate.reports.html.cards import Attachment, Body, Card, Form, Panel, Remark, Sign, Text, cut
from toolablate.reports.outline import gist
from toolablate.reports.terminal.trace_lines import usage_of
from toolablate.traces.records import (
    Answer,
    Event,
    Failure,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    Rebuilt,
    ToolCall,
    ToolReply,
    ToolRequest,
)
from toolablate.traces.terminal_text import one_line


def part_text(event: Event, part: str) -> str | None:
    """The whole of one text; None where the event has none of that name."""
    return next((text for name, text in _parts(event) if name == part), None)


def offered_text(request: ModelRequest) -> str:
    """The tools that a model is told of, as JSON."""
    tools = [*(tool.model_dump() for tool in request.tools), *request.provider_tools]
    return json.dumps(tools, ensure_ascii=False, indent=2)


def _parts(event: Event) -> Iterator[tuple[str, str]]:
    match event:
        case ModelCall():
            yield from _said(event)
        case ToolCall():
            yield "call", event.call.arguments
            yield from _given_parts(event, "output")
            if event.original is not None:
                yield from _given_parts(event.original, "original")
        case Failure():
            yield "failure", event.message
            if event.reply is not None:
                yield from _message_parts(event.reply.message, "reply")
        case Answer():
            yield "answer", event.text
        case Rebuilt():
            for mismatch in event.mismatches:
                yield f"recorded-{mismatch.event}", mismatch.recorded
                yield f"now-{mismatch.event}", mismatch.now


def _said(event: ModelCall) -> Iterator[tuple[str, str]]:
    for place, message in enumerate(event.request.messages):
        yield from _message_parts(message, f"message-{place}")
    yield from _message_parts(event.reply.message, "reply")
    for place, message in enumerate(event.reply.alternatives):
        yield from _message_parts(message, f"alternative-{place}")
    yield "tools", offered_text(event.request)


def _message_parts(message: Message, name: str) -> Iterator[tuple[str, str]]:
    yield name, message.content
    yield f"{name}-reasoning", message.reasoning
    for place, call in enumerate(message.tool_calls):
        yield f"{name}-call-{place}", call.arguments
    yield f"{name}-calls", "\n".join(f"{call.name} {call.arguments}" for call in message.tool_calls)


def _given_parts(given: ToolCall | ToolReply, name: str) -> Iterator[tuple[str, str]]:
    yield name, given.output
    yield f"{name}-error", given.error
    for place, artifact in enumerate(given.artifacts):
        yield f"{name}-artifact-{place}", artifact.data


# What requests repeat: each holds the whole conversation before it, and a page shows every message once.


Key = tuple[object, ...]


@dataclass(slots=True)
class Repeats:
    """Knows what was shown. A message that is said twice in one request is shown twice.

    `last` is the request before and `counted` what is in it; `shown` is how often a message was, `outputs` are the
    texts of tools, which are shown where they came. `keys` are by address, as records that a store read once are.
    """

    last: Sequence[Message] = ()
    counted: Counter[Key] = field(default_factory=Counter)
    shown: Counter[Key] = field(default_factory=Counter)
    outputs: set[str] = field(default_factory=set)
    keys: dict[int, Key] = field(default_factory=dict)

    def replied(self, message: Message) -> None:
        self.shown[self._key(message)] += 1

    def asked(self, messages: Sequence[Message]) -> tuple[list[tuple[int, Message]], int]:
        """What is new in a request, with its place there; and how many messages of the request before it leaves out.
        Takes time in proportion to their number, not to their length."""
        before, begin = self.counted, len(self.last)
        if len(messages) >= begin and all(map(is_, self.last, messages)):
            counted = self.counted
        else:
            counted, begin = Counter[Key](), 0
        new = []
        for place, message in enumerate(messages[begin:], start=begin):
            key = self._key(message)
            counted[key] += 1
            if counted[key] <= self.shown[key]:
                continue
            self.shown[key] += 1
            if message.role != "tool" or message.content not in self.outputs:
                new.append((place, message))
        self.last, self.counted = messages, counted
        return new, 0 if counted is before else (before - counted).total()

    def _key(self, message: Message) -> Key:
        """What it says; what a model thought may be given back to it or not."""
        key = self.keys.get(id(message))
        if key is None:
            calls = ((call.id, call.name, call.arguments) for call in message.tool_calls)
            images = (picture.data for picture in message.images)
            key = (message.role, message.content, message.tool_call_id, *calls, *images)
            self.keys[id(message)] = key
        return key


MOST_CALLS = 12
"""How many calls of one reply are shown; more lead to a text of all."""
LONG_REASONING, LONG_SYSTEM = 1_200, 400
"""Beyond so many characters it is folded."""
MOST_ARTIFACTS = 20
_LAID_OUT_CHARS, _LAID_OUT_BRACKETS = 20_000, 400
_ONE_LINE_CHARS = 90
_USUAL_ENDS = ("stop", "tool_calls")


def event_cards(events: Iterable[Event], *, start: int = 0, imported: bool = False) -> tuple[Card, ...]:
    """In their order, numbered from `start`. Of a request only what no earlier event showed is in a card. `imported`
    are events of a log of others: times of 0 and the finish reason `other` stand for what that log does not tell."""
    seen = _Seen(imported)
    cards = (replace(seen.card(event, at), gist=gist(event)) for at, event in enumerate(events, start=start))
    return tuple(replace(card, at=None) if imported and not (card.at or card.took) else card for card in cards)


@dataclass(slots=True)
class _Seen:
    """Knows what was shown: `replies` are texts of the model's own, `calls` the ids of calls with their arguments,
    `offered` the tools of the last request."""

    imported: bool
    repeats: Repeats = field(default_factory=Repeats)
    replies: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    offered: tuple[object, ...] | None = None

    def card(self, event: Event, number: int) -> Card:
        match event:
            case ModelCall():
                return self._model_call(event, number)
            case ToolCall():
                return self._tool_call(event, number)
            case Failure():
                return _failure(event, number)
            case Answer():
                return self._answer(event, number)
            case Rebuilt():
                return _rebuilt(event, number)

    def _model_call(self, event: ModelCall, number: int) -> Card:
        messages = tuple(self._new_messages(event))
        reply, calls = event.reply, event.reply.message.tool_calls
        self.repeats.replied(reply.message)
        self.replies.add(reply.message.content)
        self.calls.update(call.id for call in calls[:MOST_CALLS])
        usual = (*_USUAL_ENDS, "other") if self.imported else _USUAL_ENDS
        odd = reply.finish_reason if reply.finish_reason not in usual else ""
        final = "last request, without tools" if event.purpose == "final" else ""
        cost = "" if event.cost_usd is None else numbers.dollars(event.cost_usd)
        said = Panel("assistant", "assistant", tuple(_message(reply.message, "reply")))
        names = ", ".join(dict.fromkeys(one_line(call.name, max_chars=40) for call in calls[:MOST_CALLS]))
        return Card(
            number=number,
            kind="model_call",
            title=f"calls {names}" if calls else "replies",
            at=event.at,
            took=event.seconds,
            panels=(*messages, *self._offer(event), said, *_alternatives(reply)),
            sign="budget" if odd == "length" else "failed" if odd else "",
            notes=_there(
                one_line(event.node, max_chars=80),
                final,
                f"ended by {odd.replace('_', ' ')}" if odd else "",
                usage_of(reply.usage),
                cost,
            ),
        )

    def _new_messages(self, event: ModelCall) -> Iterator[Panel]:
        new, left_out = self.repeats.asked(event.request.messages)
        if left_out:
            label = f"Without {numbers.counted(left_out, 'message')} of the request before"
            yield Panel("system", "request", (Remark(label),))
        for place, message in new:
            folded = message.role == "system" and len(message.content) > LONG_SYSTEM
            yield Panel(message.role, message.role, tuple(_message(message, f"message-{place}")), folded=folded)
            if message.role == "assistant":
                self.replies.add(message.content)

    def _offer(self, event: ModelCall) -> Iterator[Panel]:
        """Which tools the model is told of, where these are others than before."""
        theirs = (str(tool.get("type") or next(iter(tool), "")) for tool in event.request.provider_tools)
        offer = (*(tool.name for tool in event.request.tools), *(f"{name} (the provider's)" for name in theirs))
        names = tuple(one_line(name, max_chars=80) for name in offer)
        offered = (names, event.request.tool_choice)
        before, self.offered = self.offered, offered
        if offered == before or (not names and before is None):
            return
        choice = "" if event.request.tool_choice == "auto" else f" (tool choice: {event.request.tool_choice})"
        label = "Tools offered" if names else "No tools offered any more"
        bodies: tuple[Body, ...] = (Remark(label, ", ".join(names) + choice, "quiet"),)
        if names:
            bodies += (
                cut(offered_text(event.request), "tools", "json", title="as the model is told of them", folded=True),
            )
        yield Panel("system", "request", bodies)

    def _tool_call(self, event: ToolCall, number: int) -> Card:
        self.repeats.outputs.add(event.output)
        called = () if event.call.id in self.calls else tuple(_arguments(event.call, "call"))
        name = one_line(event.call.name, max_chars=80)
        missed = event.lookup is not None and event.lookup.miss is not None
        signs: tuple[tuple[Sign, bool], ...] = (
            ("missed", missed),
            ("error" if event.status == "error" else "invalid", event.status != "ok"),
            ("noticed", bool(event.markers)),
            ("changed", bool(event.changes)),
        )
        given = Panel("tool", f"{name} returns", (*called, *_given(event, "output"), *_noticed(event)), _state(event))
        return Card(
            number=number,
            kind="tool_call",
            title=name,
            at=event.at,
            took=event.seconds,
            panels=(given, *_changes(event, name)),
            sign=next((sign for sign, there in signs if there), ""),
            notes=_there(
                one_line(event.node, max_chars=80), _state(event), numbers.OF_PROVIDER if event.by_provider else ""
            ),
        )

    def _answer(self, event: Answer, number: int) -> Card:
        # The reply that it was taken from stands right above.
        whole = event.text not in self.replies
        lines = [line for line in event.text[-2_000:].splitlines() if line.strip()]
        shown = event.text if whole else lines[-1] if lines else "(empty)"
        limit = f"{event.limit.replace('_', ' ')} ran out" if event.limit else ""
        return Card(
            number=number,
            kind="answer",
            title="answer",
            at=event.at,
            took=event.seconds,
            panels=(Panel("answer", "answer", (cut(shown, "answer", "prose"),)),),
            sign="budget" if limit or event.limit_note else "",
            notes=_there(limit, event.limit_note),
        )


def _alternatives(reply: ModelReply) -> Iterator[Panel]:
    """The other choices of a reply, with which no conversation went on."""
    for place, message in enumerate(reply.alternatives[:MOST_CALLS]):
        yield Panel("assistant", "another choice", tuple(_message(message, f"alternative-{place}")), folded=True)
    if len(reply.alternatives) > MOST_CALLS:
        left = Remark(f"{len(reply.alternatives) - MOST_CALLS:,} choices more", tone="quiet")
        yield Panel("assistant", "other choices", (left,))


def _message(message: Message, part: str) -> Iterator[Body]:
    if message.reasoning:
        long = len(message.reasoning) > LONG_REASONING
        yield cut(message.reasoning, f"{part}-reasoning", "prose", title="reasoning", folded=long)
    if message.content:
        yield cut(message.content, part, "prose")
    for place, picture in enumerate(message.images):
        yield Attachment(f"{part}-image-{place}", picture, f"Image {place + 1} of the {message.role}'s message")
    if message.items:
        yield Remark(f"{numbers.counted(len(message.items), 'item')} of the API", tone="quiet")
    for place, call in enumerate(message.tool_calls[:MOST_CALLS]):
        yield from _arguments(call, f"{part}-call-{place}")
    if len(message.tool_calls) > MOST_CALLS:
        left = len(message.tool_calls) - MOST_CALLS
        every = "\n".join(f"{call.name} {call.arguments[:200]}" for call in message.tool_calls[:MOST_CALLS])
        chars = sum(len(call.name) + len(call.arguments) + 2 for call in message.tool_calls) - 1
        yield Remark(f"{left:,} calls more", tone="odd")
        yield Text(f"{part}-calls", "output", every[:1_000], chars, title="all calls", folded=True)


def _arguments(call: ToolRequest, part: str) -> Iterator[Body]:
    """Code as code, whatever else there is as JSON; what is no JSON as the model wrote it."""
    title = f"calls {one_line(call.name, max_chars=80)}"
    if len(call.arguments) > _LAID_OUT_CHARS or _brackets(call.arguments) > _LAID_OUT_BRACKETS:
        yield cut(call.arguments, part, "output", title=title)
        return
    try:
        given = json.loads(call.arguments)
    except (ValueError, RecursionError):
        yield cut(call.arguments, part, "output", title=title)
        return
    code = given.pop("code", None) if isinstance(given, dict) and isinstance(given.get("code"), str) else None
    if code is not None:
        yield cut(code, part, "code", title=title)
    if given or code is None:
        laid_out = json.dumps(given, ensure_ascii=False)
        if len(laid_out) > _ONE_LINE_CHARS:
            laid_out = json.dumps(given, ensure_ascii=False, indent=2)
        yield cut(laid_out, part, "json", title=title if code is None else "and")


def _brackets(text: str) -> int:
    """Laid out, each of them may indent all that follows."""
    return text.count("[") + text.count("{")


def _given(given: ToolCall | ToolReply, part: str) -> Iterator[Body]:
    """The text that a model sees, then what it does not."""
    if given.output:
        yield cut(given.output, part, "output")
    else:
        yield Remark("Nothing", tone="quiet")
    if given.error:
        yield Remark("Recorded as", given.error)
    for place, artifact in enumerate(given.artifacts[:MOST_ARTIFACTS]):
        yield Attachment(f"{part}-artifact-{place}", artifact)
    if len(given.artifacts) > MOST_ARTIFACTS:
        yield Remark(f"{len(given.artifacts) - MOST_ARTIFACTS:,} rich outputs more", tone="quiet")


def _noticed(event: ToolCall) -> Iterator[Body]:
    """What the archive could not give, and what was noticed in what came."""
    if event.lookup is not None and event.lookup.miss is not None:
        yield Remark(f"Missed: {event.lookup.miss.replace('_', ' ')}", event.lookup.reason)
        if event.lookup.nearest:
            yield Remark("The nearest that was recorded", event.lookup.nearest, "quiet")
    for marker in event.markers:
        kind = marker.kind.replace("_", " ").capitalize()
        yield Remark(f"{kind} at {one_line(marker.where)}" if marker.where else kind, marker.excerpt)


def _changes(event: ToolCall, name: str) -> Iterator[Panel]:
    """What interventions did, and what the tool gave them."""
    if not event.changes:
        return
    did = tuple(Remark(f"Changed by {one_line(change.intervention)}", change.detail) for change in event.changes)
    yield Panel("change", "interventions", did)
    given = event.original
    if given is None:
        yield Panel("change", f"{name} was not run: the call was answered in its place", ())
    elif (given.output, given.status, given.error) == (event.output, event.status, event.error):
        yield Panel("change", f"{name} itself gave the same", ())
    else:
        yield Panel("change", f"{name} itself gave", tuple(_given(given, "original")), _state(given))


def _state(given: ToolCall | ToolReply) -> str:
    """How a call went, where that is more than well."""
    return ", ".join(_there("" if given.status == "ok" else given.status, "truncated" if given.truncated else ""))


def _failure(event: Failure, number: int) -> Card:
    then = "tried again" if event.retried else "given up"
    bodies: tuple[Body, ...] = (cut(event.message, "failure", "output"),)
    if event.reply is not None:
        bodies += (Remark("A reply came that is none", event.reply.finish_reason.replace("_", " ")),)
        bodies += tuple(_message(event.reply.message, "reply"))
    return Card(
        number=number,
        kind="failure",
        title=f"{event.boundary} failed",
        at=event.at,
        took=event.seconds,
        panels=(Panel("failure", f"{event.boundary} failed: {one_line(event.code)}", bodies),),
        sign="failed",
        notes=_there(
            f"attempt {event.attempt}, {then}", "" if event.cost_usd is None else numbers.dollars(event.cost_usd)
        ),
    )


def _rebuilt(event: Rebuilt, number: int) -> Card:
    bodies: list[Body] = []
    for each in event.mismatches:
        bodies.append(Remark(f"Event {each.event} gave something else"))
        pairs: Sequence[tuple[str, str, Form]] = (
            (each.recorded, f"recorded-{each.event}", "output"),
            (each.now, f"now-{each.event}", "output"),
        )
        bodies += [cut(text or "(nothing)", part, form, title=part.partition("-")[0]) for text, part, form in pairs]
    panel = Panel("rebuilt", "rebuilt", tuple(bodies) or (Remark("Each gave what was recorded", tone="quiet"),))
    return Card(
        number=number,
        kind="rebuilt",
        title="rebuilt",
        at=event.at,
        took=event.seconds,
        panels=(panel,),
        sign="error" if event.mismatches else "",
        notes=(f"{numbers.counted(event.calls, 'recorded call')} made again",),
    )


def _there(*parts: str) -> tuple[str, ...]:
    return tuple(part for part in parts if part)
