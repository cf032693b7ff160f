"""What is made: questions, as LPFQA's, or statements, as Encyclo-K's. Each has its items and its stages."""

from collections.abc import Sequence

from toolablate.experiments.construction.duplicates import Deduplicate
from toolablate.experiments.construction.pipeline import Pipeline
from toolablate.experiments.construction.question_checks import Check, faults_of
from toolablate.experiments.construction.question_items import load_question_items
from toolablate.experiments.construction.question_stages import Assess, Convert, Filter
from toolablate.experiments.construction.review import Review, Reviewed
from toolablate.experiments.construction.stages import Content, Stage
from toolablate.experiments.construction.statement_stages import (
    CheckTwin,
    Falsify,
    Specify,
    StandsAlone,
    load_statement_items,
    twin_faults,
)
from toolablate.experiments.construction.workbench import Decision, Workbench


def load_items(pipeline: Pipeline) -> dict[str, Content]:
    """The pipeline's items by id. Raises InputError."""
    return load_question_items(pipeline.items) if pipeline.kind == "questions" else load_statement_items(pipeline.items)


def reviewed(pipeline: Pipeline) -> Reviewed:
    if pipeline.kind == "questions":
        return Reviewed("asked", lambda content: faults_of(content, content["asked"]))
    return Reviewed("false", lambda content: twin_faults(content["text"], content["false"]["text"]))


def stages_of(pipeline: Pipeline, bench: Workbench) -> tuple[Stage, ...]:
    asks, decisions = pipeline.asks, bench.decisions()
    if pipeline.kind == "statements":
        return (StandsAlone(), Specify(asks), Falsify(asks), CheckTwin(), _review(pipeline, decisions))
    strict = pipeline.filter
    return (
        Assess(asks),
        Deduplicate(pipeline.duplicates, asks),
        Filter(asks, strict.domains, strict.clarity, strict.difficulty),
        Convert(asks, pipeline.seed),
        Check(),
        _review(pipeline, decisions),
    )


def _review(pipeline: Pipeline, decisions: Sequence[Decision]) -> Review:
    return Review(reviewed(pipeline), pipeline.review.reviewers, decisions)
