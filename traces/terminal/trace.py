"""One trace, to be read from top to bottom."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from toolablate.traces.records import (
    Answer,
    Condition,
    Event,
    Failure,
    Message,
    Model,
    ModelCall,
    Question,
    Score,
    ToolCall,
    ToolRequest,
    Trace,
    Usage,
)
from toolablate.traces.terminal import numbers
from toolablate.traces.terminal.plain import inert, one_line, plain_text

MAX_CHARS = 4_000
ROLE_STYLES = {"system": "magenta", "user": "cyan", "assistant": "green", "tool": "blue"}
KERNEL_PACKAGES = ("python", "numpy", "scipy", "pandas", "sympy", "matplotlib")
VERDICT_STYLES = {"correct": "bold green", "partial": "bold yellow", "wrong": "bold red"}


def trace_view(
    trace: Trace,
    *,
    question: Question | None = None,
    model: Model | None = None,
    condition: Condition | None = None,
    scores: Sequence[Score] = (),
    full: bool = False,
) -> RenderableType:
    """What was said, called, returned and answered, each once and in order, with times and tokens.

    Texts beyond some 4,000 characters are cut in their middle unless `full`. Everything foreign is made inert.
    """
    page = _Page(None if full else MAX_CHARS)
    parts: list[RenderableType] = [_heading(trace, question, model, condition)]
    for event in trace.events:
        parts += page.event(event)
    parts += [_ending(trace), *(_score(score, question) for score in scores)]
    return Group(*parts)


def _heading(
    trace: Trace, question: Question | None, model: Model | None, condition: Condition | None
) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in _facts(trace, question, model, condition):
        grid.add_row(name, inert(one_line(value, max_chars=600)))
    simulated = model is not None and model.provider == "simulated"
    title = Text.assemble("trial ", (trace.trial.id, "bold"))
    if simulated:
        title.append("  ").append(" SIMULATED ", style="bold black on yellow")
    return Panel(grid, title=title, title_align="left", border_style="dim")


def _facts(
    trace: Trace, question: Question | None, model: Model | None, condition: Condition | None
) -> Iterator[tuple[str, str]]:
    trial = trace.trial
    yield "question", question.id if question else trial.question
    if question and question.files:
        yield "files", ", ".join(f"{file.name} (SHA-256 {file.sha256[:12]}...)" for file in question.files)
    if question and question.domain:
        yield "domain", question.domain
    yield "model", model.name if model else trial.model
    yield "condition", condition.name if condition else trial.condition
    # Repeats count from 0 and attempts from 1, so each says which one it is.
    yield "repeat", f"{trial.repeat} (the {numbers.ordinal(trial.repeat + 1)})"
    yield "attempt", f"{trace.attempt} (the {numbers.ordinal(trace.attempt)})"
    yield "started", trace.started_at.isoformat(sep=" ", timespec="seconds")
    environment = trace.environment
    # A run's surroundings are recorded with every trial, also with those that could reach neither.
    if environment.sandbox and _may_call(trace, condition, "python"):
        yield "sandbox", environment.sandbox
        if environment.kernel_versions:
            yield "kernel", _kernel(environment.kernel_versions)
    if environment.search and _may_call(trace, condition, "search"):
        yield "search", environment.search
    if environment.versions:
        yield "versions", _listed(environment.versions)


def _kernel(versions: Mapping[str, str]) -> str:
    shown = {name: versions[name] for name in KERNEL_PACKAGES if name in versions}
    more = len(versions) - len(shown)
    return _listed(shown) + (f" and {more} packages more (see --json)" if more else "")


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _may_call(trace: Trace, condition: Condition | None, tool: str) -> bool:
    offered = condition is not None and bool(condition.tools)
    return offered or any(event.kind == "tool_call" and event.call.name == tool for event in trace.events)


@dataclass(slots=True)
class _Page:
    """Knows what was shown, since every model call repeats the whole conversation before it."""

    max_chars: int | None
    shown: set[Message] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)

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

    def _model_call(self, event: ModelCall) -> Iterator[RenderableType]:
        for message in event.request.messages:
            if message not in self.shown and not (message.role == "tool" and message.content in self.outputs):
                self.shown.add(message)
                yield from self._message(message)
        self.shown.add(event.reply.message)
        spent = [_took(event), _usage(event.reply.usage), numbers.dollars(event.cost_usd) if event.cost_usd else ""]
        note = " · ".join(part for part in [event.reply.finish_reason, *spent] if part)
        purpose = "last request, without tools" if event.purpose == "final" else ""
        yield from self._message(event.reply.message, note=" · ".join(part for part in (purpose, note) if part))

    def _message(self, message: Message, note: str = "") -> Iterator[RenderableType]:
        yield _rule(message.role, ROLE_STYLES[message.role], note)
        if message.reasoning:
            yield _indented(inert(message.reasoning, "dim italic", max_chars=self.max_chars))
        if message.content:
            yield _indented(inert(message.content, max_chars=self.max_chars))
        for request in message.tool_calls:
            yield _indented(Text.assemble("calls ", (one_line(request.name), "bold")))
            yield _indented(self._arguments(request), 4)

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
        note = [event.status if event.status != "ok" else "", "truncated" if event.truncated else "", _took(event)]
        style = "blue" if event.status == "ok" else "yellow"
        yield _rule(f"{one_line(event.call.name)} returns", style, " · ".join(part for part in note if part))
        if event.error:
            yield _indented(inert(event.error, "yellow", max_chars=self.max_chars))
        yield _indented(inert(event.output or "(nothing)", max_chars=self.max_chars))
        yield from _seen(event)
        for artifact in event.artifacts:
            size = f"{len(artifact.data):,} characters"
            yield _indented(Text(f"[{one_line(artifact.mime)}, {size}]", style="dim"))

    def _failure(self, event: Failure) -> Iterator[RenderableType]:
        then = "tried again" if event.retried else "given up"
        note = f"attempt {event.attempt}, {then} · {_took(event)}"
        yield _rule(f"{event.boundary} failed: {one_line(event.code)}", "red", note)
        yield _indented(inert(event.message, "red", max_chars=self.max_chars))

    def _answer(self, event: Answer) -> Iterator[RenderableType]:
        limit = f"{event.limit} ran out" if event.limit else ""
        yield _rule("answer", "bold", limit)
        # The reply that it was taken from stands right above.
        if not any(message.content == event.text and message.role == "assistant" for message in self.shown):
            yield _indented(inert(event.text, max_chars=self.max_chars))
        else:
            yield _indented(inert(_last_line(event.text), "bold", max_chars=self.max_chars))


def _seen(event: ToolCall) -> Iterator[RenderableType]:
    """What the archive could not give, and what was noticed in what came."""
    if event.lookup is not None and event.lookup.miss is not None:
        nearest, reason = one_line(event.lookup.nearest), one_line(event.lookup.reason)
        known = f"; the nearest that was recorded: {nearest}" if nearest else ""
        why = f"; {reason}" if reason else ""
        yield _indented(Text(f"[missed: {event.lookup.miss.replace('_', ' ')}{why}{known}]", style="yellow"))
    for marker in event.markers:
        where = f" at {one_line(marker.where)}" if marker.where else ""
        excerpt = one_line(marker.excerpt, max_chars=200)
        yield _indented(Text(f"[{marker.kind.replace('_', ' ')}{where}: {excerpt}]", style="magenta"))


def _last_line(text: str) -> str:
    lines = [line for line in plain_text(text).splitlines() if line.strip()]
    return lines[-1] if lines else "(empty)"


def _ending(trace: Trace) -> RenderableType:
    style = {"answered": "green", "budget": "yellow", "failed": "red"}[trace.outcome]
    cost = numbers.dollars(trace.cost_usd)
    spent = [numbers.seconds(trace.seconds), _usage(trace.usage) or "tokens unknown"]
    parts: list[RenderableType] = [
        Rule(style="dim"),
        Text.assemble((trace.outcome, f"bold {style}"), " in ", " · ".join([*spent, f"cost {cost}"])),
    ]
    last = next((event for event in reversed(trace.events) if event.kind == "failure"), None)
    if trace.outcome == "failed" and last is not None:
        parts += [Text(f"{last.boundary} failed ({one_line(last.code)}):", "red"), _indented(inert(last.message))]
    return Group(*parts)


def _score(score: Score, question: Question | None) -> RenderableType:
    value = "no value" if score.value is None else f"{score.value:g}"
    line = Text.assemble(
        (score.verdict, VERDICT_STYLES.get(score.verdict, "bold yellow")), f" ({value}) by {one_line(score.scorer)}"
    )
    if score.extracted:
        line.append(f": read {_extracted(score, question)}")
    if question is not None:
        line.append(f"; right is {_target(question)}")
    if score.reason:
        line.append(f"; {one_line(score.reason)}")
    return line


def _extracted(score: Score, question: Question | None) -> str:
    plain = question is not None and question.target.kind != "spans"
    return ", ".join(map(one_line, score.extracted)) if plain else _quoted(score.extracted)


def _quoted(spans: Sequence[str]) -> str:
    # A span may hold a comma, so where one ends has to be seen.
    return json.dumps([one_line(span) for span in spans], ensure_ascii=False)


def _target(question: Question) -> str:
    target = question.target
    if target.kind == "choice":
        return one_line(", ".join(target.letters))
    return f"{target.value:g}" if target.kind == "number" else _quoted(target.spans)


def _rule(title: str, style: str, note: str) -> RenderableType:
    heading = Text.assemble((title, f"bold {style}"), (f"  {note}" if note else "", "dim"))
    return Padding(heading, (1, 0, 0, 0))


def _indented(part: RenderableType, by: int = 2) -> RenderableType:
    return Padding(part, (0, 0, 0, by))


def _took(event: ModelCall | ToolCall | Failure) -> str:
    return f"at {numbers.seconds(event.at)}, took {numbers.seconds(event.seconds)}"


def _usage(usage: Usage) -> str:
    parts = [
        f"{count:,} tokens {name}"
        for name, count in (("in", usage.input_tokens), ("out", usage.output_tokens))
        if count is not None
    ]
    if usage.reasoning_tokens:
        parts.append(f"{usage.reasoning_tokens:,} of them reasoning")
    return ", ".join(parts)
