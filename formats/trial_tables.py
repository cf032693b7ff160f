"""The tables that trials are laid out in, for Parquet and datasets. docs/exports.md has their columns."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from toolablate.formats.exporting import Exported, Reasons
from toolablate.traces.records import (
    Event,
    Failure,
    MarkerKind,
    Message,
    ModelCall,
    Question,
    Rebuilt,
    Record,
    Score,
    ToolCall,
    Trace,
)

Kind = Literal["text", "name", "int", "float", "bool", "time", "names", "ints", "json", "artifacts"]
"""`name` is one of few texts, `time` an instant in UTC, `json` a text that holds JSON; `names` and `ints` are lists,
`artifacts` is a list of MIME types and data (base64 where it is binary)."""

Row = dict[str, Any]
"""Values by column; a column that is left out is null."""


@dataclass(frozen=True, slots=True)
class ExportColumn:
    name: str
    kind: Kind
    meaning: str


@dataclass(frozen=True, slots=True)
class ExportTable:
    """`rows` says what one row is."""

    name: str
    rows: str
    columns: tuple[ExportColumn, ...]


OF_TRIAL: tuple[str, Kind, str] = ("trial", "text", "the trial")
USAGE: tuple[tuple[str, Kind, str], ...] = (
    ("input_tokens", "int", "input tokens; null if not reported"),
    ("output_tokens", "int", "output tokens, reasoning included"),
    ("cached_tokens", "int", "input tokens read from the endpoint's cache"),
    ("cache_write_tokens", "int", "input tokens written to it"),
    ("reasoning_tokens", "int", "reasoning tokens among the output"),
    ("cost_usd", "float", "US dollars; null if the price is unknown"),
)
"""Columns of several tables."""


def columns(*given: tuple[str, Kind, str]) -> tuple[ExportColumn, ...]:
    return tuple(ExportColumn(*each) for each in given)


def columns_table(table: ExportTable) -> str:
    """The columns as a table in Markdown."""
    lines = [f"| `{column.name}` | {column.kind} | {column.meaning} |" for column in table.columns]
    return "\n".join(["| column | type | meaning |", "|---|---|---|", *lines])


def json_text(value: Any) -> str | None:
    """None for what holds nothing."""
    return json.dumps(value, ensure_ascii=False) if value else None


# The table of trials.


TRIALS = ExportTable(
    "trials",
    "one trial: a question under a condition with a model",
    columns(
        ("trial", "text", "its id, the join key of all tables"),
        ("parent", "text", "of a replay, the trial that it was forked from"),
        ("question", "name", "name of the question, as in `compare` and `show`"),
        ("model", "name", "name of the model"),
        ("condition", "name", "name of the condition"),
        ("repeat", "int", "from 0"),
        ("question_key", "name", "the question's row in `questions`"),
        ("model_key", "name", "the model's row in `models`"),
        ("condition_key", "name", "the condition's row in `conditions`"),
        ("domain", "name", "of the question; may be empty"),
        ("difficulty", "name", "of the question; may be empty"),
        ("simulated", "bool", "the model is simulated: no measurement"),
        ("attempt", "int", "from 1; the current attempt"),
        ("outcome", "name", "`answered`, `budget` (a limit was reached) or `failed` (infrastructure; never scored)"),
        ("limit", "name", "which limit was reached"),
        ("started_at", "time", "start"),
        ("seconds", "float", "duration"),
        *USAGE,
        ("answer", "text", "the final reply"),
        ("scorer", "name", "the scorer: the run's, or `--scorer`"),
        ("value", "float", "score in [0, 1]; null if it could not be scored"),
        ("verdict", "name", "`correct`, `partial`, `wrong`, `unparsed` (no readable answer) or `unscored`"),
        ("extracted", "names", "the answer as the scorer read it"),
        ("events", "int", "number of rows in `events`"),
        ("model_calls", "int", "answered requests to the model"),
        ("tool_calls", "int", "calls of tools"),
        ("tools", "names", "tools called, in order of first call"),
        ("tool_errors", "int", "calls with status `error` or `invalid`"),
        ("failures", "int", "infrastructure failures, retried ones included"),
        ("lookups", "int", "requests to the web or its archive"),
        ("misses", "int", "lookups that found nothing"),
        ("leaks", "int", "results with the question's answer"),
        ("withheld", "int", "results from which the plan's policy withheld something"),
    ),
)


def trial_row(exported: Exported, scorers: Sequence[str]) -> Row:
    """`scorers` are those whose scores count."""
    trace = exported.trace
    score = counting(exported.scores, scorers)
    return {
        "trial": exported.trial,
        "parent": exported.parent,
        "question": exported.called.question,
        "model": exported.called.model,
        "condition": exported.called.condition,
        "repeat": trace.trial.repeat,
        "question_key": trace.trial.question,
        "model_key": trace.trial.model,
        "condition_key": trace.trial.condition,
        "domain": exported.question.domain,
        "difficulty": exported.question.difficulty,
        "simulated": exported.model.provider == "simulated",
        "attempt": trace.attempt,
        "outcome": trace.outcome,
        "limit": next((event.limit for event in trace.events if event.kind == "answer"), None),
        "started_at": trace.started_at,
        "seconds": trace.seconds,
        **trace.usage.model_dump(),
        "cost_usd": trace.cost_usd,
        "answer": trace.answer,
        **({} if score is None else _of_score(score)),
        **_counts(trace),
    }


def counting(scores: Iterable[Score], scorers: Sequence[str]) -> Score | None:
    """By the newest version of the first of the scorers that has scored it."""
    found = [score for score in scores if score.scorer in scorers]
    return max(found, key=lambda score: (-scorers.index(score.scorer), score.scorer_version), default=None)


def _of_score(score: Score) -> Row:
    return {
        "scorer": score.scorer,
        "value": score.value,
        "verdict": score.verdict,
        "extracted": list(score.extracted),
    }


def _counts(trace: Trace) -> Row:
    kinds = [event.kind for event in trace.events]
    calls = [event for event in trace.events if event.kind == "tool_call"]
    lookups = [call.lookup for call in calls if call.lookup is not None]
    return {
        "events": len(kinds),
        "model_calls": kinds.count("model_call"),
        "tool_calls": len(calls),
        "tools": list(dict.fromkeys(call.call.name for call in calls)),
        "tool_errors": sum(call.status != "ok" for call in calls),
        "failures": kinds.count("failure"),
        "lookups": len(lookups),
        "misses": sum(lookup.miss is not None for lookup in lookups),
        "leaks": _marked(calls, "answer_leak"),
        "withheld": _marked(calls, "withheld"),
    }


def _marked(calls: Iterable[ToolCall], kind: MarkerKind) -> int:
    return sum(any(marker.kind == kind for marker in call.markers) for call in calls)


# The table of events.


EVENTS = ExportTable(
    "events",
    "one event of a trial",
    columns(
        OF_TRIAL,
        ("seq", "int", "position among the trial's events, from 0; attributions refer to it"),
        ("kind", "name", "`model_call`, `tool_call`, `failure`, `answer`; of replays also `rebuilt`"),
        ("at", "float", "seconds since the start of the trial"),
        ("seconds", "float", "duration"),
        ("time", "time", "start"),
        ("text", "text", "the model's reply, tool's output, failure's message, or answer"),
        ("purpose", "name", "of a model call: `ask`, or `final` for the last request, without tools"),
        ("served", "name", "the model's name in the endpoint's reply"),
        ("finish_reason", "name", "why the reply ended: `stop`, `tool_calls`, `length` ..."),
        ("reasoning", "text", "reasoning, as text"),
        ("messages_kept", "int", "number of initial messages shared with the previous request"),
        ("messages", "json", "the messages after them: role, content, reasoning, tool calls"),
        ("tools_offered", "names", "tools offered"),
        ("requested", "json", "tool calls in the reply: id, name, arguments as written"),
        *USAGE,
        ("tool", "name", "of a tool call: the tool's name, as the model wrote it"),
        ("call", "text", "its id, as in the next request"),
        ("arguments", "text", "as the model wrote them, JSON or not"),
        ("status", "name", "`ok`, `error` (the call failed) or `invalid` (no such call)"),
        ("error", "text", "what went wrong"),
        ("truncated", "bool", "`text` is cut"),
        ("artifacts", "artifacts", "images and other rich outputs"),
        ("lookup", "name", "kind of request to the web or its archive: `search`, `page` or `mcp`"),
        ("miss", "name", "kind of miss"),
        ("markers", "names", "`answer_leak`, `instruction_like`, `withheld`"),
        ("changes", "names", "interventions that acted on the result"),
        ("original", "text", "the tool's own result, where it was changed"),
        ("by_provider", "bool", "the provider made the call by itself, within the next reply"),
        ("boundary", "name", "of a failure: what failed, such as `model` or `sandbox`"),
        ("code", "name", "stable error code"),
        ("retried", "bool", "it was retried"),
        ("limit", "name", "of an answer: which limit was reached"),
        ("calls", "int", "of `rebuilt`: number of recorded calls made again"),
        ("mismatches", "json", "those with another result"),
    ),
)


def event_rows(exported: Exported) -> Iterator[Row]:
    """In their order."""
    before: Sequence[Message] = ()
    for seq, event in enumerate(exported.trace.events):
        row = {
            "trial": exported.trial,
            "seq": seq,
            "kind": event.kind,
            "at": event.at,
            "seconds": event.seconds,
            "time": _instant(exported.trace.started_at, event.at),
        }
        if event.kind == "model_call":
            yield row | _model_call(event, before)
            before = event.request.messages
        else:
            yield row | _other(event)


def _instant(began: datetime, at: float) -> datetime | None:
    """None where a store that others wrote says what no calendar has."""
    try:
        return began + timedelta(seconds=at)
    except OverflowError:
        return None


def _other(event: Event) -> Row:
    match event:
        case ToolCall():
            return _tool_call(event)
        case Failure():
            return _failure(event)
        case Rebuilt():
            return {"calls": event.calls, "mismatches": json_text([each.model_dump() for each in event.mismatches])}
        case _:
            return {"text": event.text, "limit": event.limit} if event.kind == "answer" else {}


def _model_call(event: ModelCall, before: Sequence[Message]) -> Row:
    request, reply = event.request, event.reply
    kept = _shared(before, request.messages)
    return {
        "text": reply.message.content,
        "purpose": event.purpose,
        "served": reply.model,
        "finish_reason": reply.finish_reason,
        "reasoning": reply.message.reasoning or None,
        "messages_kept": kept,
        "messages": json_text([_message(each) for each in request.messages[kept:]]),
        "tools_offered": [tool.name for tool in request.tools],
        "requested": json_text([each.model_dump() for each in reply.message.tool_calls]),
        **reply.usage.model_dump(),
        "cost_usd": event.cost_usd,
    }


def _shared(before: Sequence[Message], now: Sequence[Message]) -> int:
    pairs = zip(before, now, strict=False)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(before), len(now)))


def _message(message: Message) -> Row:
    shown: Row = message.model_dump(exclude_defaults=True, exclude={"items", "reasoning_key"})
    return {"role": message.role, "content": message.content} | shown


def _tool_call(event: ToolCall) -> Row:
    return {
        "text": event.output,
        "tool": event.call.name,
        "call": event.call.id,
        "arguments": event.call.arguments,
        "status": event.status,
        "error": event.error or None,
        "truncated": event.truncated,
        "artifacts": [each.model_dump() for each in event.artifacts],
        "lookup": event.lookup and event.lookup.kind,
        "miss": event.lookup and event.lookup.miss,
        "markers": [each.kind for each in event.markers],
        "changes": [each.intervention for each in event.changes],
        "original": event.original and event.original.output,
        "by_provider": event.by_provider,
    }


def _failure(event: Failure) -> Row:
    usage = {} if event.reply is None else event.reply.usage.model_dump()
    return {
        "text": event.message,
        "boundary": event.boundary,
        "code": event.code,
        "retried": event.retried,
        "cost_usd": event.cost_usd,
        **usage,
    }


# The tables of what was said of trials: scores, attributions, diagnoses of judges, labels of people.


SCORES = ExportTable(
    "scores",
    "one scorer's score of a trial; `trials` has the current one",
    columns(
        OF_TRIAL,
        ("scorer", "name", "name of the scorer; a judge's with its options"),
        ("scorer_version", "int", "a newer version replaces an older one"),
        ("value", "float", "in [0, 1]; null if it could not be scored"),
        ("verdict", "name", "`correct`, `partial`, `wrong`, `unparsed` or `unscored`"),
        ("extracted", "names", "the answer as read from the reply"),
        ("reason", "text", "why nothing was extracted or scored"),
        ("explanation", "text", "the scorer's explanation"),
        ("metadata", "json", "other data of the scorer"),
        ("key", "name", "digest of the answer key; see `questions`"),
        ("judge", "name", "the model that judged"),
        ("judge_reply", "text", "its last reply"),
        ("judge_calls", "int", "number of requests"),
        ("judge_cost_usd", "float", "their cost; null if unknown"),
    ),
)
ATTRIBUTIONS = ExportTable(
    "attributions",
    "one method's attribution of a trial",
    columns(
        OF_TRIAL,
        ("standing", "name", "`attribution` (the one that counts) or `hypothesis`"),
        ("mechanism", "name", "`retrieval_distraction`, `lock_in`, `sampling_noise` ...: see attribution.md"),
        ("method", "name", "`trace` (rules), `replay` (counterfactuals) or `judge`"),
        ("confidence", "float", "in [0, 1]"),
        ("distraction", "name", "how the content misled the model"),
        ("turned_at", "int", "the event (`seq`) at which belief in the right answer fell for good"),
        ("evidence", "ints", "supporting events"),
        ("note", "text", "reason, in one sentence"),
    ),
)
DIAGNOSES = ExportTable(
    "diagnoses",
    "a judge's cause of a wrong trial: a hypothesis",
    columns(
        OF_TRIAL,
        ("judge", "name", "name of the judge, with the beginning of its id"),
        ("wording", "int", "version of the prompt"),
        ("error_type", "name", "one of the seven of the LPFQA paper; may be null"),
        ("distraction", "name", "how the content misled the model; null if it did not"),
        ("reason", "text", "reason for the type of error"),
        ("evidence", "ints", "events that it cites"),
        ("distraction_reason", "text", "reason for the distraction"),
        ("distraction_evidence", "ints", "events cited for the distraction"),
    ),
)
LABELS = ExportTable(
    "labels",
    "a person's label of a trial, in order of time; the last of each person and codebook counts",
    columns(
        OF_TRIAL,
        ("person", "name", "the person's name"),
        ("at", "time", "time of the label"),
        ("mechanism", "name", "cause; null withdraws the label, or it is of another codebook"),
        ("distraction", "name", "how the content misled the model"),
        ("turned_at", "int", "the event (`seq`) at which it went wrong"),
        ("note", "text", "their note"),
        ("attributed", "name", "the attribution at that time"),
        ("method", "name", "its method"),
        ("blind", "bool", "it was hidden from the person"),
        ("error_type", "name", "the type of error that the person names; may be null"),
        ("codebook", "name", "name of the codebook; empty means `mechanisms`"),
        ("codebook_digest", "name", "digest of its definitions"),
        ("codes", "names", "codes of another codebook than the built-in ones"),
        ("quote", "text", "a passage of the event `turned_at`"),
        ("adjudicated", "bool", "decides between labels that differed"),
        ("inclusion_probability", "float", "of the trial in the queue; null without a queue"),
    ),
)


def score_rows(exported: Exported) -> Iterator[Row]:
    for score in exported.scores:
        yield {
            "trial": score.trial,
            "scorer": score.scorer,
            "scorer_version": score.scorer_version,
            "value": score.value,
            "verdict": score.verdict,
            "extracted": list(score.extracted),
            "reason": score.reason or None,
            "explanation": score.explanation or None,
            "metadata": json_text(score.metadata) if score.metadata else None,
            "key": score.target or None,
            **_judge(score),
        }


def _judge(score: Score) -> Row:
    if score.judgement is None:
        return {}
    calls = score.judgement.calls
    costs = [call.cost_usd for call in calls if call.cost_usd is not None]
    return {
        "judge": score.judgement.model.name,
        "judge_reply": calls[-1].reply.message.content,
        "judge_calls": len(calls),
        "judge_cost_usd": sum(costs) if len(costs) == len(calls) else None,
    }


def attribution_rows(exported: Exported) -> Iterator[Row]:
    return reason_rows(exported.reasons)


def reason_rows(reasons: Reasons) -> Iterator[Row]:
    """The one to go by first."""
    if reasons.attribution is not None:
        yield _values(ATTRIBUTIONS, reasons.attribution) | {"standing": "attribution"}
    for each in reasons.hypotheses:
        yield _values(ATTRIBUTIONS, each) | {"standing": "hypothesis"}


def diagnosis_rows(exported: Exported) -> Iterator[Row]:
    for each in exported.diagnoses:
        yield _values(DIAGNOSES, each)


def label_rows(exported: Exported) -> Iterator[Row]:
    for each in exported.labels:
        yield _values(LABELS, each)


def _values(table: ExportTable, record: Record) -> Row:
    """The fields of a record that are columns of the table."""
    found = {column.name: getattr(record, column.name, None) for column in table.columns}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


# The tables of questions, models and conditions, of which each is there once.


QUESTIONS = ExportTable(
    "questions",
    "one question",
    columns(
        ("question_key", "name", "digest of what a model sees"),
        ("question", "text", "name"),
        ("prompt", "text", "what is asked"),
        ("choices", "names", "options of a multiple choice"),
        ("as_is", "bool", "the prompt is sent unchanged, without answer format"),
        (
            "target_kind",
            "name",
            "`choice`, `number`, `spans`, `text`, `math`, `regex`, `code`, `reference` or `checklist`",
        ),
        ("target", "json", "the right answer"),
        ("rubric", "json", "rubric for judges"),
        ("key", "name", "digest of the answer key; see `scores`"),
        ("files", "names", "its files"),
        ("documents", "names", "its documents"),
        ("images", "artifacts", "its images"),
        ("domain", "name", "may be empty, as the next two"),
        ("difficulty", "name", ""),
        ("language", "name", ""),
        ("cluster", "name", "groups questions with a common source text"),
        ("source", "text", "origin"),
        ("metadata", "json", "other data of its file"),
    ),
)
MODELS = ExportTable(
    "models",
    "one model",
    columns(
        ("model_key", "name", "digest"),
        ("model", "name", "name"),
        ("provider", "name", "`openai` for any compatible endpoint, `langchain`, `scripted`, `simulated`, `imported`"),
        ("simulated", "bool", "no measurement"),
        ("record", "json", "endpoint, sampling, prices; no key"),
    ),
)
CONDITIONS = ExportTable(
    "conditions",
    "one condition",
    columns(
        ("condition_key", "name", "digest of its content"),
        ("condition", "text", "name"),
        ("prompt", "text", "scaffold prompt"),
        ("tools", "names", "tools offered"),
        ("tool_choice", "name", "`auto`, `none`, `required` or a tool's name"),
        ("interventions", "names", "interventions on tool results"),
        ("parent", "text", "of replays, the trial that they were forked from"),
        ("event", "int", "the first event that is not from the record"),
        ("change", "name", "the change: `again`, `swap`, `answer_now` ..."),
        ("record", "json", "the whole condition: tool options, budget, change"),
    ),
)


def question_row(exported: Exported) -> Row:
    return row_of_question(exported.question, exported.trace.trial.question, exported.called.question)


def row_of_question(question: Question, key: str, name: str) -> Row:
    return {
        "question_key": key,
        "question": name,
        "prompt": question.prompt,
        "choices": list(question.choices),
        "as_is": question.as_is,
        "target_kind": question.target.kind,
        "target": question.target.to_json(),
        "rubric": None if question.rubric is None else question.rubric.to_json(),
        "key": question.key_identity(),
        "files": [file.name for file in question.files],
        "documents": [document.name for document in question.documents],
        "images": [{"mime": picture.mime, "data": picture.data} for picture in question.images],
        "domain": question.domain,
        "difficulty": question.difficulty,
        "language": question.language,
        "cluster": question.cluster,
        "source": question.source,
        "metadata": json_text(question.metadata),
    }


def model_row(exported: Exported) -> Row:
    model = exported.model
    return {
        "model_key": exported.trace.trial.model,
        "model": exported.called.model,
        "provider": model.provider,
        "simulated": model.provider == "simulated",
        "record": model.to_json(),
    }


def condition_row(exported: Exported) -> Row:
    condition, resumed = exported.condition, exported.condition.resumed
    return {
        "condition_key": exported.trace.trial.condition,
        "condition": exported.called.condition,
        "prompt": condition.prompt,
        "tools": [tool.name for tool in condition.tools],
        "tool_choice": condition.tool_choice,
        "interventions": [each.name for each in condition.interventions],
        **({} if resumed is None else {"event": resumed.event, "change": resumed.change.kind}),
        "parent": exported.parent,
        "record": condition.to_json(),
    }


# Lays out trials in tables.


TABLES = (TRIALS, EVENTS, SCORES, ATTRIBUTIONS, DIAGNOSES, LABELS, QUESTIONS, MODELS, CONDITIONS)

_MANY = (
    (EVENTS, event_rows),
    (SCORES, score_rows),
    (ATTRIBUTIONS, attribution_rows),
    (DIAGNOSES, diagnosis_rows),
    (LABELS, label_rows),
)
_ONCE = ((QUESTIONS, question_row), (MODELS, model_row), (CONDITIONS, condition_row))


class ExportLayout:
    """Remembers the keys of questions, models and conditions, of which each goes into its table once. `scorers` are
    those whose scores count."""

    def __init__(self, scorers: Sequence[str]) -> None:
        self._scorers = scorers
        self._met: set[tuple[str, str]] = set()

    def rows(self, exported: Exported) -> Iterator[tuple[ExportTable, Row]]:
        """Of one trial, each with the table that it belongs to."""
        yield TRIALS, trial_row(exported, self._scorers)
        for table, rows_of in _MANY:
            for row in rows_of(exported):
                yield table, row
        trial = exported.trace.trial
        for key, (table, row_of) in zip((trial.question, trial.model, trial.condition), _ONCE, strict=True):
            if (table.name, key) not in self._met:
                self._met.add((table.name, key))
                yield table, row_of(exported)
