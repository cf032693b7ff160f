"""tests.traces.test_records"""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from tests.traces.samples import CODE, MODEL, NONE, QUESTIONS, SIMULATED, conversation, question, run, score, trials

from toolablate.traces import records
from toolablate.traces.errors import ModelError, StoreError, ToolablateError
from toolablate.traces.records import (
    Answer,
    Attribution,
    ChoiceTarget,
    Condition,
    Event,
    Failure,
    Model,
    OpenAIModel,
    Price,
    Question,
    Record,
    Score,
    Trace,
    Trial,
    Usage,
    clean_text,
    digest_json,
)

SAMPLES: list[Record] = [*QUESTIONS[:1], MODEL, SIMULATED, NONE, CODE, trials()[0], run(), score("t"), *conversation(1)]


@pytest.mark.parametrize("record", SAMPLES, ids=lambda record: type(record).__name__)
def test_a_record_survives_json_and_cannot_be_changed(record: Record) -> None:
    assert type(record).from_json(record.to_json()) == record
    with pytest.raises(ValidationError, match="frozen"):
        record.version = 2  # type: ignore[attr-defined]
    with pytest.raises(ValidationError, match="extra"):
        type(record).model_validate({**record.model_dump(), "colour": "red"})


@pytest.mark.parametrize("tag", ["version", "kind", "provider"])
def test_tags_are_written_though_they_are_defaults(tag: str) -> None:
    sample = {"version": NONE, "kind": Answer(at=0, text=""), "provider": MODEL}[tag]
    assert f'"{tag}":' in sample.to_json()


# What is in stores already. If one of these changes, every store out there stops resuming.
IDS = {
    "question": (
        Question(id="q", prompt="Why?", choices=("a", "b"), target=ChoiceTarget(letters=("A",))),
        "8179842adba2be3bab9e479592f5111d",
    ),
    "condition": (Condition(name="none"), "44136fa355b3678a1146ad16f7e8649e"),
    "model": (OpenAIModel(name="gpt-x"), "2b707884264285d4eba8dbcaaffd1f60"),
}


@pytest.mark.parametrize("name", IDS)
def test_ids_never_change(name: str) -> None:
    record, identity = IDS[name]
    assert record.identity() == identity


def test_a_trials_id_is_derived_from_its_four_parts() -> None:
    ids = {trial.id for trial in trials(repeats=2, models=(MODEL, SIMULATED))}
    assert len(ids) == 32
    trial = trials()[0]
    assert trial.id == digest_json([trial.question, trial.model, trial.condition, 0])


@pytest.mark.parametrize("question", ["a" * 32, 'of "another" kind'])
def test_repeats_made_at_once_are_as_validated_one_by_one(question: str) -> None:
    one_by_one = [Trial(question=question, model="b", condition="c", repeat=repeat) for repeat in range(12)]
    at_once = Trial.repeated(question, "b", "c", 12)
    assert at_once == one_by_one
    assert [each.id for each in at_once] == [each.id for each in one_by_one]
    assert [each.to_json() for each in at_once] == [each.to_json() for each in one_by_one]
    assert at_once[3].model_fields_set == one_by_one[3].model_fields_set


@pytest.mark.parametrize(
    ("record", "changes", "same"),
    [
        (NONE, {"name": "other"}, True),
        (NONE, {"prompt": "other"}, False),
        (NONE, {"tool_choice": "none"}, False),
        (MODEL, {"price": Price(input=1, output=1), "concurrency": 1, "api_key_env": "X"}, True),
        (MODEL, {"endpoint": "http://127.0.0.1/v1"}, False),
        (SIMULATED, {"seed": 1}, False),
        (QUESTIONS[0], {"prompt": "other"}, False),
    ],
)
def test_identity_is_of_what_matters(record: Record, changes: dict[str, Any], same: bool) -> None:
    assert (record.model_copy(update=changes).identity() == record.identity()) is same


def test_a_default_that_is_spelled_out_is_the_same_condition() -> None:
    assert Condition(name="x", prompt="", tools=(), tool_choice="auto").identity() == Condition(name="y").identity()


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(1, "wrong"), (0, "correct"), (0.5, "correct"), (0, "partial"), (1, "partial"), (1, "unparsed"), (0, "unscored"),
     (None, "wrong"), (1.01, "correct"), (-0.1, "wrong"), (float("nan"), "partial")],
)  # fmt: skip
def test_a_value_has_to_fit_its_verdict(value: float | None, verdict: str) -> None:
    with pytest.raises(ValidationError):
        Score.model_validate({"trial": "t", "scorer": "s", "value": value, "verdict": verdict})


