"""The tables of what was said of trials: scores, attributions, diagnoses of judges, labels of people."""

from collections.abc import Iterator

from toolablate.formats.exports.exported import Exported
from toolablate.formats.exports.tables.table import OF_TRIAL, Row, Table, columns, json_text
from toolablate.traces.records import Record, Score

SCORES = Table(
    "scores",
    "what one scorer made of a trial; `trials` has those that count",
    columns(
        OF_TRIAL,
        ("scorer", "name", "the scorer's name, a judge's with its options"),
        ("scorer_version", "int", "a newer version takes the place of an older one"),
        ("value", "float", "in [0, 1]; null where it could not be scored, which is not 0"),
        ("verdict", "name", "`correct`, `partial`, `wrong`, `unparsed` or `unscored`"),
        ("extracted", "names", "the answer as it was read from the reply"),
        ("reason", "text", "why nothing was extracted or scored"),
        ("explanation", "text", "how the scorer explains the value"),
        ("metadata", "json", "what else the scorer says"),
        ("key", "name", "digest of the answer key that it was made by; see `questions`"),
        ("judge", "name", "the model that judged"),
        ("judge_reply", "text", "what it said last"),
        ("judge_calls", "int", "how often it was asked"),
        ("judge_cost_usd", "float", "what that cost; null where it is unknown"),
    ),
)
ATTRIBUTIONS = Table(
    "attributions",
    "what one method holds for the cause of a trial",
    columns(
        OF_TRIAL,
        ("standing", "name", "`attribution`, the one to go by, or `hypothesis`"),
        ("mechanism", "name", "`retrieval_distraction`, `lock_in`, `luck` ...: see attribution.md"),
        ("method", "name", "`trace` (by rules), `replay` (by counterfactuals) or `judge`"),
        ("confidence", "float", "in [0, 1]"),
        ("distraction", "name", "how what was found drew the model away"),
        ("turned_at", "int", "the event (`seq`) at which the belief in the right answer fell for good"),
        ("evidence", "ints", "the events that speak for it"),
        ("note", "text", "why, in a sentence"),
    ),
)
DIAGNOSES = Table(
    "diagnoses",
    "what a judge that read a wrong trial holds for its cause: a hypothesis",
    columns(
        OF_TRIAL,
        ("judge", "name", "the judge's name, with the beginning of its identity"),
        ("wording", "int", "version of what it is asked"),
        ("error_type", "name", "one of the seven of the LPFQA paper; null where no reply has any"),
        ("distraction", "name", "how what was read drew the model away; null where nothing did"),
        ("reason", "text", "the judge's reason for the type of error"),
        ("evidence", "ints", "the events that it points to"),
        ("distraction_reason", "text", "its reason for the distraction"),
        ("distraction_evidence", "ints", "likewise"),
    ),
)
LABELS = Table(
    "labels",
    "what a person said of a trial, in the order in which they did; the last of a person counts",
    columns(
        OF_TRIAL,
        ("person", "name", "the name that they go by"),
        ("at", "time", "when they said so"),
        ("mechanism", "name", "what they hold for the cause; null where they withdraw what they had said"),
        ("distraction", "name", "how what was found drew the model away"),
        ("turned_at", "int", "the event (`seq`) at which it went wrong"),
        ("note", "text", "their note"),
        ("attributed", "name", "what the attribution said when they read the trial"),
        ("method", "name", "by which method"),
        ("blind", "bool", "it was hidden from them"),
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
    """The one to go by first."""
    if exported.reasons.attribution is not None:
        yield _values(ATTRIBUTIONS, exported.reasons.attribution) | {"standing": "attribution"}
    for each in exported.reasons.hypotheses:
        yield _values(ATTRIBUTIONS, each) | {"standing": "hypothesis"}


def diagnosis_rows(exported: Exported) -> Iterator[Row]:
    for each in exported.diagnoses:
        yield _values(DIAGNOSES, each)


def label_rows(exported: Exported) -> Iterator[Row]:
    for each in exported.labels:
        yield _values(LABELS, each)


def _values(table: Table, record: Record) -> Row:
    """The fields of a record that are columns of the table."""
    found = {column.name: getattr(record, column.name, None) for column in table.columns}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}
