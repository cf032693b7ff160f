"""Lists of trials, and one trace, in a terminal."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from toolablate.reports import numbers
from toolablate.reports.cause_wording import is_short
from toolablate.reports.tables import Fitted, figures, names, words
from toolablate.reports.terminal.trace_lines import (
    ROLE_STYLES,
    TracePrinter,
    answer_key_view,
    indented,
    rule,
    usage_of,
)
from toolablate.traces.records import (
    Again,
    AnswerNow,
    Budget,
    Condition,
    Drop,
    Event,
    Extend,
    IgnoreTools,
    JudgeCall,
    Judgement,
    Model,
    ModelCall,
    Question,
    Repair,
    Rerun,
    Resumption,
    Say,
    Score,
    ServedModel,
    Swap,
    Trace,
)
from toolablate.traces.store import TrialSummary
from toolablate.traces.terminal_text import ID_CHARS, inert, one_line


def judgement_view(judgement: Judgement, *, full: bool, did: str = "judged") -> Iterator[RenderableType]:
    """Who judged, how often it was asked and what that cost; where `full`, also what it was asked and said, each
    message once."""
    asked = len(judgement.calls)
    times = "once" if asked == 1 else f"{asked} times"
    yield indented(Text(f"{did} by {_named(judgement.model)}, asked {times}; cost {_cost(judgement)}"))
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
    if not isinstance(model, ServedModel):
        return f"{one_line(model.name)} ({model.provider})"
    return f"{one_line(model.name)} ({one_line(model.wire_name)} at {one_line(model.endpoint)})"


def _cost(judgement: Judgement) -> str:
    costs = [call.cost_usd for call in judgement.calls]
    known = [cost for cost in costs if cost is not None]
    return numbers.dollars(sum(known)) if len(known) == len(costs) else "unknown"


MAX_CHARS = 4_000
KERNEL_PACKAGES = ("python", "numpy", "scipy", "pandas", "sympy", "matplotlib")
VERDICT_STYLES = {"correct": "bold green", "partial": "bold yellow", "wrong": "bold red"}


def trace_json(trace: Trace, scores: Iterable[Score]) -> str:
    """The record of a trace with its scores under `scores`."""
    content = json.loads(trace.to_json()) | {"scores": [json.loads(score.to_json()) for score in scores]}
    return json.dumps(content, ensure_ascii=False)


def trace_view(
    trace: Trace,
    *,
    question: Question | None = None,
    model: "Model | None" = None,  # `Model` has a discriminator that cannot be hashed, as a union of types must
    condition: Condition | None = None,
    scores: Sequence[Score] = (),
    before: Sequence[Event] = (),
    full: bool = False,
) -> RenderableType:
    """What was said, called, returned and answered, each once and in order, with times and tokens.

    Of a trial that was taken up again, `before` are the events of its parents that are to be shown as well. Texts
    beyond some 4,000 characters are cut in their middle unless `full`. Everything foreign is made inert.
    """
    resumed = condition.resumed if condition else None
    page = TracePrinter(None if full else MAX_CHARS, number=resumed.event - len(before) if resumed else 0)
    parts: list[RenderableType] = [_heading(trace, question, model, condition)]
    parts += page.events((*before, *trace.events))
    parts.append(_ending(trace))
    if question is not None and scores:
        parts += answer_key_view(question, page.max_chars)
    for score in scores:
        parts.append(_score(score, question))
        parts += [indented(inert(text, "dim", max_chars=page.max_chars)) for text in beside_the_score(score)]
        if score.items:
            parts.append(_items(score, page.max_chars))
        if score.mapping is not None:
            parts += judgement_view(score.mapping, full=full, did="mapped")
        if score.judgement is not None:
            parts += judgement_view(score.judgement, full=full)
    return Group(*parts)


def _items(score: Score, max_chars: int | None) -> RenderableType:
    """A line of each item: what it has of precision and recall, and the answer's text for it."""
    grid = Table.grid(padding=(0, 2))
    for item in score.items:
        marks = f"P {item.precision:d}  R {item.recall:d}"
        grid.add_row(inert(one_line(item.item)), marks, inert(item.mapped or "N/A", "dim", max_chars=max_chars))
    return indented(grid)


def _heading(
    trace: Trace, question: Question | None, model: "Model | None", condition: Condition | None
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
    trace: Trace, question: Question | None, model: "Model | None", condition: Condition | None
) -> Iterator[tuple[str, str]]:
    trial = trace.trial
    yield "question", question.id if question else trial.question
    if question:
        yield from _brought(question)
    first = next((event for event in trace.events if isinstance(event, ModelCall)), None)
    if first and (cut := first.input_cut):
        yield "question cut", f"to {cut.kept:,} of {cut.chars:,} characters"
    if question and question.domain:
        yield "domain", question.domain
    yield "model", model.name if model else trial.model
    yield "condition", condition.name if condition else trial.condition
    if condition and condition.resumed:
        yield from resumption_facts(condition.resumed)
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


def _brought(question: Question) -> Iterator[tuple[str, str]]:
    if question.files:
        yield "files", ", ".join(f"{file.name} (SHA-256 {file.sha256[:12]}...)" for file in question.files)
    if question.documents:
        yield "documents", ", ".join(f"{each.name} ({len(each.text):,} characters)" for each in question.documents)
    if question.images:
        yield "images", " ".join(picture.said for picture in question.images)