@pytest.mark.parametrize(
    ("value", "verdict"), [(0, "unparsed"), (None, "unparsed"), (None, "unscored"), (0.5, "partial")]
)
def test_what_could_not_be_read_is_named(value: float | None, verdict: str) -> None:
    Score.model_validate({"trial": "t", "scorer": "s", "value": value, "verdict": verdict})


@pytest.mark.parametrize(
    "event",
    [
        {"kind": "nonsense", "at": 0},
        {"at": 0, "text": "x"},
        {"kind": "answer", "at": -1, "text": "x"},
        {"kind": "answer"},
    ],
)
def test_what_is_no_event_is_refused(event: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter[Event](Event).validate_python(event)


def test_models_are_told_apart_by_their_provider() -> None:
    adapter = TypeAdapter[Model](Model)
    assert [type(adapter.validate_json(model.to_json())) for model in (MODEL, SIMULATED)] == [
        type(MODEL),
        type(SIMULATED),
    ]


COUNTS = st.none() | st.integers(0, 1000)
USAGES = st.builds(Usage, **dict.fromkeys(Usage.model_fields, COUNTS))


@given(USAGES, USAGES)
def test_usage_adds_up_and_unknown_is_not_zero(left: Usage, right: Usage) -> None:
    assert left + right == right + left
    assert left + Usage() == left
    assert ((left + right).input_tokens is None) == (left.input_tokens is None and right.input_tokens is None)


@given(st.text(alphabet=st.characters(codec=None)))
def test_clean_text_can_always_be_encoded(text: str) -> None:
    assert clean_text(text).encode().decode() == clean_text(text)
    assert len(clean_text(text)) == len(text)


def test_an_error_becomes_a_failure_that_keeps_its_boundary_and_hint() -> None:
    error = ModelError("429 from the endpoint", hint="wait", code="rate_limited", retryable=True, retry_after=2.0)
    failure = Failure.of(error, at=1, seconds=0.5, attempt=3, retried=True)
    assert (failure.boundary, failure.code, failure.message) == (
        "model",
        "rate_limited",
        "429 from the endpoint\n  wait",
    )
    assert StoreError("x").code == "store"
    assert isinstance(error, ToolablateError)


def test_the_answer_is_the_last_one_and_failed_trials_are_not_scorable() -> None:
    when = datetime(2026, 1, 1, tzinfo=UTC)
    trace = Trace(trial=trials()[0], outcome="answered", started_at=when, seconds=1)
    assert trace.answer is None
    assert trace.scorable
    answers = (Answer(at=0, text="first"), Answer(at=1, text="last"))
    assert trace.model_copy(update={"events": answers, "outcome": "failed"}).answer == "last"
    assert not trace.model_copy(update={"outcome": "failed"}).scorable


def test_all_is_what_can_be_imported() -> None:
    assert all(hasattr(records, name) for name in records.__all__)
    assert records.__all__ == sorted(records.__all__, key=lambda name: (not name.isupper(), name[0].islower(), name))


def test_questions_with_the_same_content_are_the_same_question() -> None:
    assert question(1).identity() == question(1).identity() != question(2).identity()


# tests.traces.test_records


def test_an_attribution_survives_json_and_says_its_version() -> None:
    one = Attribution(trial="t", mechanism="lock_in", method="trace", confidence=0.5, evidence=(1, 4), note="why")
    assert Attribution.from_json(one.to_json()) == one
    assert '"version":1' in one.to_json()
    with pytest.raises(ValidationError, match="frozen"):
        one.note = "other"  # type: ignore[misc]


@pytest.mark.parametrize("evidence", [(2, 1), (1, 1), (-1,)])
def test_evidence_is_events_in_order_each_once(evidence: tuple[int, ...]) -> None:
    with pytest.raises(ValidationError, match="in order"):
        Attribution(trial="t", mechanism="sampling_noise", method="replay", confidence=1, evidence=evidence)


@pytest.mark.parametrize("content", [{"mechanism": "magic"}, {"method": "guess"}, {"confidence": 1.5}])
def test_what_is_not_known_is_refused(content: dict[str, object]) -> None:
    fields = {"trial": "t", "mechanism": "sampling_noise", "method": "trace", "confidence": 0.5} | content
    with pytest.raises(ValidationError):
        Attribution.model_validate(fields)
