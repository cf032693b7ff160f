"""A trial as a sample of Inspect."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from inspect_ai.log import EvalSample, EvalSampleLimit
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.scorer import Value

from toolablate.formats.exports.exported import Exported
from toolablate.formats.exports.inspect.events import Events, error_of
from toolablate.formats.exports.inspect.keys import COUNTED, KEY
from toolablate.formats.exports.inspect.messages import usage_of
from toolablate.traces.records import Answer, ModelCall, Question, Score, Trace

_LIMITS = {
    "turns": "turn",
    "messages": "message",
    "tool_calls": "custom",
    "tokens": "token",
    "cost_usd": "cost",
    "seconds": "time",
    "reply_length": "context",
    "context_length": "context",
}


def sample_of(exported: Exported, scores: Mapping[str, Score]) -> EvalSample:
    """Its scores, by the names that they have there, with verdict and what was read, and why it went as it did among
    its metadata."""
    trace, question = exported.trace, exported.question
    events = Events(trace, exported.called.model)
    made = list(events)
    last = next((event for event in reversed(trace.events) if isinstance(event, ModelCall)), None)
    usage = usage_of(trace.usage)
    if usage is not None:
        usage.total_cost = trace.cost_usd
    ended = trace.started_at + timedelta(seconds=trace.seconds)
    return EvalSample(
        id=exported.called.question,
        epoch=trace.trial.repeat + 1,
        input=question.prompt,
        choices=list(question.choices) or None,
        target=target_of(question),
        messages=events.messages.all_of((*last.request.messages, last.reply.message) if last else ()),
        output=events.output_of(last) if last else ModelOutput(model=exported.called.model),
        scores={name: score_of(score) for name, score in scores.items()} or None,
        metadata=_metadata(exported),
        events=made,
        model_usage={exported.called.model: usage} if usage else {},
        started_at=trace.started_at.isoformat(),
        completed_at=ended.isoformat(),
        total_time=trace.seconds,
        working_time=trace.seconds,
        uuid=exported.trial,
        error=error_of(trace),
        limit=_limit(trace),
        turn_count=sum(isinstance(event, ModelCall) for event in trace.events),
    )


def target_of(question: Question) -> str | list[str]:
    target = question.target
    match target.kind:
        case "choice":
            return target.letters[0] if len(target.letters) == 1 else list(target.letters)
        case "number":
            return f"{target.value:.15g}"
        case "spans":
            return list(target.stated)
        case "reference":
            return target.answer
        case "text" | "math":
            return target.answers[0] if len(target.answers) == 1 else list(target.answers)
        case "regex":
            return target.pattern
        case "code":
            return target.tests[0] if len(target.tests) == 1 else list(target.tests)


def scores_told(exported: Exported, counting: Sequence[str] = ()) -> dict[str, Score]:
    """By the name of a scorer, the first that of the score that counts, since Inspect shows the first; where several
    are `counting`, theirs is one. Those of an older version of a scorer are told by no log."""
    newest = {score.scorer: score for score in sorted(exported.scores, key=lambda score: score.scorer_version)}
    first = [name for name in counting if name in newest]
    ordered = {name: newest[name] for name in dict.fromkeys((*first, *newest))}
    if len(counting) < 2 or not first or COUNTED in (*counting, *newest):
        return ordered
    # Of two scorers of a run the first counts for a trial; what else was said of it stays under its own name.
    return {COUNTED: ordered.pop(first[0]), **ordered}


def score_of(score: Score) -> InspectScore:
    """What is not scored has the value that Inspect leaves out of averages."""
    kept = score.model_dump(mode="json", exclude_defaults=True, exclude={"trial", "target"})
    return InspectScore(
        value=_value(score),
        answer=", ".join(score.extracted) or None,
        explanation=score.explanation or score.reason or None,
        reason="invalid_response_format" if score.verdict == "unparsed" else None,
        metadata=score.metadata | {"verdict": score.verdict, "extracted": list(score.extracted), KEY: {"score": kept}},
    )


def _value(score: Score) -> Value:
    if score.value is None:
        return float("nan")
    return {"correct": "C", "wrong": "I", "unparsed": "N"}.get(score.verdict, score.value)


def _limit(trace: Trace) -> EvalSampleLimit | None:
    last = next(reversed(trace.events), None)
    if trace.outcome != "budget" or not isinstance(last, Answer):
        return None
    kind: Any = _LIMITS.get(last.limit or "", "custom")
    return EvalSampleLimit(type=kind, limit=0, reason=last.limit_note or last.limit)


def _metadata(exported: Exported) -> dict[str, Any]:
    question, reasons = exported.question, exported.reasons
    facts = {
        "trial": exported.trial,
        "condition": exported.called.condition,
        "repeat": exported.trace.trial.repeat,
        "outcome": exported.trace.outcome,
        "domain": question.domain,
        "difficulty": question.difficulty,
        "attribution": reasons.attribution
        and reasons.attribution.model_dump(mode="json", exclude={"version", "trial"}),
        "hypotheses": [each.model_dump(mode="json", exclude={"version", "trial"}) for each in reasons.hypotheses],
        "labels": [each.model_dump(mode="json", exclude={"version", "trial"}) for each in exported.labels],
    }
    return {name: value for name, value in facts.items() if value not in ("", None, [])} | {KEY: _kept(exported)}


def _kept(exported: Exported) -> dict[str, Any]:
    """What an import makes the same trace of again."""
    trace = exported.trace
    specs = {
        tool.name: tool.model_dump(mode="json")
        for event in trace.events
        if isinstance(event, ModelCall)
        for tool in event.request.tools
    }
    return {
        "question": exported.question.model_dump(mode="json", exclude_defaults=True),
        "environment": trace.environment.model_dump(mode="json", exclude_defaults=True),
        "outcome": trace.outcome,
        "usage": trace.usage.model_dump(mode="json", exclude_defaults=True),
        "cost_usd": trace.cost_usd,
        "tools": list(specs.values()),
        "answer": next((_dumped(event) for event in trace.events if isinstance(event, Answer)), None),
    }


def _dumped(event: Answer) -> dict[str, Any]:
    return event.model_dump(mode="json", exclude_defaults=True)
