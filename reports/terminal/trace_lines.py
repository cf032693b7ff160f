"""The events of a trace, line by line, and the answer key beside them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue
from rich.console import RenderableType
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from toolablate.reports import numbers
from toolablate.reports.cause_wording import is_short
from toolablate.traces.records import (
    Answer,
    CodeTarget,
    Event,
    Failure,
    Message,
    ModelCall,
    Question,
    Rebuilt,
    ReferenceTarget,
    ToolCall,
    ToolReply,
    ToolRequest,
    Usage,
)
from toolablate.traces.terminal_text import inert, one_line, plain_text

ORIGINAL_CHARS = 600
DETAIL_CHARS = 200
"""How much is shown, unless all is, of what a tool gave before it was changed, and of what is said of a change."""

ROLE_STYLES = {"system": "magenta", "user": "cyan", "assistant": "green", "tool": "blue"}


@dataclass(slots=True)
class TracePrinter:
    """Knows what was shown, since every model call repeats the whole conversation before it: `shown` are messages as
    JSON (their items cannot be hashed), `said` the texts of the model's own, `outputs` those of tools. `number` is that
    of the next event in the whole conversation."""

    max_chars: int | None
    number: int = 0
    shown: set[str] = field(default_factory=set)
    said: set[str] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)

    def events(self, events: Sequence[Event]) -> Iterator[RenderableType]:
        """In order; what a request asked stands before the calls that the provider made for its reply."""
        for place, event in enumerate(events):
            if isinstance(event, ToolCall) and event.by_provider:
                replied = next((each for each in events[place:] if isinstance(each, ModelCall)), None)
                yield from self._asked(replied) if replied else ()
            yield from self.event(event)

    def event(self, event: Event) -> Iterator[RenderableType]:
        match event:
            case ModelCall():
                yield from self._model_call(event)
            case ToolCall():
                yield from self._tool_call(event)
            case Failure():
                yield from self._failure(event)
            case Answer():
                yield from self._answer(event)
            case Rebuilt():
                yield from self._rebuilt(event)
        self.number += 1

    def _asked(self, event: ModelCall) -> Iterator[RenderableType]:
        for message in event.request.messages:
            if message.role == "tool" and message.content in self.outputs:
                continue
            if self._is_new(message):
                yield from self._message(message)

    def _model_call(self, event: ModelCall) -> Iterator[RenderableType]:
        yield from self._asked(event)
        self._is_new(event.reply.message)
        cost = "" if event.cost_usd is None else numbers.dollars(event.cost_usd)
        spent = [_took(event), usage_of(event.reply.usage), cost]
        purpose = "last request, without tools" if event.purpose == "final" else ""
        yield from self._message(
            event.reply.message, self._note(one_line(event.node), purpose, event.reply.finish_reason, *spent)
        )

    def _note(self, *parts: str) -> str:
        return " · ".join(part for part in (f"event {self.number}", *parts) if part)

    def _is_new(self, message: Message) -> bool:
        """Whether it was not shown before; from now on it was."""
        known, told = len(self.shown), message.to_json()
        self.shown.add(told)
        if message.role == "assistant":
            self.said.add(message.content)
        return len(self.shown) > known

    def _message(self, message: Message, note: str = "") -> Iterator[RenderableType]:
        yield rule(message.role, ROLE_STYLES[message.role], note)
        if message.reasoning:
            yield indented(inert(message.reasoning, "dim italic", max_chars=self.max_chars))
        if message.content:
            yield indented(inert(message.content, max_chars=self.max_chars))
        for picture in message.images:
            yield indented(Text(picture.said, style="dim"))
        if message.items:
            yield indented(Text(_items(message.items), style="dim"))
        for request in message.tool_calls:
            yield indented(Text.assemble("calls ", (one_line(request.name), "bold")))
            yield indented(self._arguments(request), 4)

    def _arguments(self, request: ToolRequest) -> RenderableType:
        try:
            arguments = json.loads(request.arguments)
        except (ValueError, RecursionError):
            return inert(request.arguments, "yellow", max_chars=self.max_chars)
        if isinstance(arguments, dict) and set(arguments) == {"code"} and isinstance(arguments["code"], str):
            code = plain_text(arguments["code"], max_chars=self.max_chars).rstrip()
            return Syntax(code, "python", theme="ansi_dark", background_color="default", word_wrap=True)
        return inert(json.dumps(arguments, ensure_ascii=False, indent=2), max_chars=self.max_chars)

    def _tool_call(self, event: ToolCall) -> Iterator[RenderableType]:
        self.outputs.add(event.output)
        style = "blue" if event.status == "ok" else "yellow"
        own = numbers.OF_PROVIDER if event.by_provider else ""
        took = "" if own else _took(event)
        note = self._note(one_line(event.node), own, *_state(event), "changed" if event.changes else "", took)
        yield rule(f"{one_line(event.call.name)} returns", style, note)
        if own:
            yield indented(self._arguments(event.call))
        yield from self._shown(event, self.max_chars)
        yield from _seen(event)
        if event.changes:
            yield from self._changes(event)

    def _shown(self, given: ToolCall | ToolReply, max_chars: int | None) -> Iterator[RenderableType]:
        """The text that a model sees, then in brackets what it does not."""
        yield indented(inert(given.output or "(nothing)", max_chars=max_chars))
        if given.error:
            yield indented(Text(f"[recorded as: {self._one_line(given.error)}]", style="yellow"))
        for artifact in given.artifacts:
            size = f"{len(artifact.data):,} characters"
            yield indented(Text(f"[{one_line(artifact.mime)}, {size}]", style="dim"))

    def _changes(self, event: ToolCall) -> Iterator[RenderableType]:
        """What interventions did, and what the tool gave them."""
        for change in event.changes:
            yield rule(f"changed by {one_line(change.intervention)}", "magenta", "")
            yield indented(Text(self._one_line(change.detail), style="dim"))
        given, name = event.original, one_line(event.call.name)
        if given is None:
            yield rule(f"{name} was not run: the call was answered in its place", "magenta", "")
        elif (given.output, given.status, given.error) == (event.output, event.status, event.error):
            yield rule(f"{name} itself gave the same", "magenta", "")
        else:
            yield rule(f"{name} itself gave", "magenta", " · ".join(_state(given)))
            yield from self._shown(given, self.max_chars and ORIGINAL_CHARS)

    def _one_line(self, text: str) -> str:
        return one_line(text, max_chars=DETAIL_CHARS if self.max_chars else len(text))

    def _failure(self, event: Failure) -> Iterator[RenderableType]:
        then = "tried again" if event.retried else "given up"
        note = self._note(f"attempt {event.attempt}, {then}", _took(event))
        yield rule(f"{event.boundary} failed: {one_line(event.code)}", "red", note)
        yield indented(inert(event.message, "red", max_chars=self.max_chars))

    def _answer(self, event: Answer) -> Iterator[RenderableType]:
        limit = f"{event.limit} ran out" if event.limit else ""
        yield rule("answer", "bold", self._note(limit, one_line(event.limit_note)))
        # The reply that it was taken from stands right above.
        if event.text not in self.said:
            yield indented(inert(event.text, max_chars=self.max_chars))
        else:
            yield indented(inert(_last_line(event.text), "bold", max_chars=self.max_chars))

    def _rebuilt(self, event: Rebuilt) -> Iterator[RenderableType]:
        calls = "1 recorded call" if event.calls == 1 else f"{event.calls} recorded calls"
        yield rule("rebuilt", "magenta", self._note(f"{calls} made again", f"took {numbers.seconds(event.seconds)}"))
        if not event.mismatches:
            yield indented(Text("[each gave what was recorded]", style="dim"))
        for each in event.mismatches:
            yield indented(Text(f"[event {each.event} gave something else; recorded was:]", style="yellow"))
            yield indented(inert(each.recorded or "(nothing)", max_chars=self.max_chars and ORIGINAL_CHARS), 4)
            yield indented(Text("[and now:]", style="yellow"))
            yield indented(inert(each.now or "(nothing)", max_chars=self.max_chars and ORIGINAL_CHARS), 4)


def _seen(event: ToolCall) -> Iterator[RenderableType]:
    """What the archive could not give, and what was noticed in what came."""
    if event.lookup is not None and event.lookup.miss is not None:
        nearest, reason = one_line(event.lookup.nearest), one_line(event.lookup.reason)
        known = f"; the nearest that was recorded: {nearest}" if nearest else ""
        why = f"; {reason}" if reason else ""
        yield indented(Text(f"[missed: {event.lookup.miss.replace('_', ' ')}{why}{known}]", style="yellow"))
    for marker in event.markers:
        where = f" at {one_line(marker.where)}" if marker.where else ""
        excerpt = one_line(marker.excerpt, max_chars=200)
        yield indented(Text(f"[{marker.kind.replace('_', ' ')}{where}: {excerpt}]", style="magenta"))


def _state(given: ToolCall | ToolReply) -> list[str]:
    """How a call went, where that is more than well."""
    return [part for part in (given.status, "truncated" if given.truncated else "") if part not in ("ok", "")]


def _last_line(text: str) -> str:
    lines = [line for line in plain_text(text).splitlines() if line.strip()]
    return lines[-1] if lines else "(empty)"


def rule(title: str, style: str, note: str) -> RenderableType:
    """A heading. What a tool gave is indented, so that it cannot pass for one."""
    heading = Text.assemble((title, f"bold {style}"), (f"  {note}" if note else "", "dim"))
    return Padding(heading, (1, 0, 0, 0))


def indented(part: RenderableType, by: int = 2) -> RenderableType:
    return Padding(part, (0, 0, 0, by))


def _items(items: Sequence[Mapping[str, JsonValue]]) -> str:
    """Parts of a reply that only its API can read; what they tell in plain words stands above."""
    encrypted = sum("encrypted_content" in item or item.get("type") == "reasoning.encrypted" for item in items)
    known = f", {encrypted} encrypted" if encrypted else ""
    return f"[{len(items)} {'item' if len(items) == 1 else 'items'} of the API{known}]"


def _took(event: ModelCall | ToolCall | Failure) -> str:
    return f"at {numbers.seconds(event.at)}, took {numbers.seconds(event.seconds)}"


def usage_of(usage: Usage) -> str:
    parts = [
        f"{count:,} tokens {name}"
        for name, count in (("in", usage.input_tokens), ("out", usage.output_tokens))
        if count is not None
    ]
    if usage.reasoning_tokens:
        parts.append(f"{usage.reasoning_tokens:,} of them reasoning")
    return ", ".join(parts)


# What answers are compared with, where that is more than a letter, a number or a few words.


def answer_key_view(question: Question, max_chars: int | None) -> Iterator[RenderableType]:
    """A long reference answer, and what a rubric has besides the target; nothing of most questions."""
    for title, text in answer_key_parts(question):
        yield Text(f"{title}:", "dim")
        yield indented(inert(text, max_chars=max_chars))


def answer_key_parts(question: Question) -> Iterator[tuple[str, str]]:
    """The same as titles and texts, foreign as they are."""
    target, rubric = question.target, question.rubric
    answer = target.answer if isinstance(target, ReferenceTarget) else ""
    if answer and not is_short(answer):
        yield "reference answer", answer
    if isinstance(target, CodeTarget):
        yield "tests", "\n".join(target.tests)
    if rubric is not None and rubric.reference not in ("", answer):
        yield "the rubric's reference", rubric.reference
    if rubric is not None and rubric.points:
        yield "points to be met", rubric.points
