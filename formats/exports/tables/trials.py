"""The table of trials."""

from collections.abc import Iterable, Sequence

from toolablate.formats.exports.exported import Exported
from toolablate.formats.exports.tables.table import USAGE, Row, Table, columns
from toolablate.traces.records import MarkerKind, Score, ToolCall, Trace

TRIALS = Table(
    "trials",
    "one trial: a question under a condition with a model",
    columns(
        ("trial", "text", "its id, by which all tables are joined"),
        ("parent", "text", "of a replay, the trial that it goes on from"),
        ("question", "name", "what the question is called, as tables of `compare` and `show` have it"),
        ("model", "name", "likewise the model"),
        ("condition", "name", "likewise the condition"),
        ("repeat", "int", "from 0"),
        ("question_key", "name", "the question's row in `questions`"),
        ("model_key", "name", "the model's row in `models`"),
        ("condition_key", "name", "the condition's row in `conditions`"),
        ("domain", "name", "of the question; empty where it does not say"),
        ("difficulty", "name", "likewise"),
        ("simulated", "bool", "the model is a stand-in, and its trials are no measurement"),
        ("attempt", "int", "from 1; the one that counts"),
        ("outcome", "name", "`answered`, `budget` (a limit was reached) or `failed` (by infrastructure: never scored)"),
        ("limit", "name", "what ran out"),
        ("started_at", "time", "when it began"),
        ("seconds", "float", "how long it took"),
        *USAGE,
        ("answer", "text", "the final reply"),
        ("scorer", "name", "the scorer whose score counts: the run's, or `--scorer`"),
        ("value", "float", "its score, in [0, 1]; null where it could not be scored, which is not 0"),
        ("verdict", "name", "`correct`, `partial`, `wrong`, `unparsed` (no answer could be read) or `unscored`"),
        ("extracted", "names", "the answer as the scorer read it"),
        ("events", "int", "how many rows it has in `events`"),
        ("model_calls", "int", "requests to the model that were answered"),
        ("tool_calls", "int", "calls of tools"),
        ("tools", "names", "the tools that it called, each once, in the order of their first calls"),
        ("tool_errors", "int", "calls that came to nothing: `error` and `invalid`"),
        ("failures", "int", "failures of infrastructure, those that were mended among them"),
        ("lookups", "int", "what was asked of the web or of its archive"),
        ("misses", "int", "of these, what was not there"),
        ("leaks", "int", "results that held the question's answer"),
        ("withheld", "int", "results of which the plan's policy kept something from the model"),
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
