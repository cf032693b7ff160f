"""The frozen, versioned records: what reaches disk, and nothing that acts."""

from toolablate.traces.records._base import Record, TaggedRecord, canonical_json, clean_text, digest_json, digest_text
from toolablate.traces.records.artifact import Artifact
from toolablate.traces.records.condition import Budget, Condition, InterventionUse, ToolUse
from toolablate.traces.records.event import (
    Answer,
    Event,
    Failure,
    FinishReason,
    Limit,
    ModelCall,
    ModelReply,
    ModelRequest,
    ToolCall,
)
from toolablate.traces.records.message import Message, ToolRequest, ToolSpec, Usage
from toolablate.traces.records.model import Model, OpenAIModel, Price, Sampling, ScriptedModel, SimulatedModel
from toolablate.traces.records.question import ChoiceTarget, NumberTarget, Question, QuestionFile, SpansTarget, Target
from toolablate.traces.records.run import Run
from toolablate.traces.records.score import Score, Verdict
from toolablate.traces.records.trial import Environment, Outcome, Trace, Trial
from toolablate.traces.records.web import (
    FetchFailure,
    Link,
    Lookup,
    Marker,
    MarkerKind,
    MissKind,
    PageText,
    SearchReply,
    SearchResult,
    SearchStatus,
    ToolReply,
)

__all__ = [
    "Answer",
    "Artifact",
    "Budget",
    "ChoiceTarget",
    "Condition",
    "Environment",
    "Event",
    "Failure",
    "FetchFailure",
    "FinishReason",
    "InterventionUse",
    "Limit",
    "Link",
    "Lookup",
    "Marker",
    "MarkerKind",
    "Message",
    "MissKind",
    "Model",
    "ModelCall",
    "ModelReply",
    "ModelRequest",
    "NumberTarget",
    "OpenAIModel",
    "Outcome",
    "PageText",
    "Price",
    "Question",
    "QuestionFile",
    "Record",
    "Run",
    "Sampling",
    "Score",
    "ScriptedModel",
    "SearchReply",
    "SearchResult",
    "SearchStatus",
    "SimulatedModel",
    "SpansTarget",
    "TaggedRecord",
    "Target",
    "ToolCall",
    "ToolReply",
    "ToolRequest",
    "ToolSpec",
    "ToolUse",
    "Trace",
    "Trial",
    "Usage",
    "Verdict",
    "canonical_json",
    "clean_text",
    "digest_json",
    "digest_text",
]