def resumption_facts(resumed: Resumption) -> Iterator[tuple[str, str]]:
    """Names and values: of what it is a replay, and what is changed in it."""
    yield "replay of", f"trial {resumed.trial}, attempt {resumed.attempt}, from its event {resumed.event} on"
    change = resumed.change
    match change:
        case Swap():
            yield "change", f"the result is swapped ({change.content}) for: {change.text}"
        case Say():
            yield "change", f"a user's message is added: {change.text}"
        case Drop():
            yield "change", "the tool call is left out"
        case AnswerNow():
            yield "change", "the model is asked at once for its answer"
        case IgnoreTools():
            yield "change", "the model is asked at once to ignore its tool results"
        case Extend():
            yield "change", f"the budget is another: {', '.join(_limits(change.budget))}"
        case Repair():
            given = "made anew" if change.text is None else f"shown as: {change.text}"
            yield "change", f"the tool call that went wrong is {given}"
        case Rerun():
            yield "change", "; ".join(_rerun(change)) or "none: what follows is drawn anew"
        case Again():
            yield "change", "none: what follows is drawn anew"


def _rerun(change: Rerun) -> Iterator[str]:
    if change.substitute:
        most = f", of at most {change.result_chars:,} characters" if change.result_chars else ""
        yield f"results of {', '.join(change.tools) or 'its tools'} are {change.substitute} ones from here on{most}"
    if change.shown:
        events = ", ".join(str(each.event) for each in change.shown)
        yield f"results of events {events} are shown otherwise"
    if change.budget:
        yield f"the budget is another: {', '.join(_limits(change.budget))}"
    if change.sound:
        yield "tools work"


def _limits(budget: Budget) -> Iterator[str]:
    for name in Budget.model_fields:
        if (value := getattr(budget, name)) is not None:
            yield f"{name} {value:g}"


def _kernel(versions: Mapping[str, str]) -> str:
    shown = {name: versions[name] for name in KERNEL_PACKAGES if name in versions}
    more = len(versions) - len(shown)
    return _listed(shown) + (f" and {more} packages more (see --json)" if more else "")


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _may_call(trace: Trace, condition: Condition | None, tool: str) -> bool:
    offered = condition is not None and condition.has_tools
    return offered or any(event.kind == "tool_call" and event.call.name == tool for event in trace.events)


def _ending(trace: Trace) -> RenderableType:
    style = {"answered": "green", "budget": "yellow", "failed": "red"}[trace.outcome]
    cost = numbers.dollars(trace.cost_usd)
    spent = [numbers.seconds(trace.seconds), usage_of(trace.usage) or "tokens unknown"]
    parts: list[RenderableType] = [
        Rule(style="dim"),
        Text.assemble((trace.outcome, f"bold {style}"), " in ", " · ".join([*spent, f"cost {cost}"])),
    ]
    last = next((event for event in reversed(trace.events) if event.kind == "failure"), None)
    if trace.outcome == "failed" and last is not None:
        parts += [Text(f"{last.boundary} failed ({one_line(last.code)}):", "red"), indented(inert(last.message))]
    return Group(*parts)


def _score(score: Score, question: Question | None) -> RenderableType:
    value = "no value" if score.value is None else f"{score.value:g}"
    line = Text.assemble(
        (score.verdict, VERDICT_STYLES.get(score.verdict, "bold yellow")), f" ({value}) by {one_line(score.scorer)}"
    )
    if score.extracted:
        line.append(f": answered {_extracted(score, question)}")
    if question is not None:
        line.append(f" (correct: {_target(question)})")
    if "\n" in score.reason:
        return Group(line, indented(inert(score.reason)))
    if score.reason:
        line.append(f"; {one_line(score.reason)}")
    return line


def beside_the_score(score: Score) -> Iterator[str]:
    """What the scorer says of how it came to the value."""
    if score.explanation:
        yield score.explanation
    if score.metadata:
        yield json.dumps(score.metadata, ensure_ascii=False)


def _extracted(score: Score, question: Question | None) -> str:
    plain = question is not None and question.target.kind != "spans"
    return ", ".join(one_line(text, max_chars=400) for text in score.extracted) if plain else _quoted(score.extracted)


def _quoted(spans: Sequence[str]) -> str:
    # A span may hold a comma, so where one ends has to be seen.
    return json.dumps([one_line(span) for span in spans], ensure_ascii=False)


def _target(question: Question) -> str:
    target = question.target
    if target.kind == "choice":
        return one_line(", ".join(target.letters))
    if target.kind == "reference":
        return one_line(target.answer) if is_short(target.answer) else "see the reference answer above"
    if target.kind == "spans":
        return _quoted(target.stated)
    if target.kind == "text" or target.kind == "math":
        return " or ".join(map(one_line, target.answers))
    if target.kind == "checklist":
        return f"a checklist of {len(target.items)} items"
    if target.kind == "regex":
        return f"what {one_line(target.pattern)} is found in"
    return f"{target.value:g}" if target.kind == "number" else "code that passes the tests"


def trials_table(summaries: Iterable[TrialSummary]) -> RenderableType:
    """The trials that have ended, each with the beginning of its id, by which `show` finds it."""
    seen = list(summaries)
    if not seen:
        return Text("No trial to list.", style="yellow")
    verdicts = [row.verdict or "" for row in seen]
    return Fitted(
        (
            words("trial", [row.trial[:ID_CHARS] for row in seen]),
            names("question", [_name(row.question) for row in seen], cut=True),
            names("model", [_name(row.model) for row in seen], common=True),
            names("condition", [_name(row.condition) for row in seen]),
            figures("repeat", [str(row.repeat) for row in seen], common=True),
            words("outcome", [Text(row.outcome, style="red" if row.outcome == "failed" else "") for row in seen]),
            words("verdict", [Text(verdict, style=VERDICT_STYLES.get(verdict, "yellow")) for verdict in verdicts]),
        )
    )


def _name(text: str) -> Text:
    return inert(one_line(text))
