"""One trace a line, as JSON, and back."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from pydantic import SerializerFunctionWrapHandler, model_serializer
from pydantic_core import PydanticSerializationError
from tests.formats.exports.conftest import all_of
from tests.formats.exports.stores import BARE, FAILED, HOSTILE, TOOLS

from toolablate.formats.exporting import Exported, Reasons
from toolablate.formats.jsonl import read_jsonl, write_jsonl
from toolablate.traces.errors import InputError
from toolablate.traces.records import Attribution
from toolablate.traces.store import Store

REASONS = {
    TOOLS.id: Reasons(
        attribution=Attribution(
            trial=TOOLS.id, mechanism="budget", method="trace", confidence=0.5, turned_at=2, evidence=(2, 4)
        ),
        hypotheses=(Attribution(trial=TOOLS.id, mechanism="luck", method="judge", confidence=0.1, note=HOSTILE),),
    )
}


def written(path: Path, exported: list[Exported]) -> Path:
    with path.open("wb") as file:
        assert write_jsonl(exported, file) == len(exported)
    return path


def test_what_is_read_back_equals_what_the_store_holds(store: Path, tmp_path: Path) -> None:
    found = all_of(store, REASONS)
    assert list(read_jsonl(written(tmp_path / "all.jsonl", found))) == found
    with Store(store) as opened:
        for each in found:
            assert each.trace == opened.trace(each.trial)
            assert each.scores == opened.scores(each.trial)
            assert each.labels == opened.labels(each.trial)
            assert each.diagnoses == opened.diagnoses(each.trial)
            assert each.question == opened.question(each.trace.trial.question)
            assert each.model == opened.model(each.trace.trial.model)
            assert each.condition == opened.condition(each.trace.trial.condition)
            assert each.reasons == REASONS.get(each.trial, Reasons())


def test_everything_of_a_trial_stands_in_its_line(store: Path, tmp_path: Path) -> None:
    lines = written(tmp_path / "all.jsonl", all_of(store, REASONS)).read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    trials = {line["trial"]: line for line in map(json.loads, lines)}
    assert len(trials) == 5
    found = trials[TOOLS.id]
    assert found["called"] == {"question": "q0", "model": "gpt-x", "condition": "python"}
    assert [event["kind"] for event in found["trace"]["events"]] == [
        *("failure", "model_call", "tool_call", "model_call", "answer")
    ]
    assert [score["scorer"] for score in found["scores"]] == ["choice", "judge[gpt-x@00000000]"]
    assert found["reasons"]["attribution"]["mechanism"] == "budget"
    assert [label["person"] for label in found["labels"]] == ["Ada\u202e", "Bob"]
    assert trials[FAILED.id]["trace"]["outcome"] == "failed"
    assert "scores" not in trials[FAILED.id]
    (replay,) = (each for each in trials.values() if "resumed" in each["condition"])
    assert replay["condition"]["resumed"]["trial"] == TOOLS.id


def test_a_line_is_one_line_to_every_reader(store: Path, tmp_path: Path) -> None:
    text = written(tmp_path / "all.jsonl", all_of(store)).read_text(encoding="utf-8")
    assert len(text.splitlines()) == text.count("\n") == 5
    assert "\x00" not in text
    assert "\x1b" not in text


def test_a_lone_surrogate_in_a_store_that_others_wrote_is_replaced(store: Path, tmp_path: Path) -> None:
    found = all_of(store)[0]
    broken = found.model_copy(update={"question": found.question.model_copy(update={"prompt": "a\ud800b"})})
    (back,) = read_jsonl(written(tmp_path / "one.jsonl", [broken]))
    assert back.question.prompt == "a\ufffdb"
    assert back.trace == found.trace


class Interrupted(Exported):
    """Whoever presses Ctrl-C while a line is made."""

    @model_serializer(mode="wrap")
    def _interrupt(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        signal.raise_signal(signal.SIGINT)
        made: dict[str, Any] = handler(self)
        return made


def test_an_interrupt_while_a_line_is_made_is_not_lost(store: Path, tmp_path: Path) -> None:
    """Pydantic gives it as an error of its own."""
    found = Interrupted.model_construct(**dict(all_of(store)[0]))
    with pytest.raises(PydanticSerializationError, match="KeyboardInterrupt"):
        written(tmp_path / "one.jsonl", [found])


def test_a_line_that_is_no_trace_is_named(store: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "all.jsonl", all_of(store)[:1])
    with path.open("a", encoding="utf-8") as file:
        file.write('{"version": 2}\n')
    lines = read_jsonl(path)
    assert next(lines).trial == BARE.id
    with pytest.raises(InputError, match=r"all\.jsonl, line 2: version"):
        next(lines)
    with pytest.raises(InputError, match="cannot be read"):
        next(read_jsonl(tmp_path / "absent.jsonl"))
