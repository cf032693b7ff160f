"""What scorers, methods, judges and people said of a trial, as OpenInference's annotations."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from openinference.semconv.trace import AnnotationAttributes, SpanAttributes

from toolablate.formats.exports.exported import Exported
from toolablate.formats.exports.spans.span import Value, shown
from toolablate.traces.records import Attribution, Score


@dataclass(frozen=True, slots=True)
class _Annotation:
    name: str
    kind: Literal["CODE", "LLM", "HUMAN"]
    label: str | None
    score: float | None = None
    explanation: str = ""
    identifier: str = ""


def annotations(exported: Exported) -> Iterator[tuple[str, Value]]:
    for place, each in enumerate(_annotations(exported)):
        prefix = f"{SpanAttributes.ANNOTATIONS}.{place}"
        yield f"{prefix}.{AnnotationAttributes.ANNOTATION_NAME}", shown(each.name)
        yield f"{prefix}.{AnnotationAttributes.ANNOTATION_ANNOTATOR_KIND}", each.kind
        if each.label is not None:
            yield f"{prefix}.{AnnotationAttributes.ANNOTATION_LABEL}", each.label
        if each.score is not None:
            yield f"{prefix}.{AnnotationAttributes.ANNOTATION_SCORE}", float(each.score)
        if each.explanation:
            yield f"{prefix}.{AnnotationAttributes.ANNOTATION_EXPLANATION}", shown(each.explanation)
        if each.identifier:
            yield f"{prefix}.{AnnotationAttributes.ANNOTATION_IDENTIFIER}", shown(each.identifier)


def _annotations(exported: Exported) -> Iterator[_Annotation]:
    yield from map(_score, exported.scores)
    if exported.reasons.attribution is not None:
        yield _attribution("mechanism", exported.reasons.attribution)
    for hypothesis in exported.reasons.hypotheses:
        yield _attribution("mechanism (hypothesis)", hypothesis)
    for each in exported.diagnoses:
        yield _Annotation("type of error", "LLM", each.error_type, explanation=each.reason, identifier=each.judge)
    for label in exported.labels:
        yield _Annotation(
            "mechanism (label)", "HUMAN", label.mechanism, explanation=label.note, identifier=label.person
        )


def _score(score: Score) -> _Annotation:
    said = "" if score.judgement is None else score.judgement.calls[-1].reply.message.content
    return _Annotation(
        score.scorer,
        "CODE" if score.judgement is None else "LLM",
        score.verdict,
        score.value,
        explanation=score.explanation or score.reason or said,
        identifier=f"version {score.scorer_version}",
    )


def _attribution(name: str, attribution: Attribution) -> _Annotation:
    kind: Literal["CODE", "LLM"] = "LLM" if attribution.method == "judge" else "CODE"
    return _Annotation(
        name, kind, attribution.mechanism, attribution.confidence, attribution.note, f"by {attribution.method}"
    )
