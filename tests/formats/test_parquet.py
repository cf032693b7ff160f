"""Trials as tables in Parquet files."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.formats.conftest import all_of
from tests.formats.stores import BARE, FAILED, HOSTILE, LONG, TOOLS
from tests.formats.test_jsonl import REASONS, called, refused

from toolablate.formats import parquet
from toolablate.formats.exporting import Exported
from toolablate.formats.trial_tables import TABLES, ExportLayout
from toolablate.traces.records import Artifact, Message, ModelCall, Usage

pq = pytest.importorskip("pyarrow.parquet")

Read = Mapping[str, list[dict[str, Any]]]


def read(folder: Path) -> Read:
    return {table.name: pq.read_table(folder / f"{table.name}.parquet").to_pylist() for table in TABLES}


def written(folder: Path, exported: Sequence[Exported]) -> Read:
    folder.mkdir(exist_ok=True)
    counts = parquet.write_parquet(iter(exported), folder, ["choice"])
    found = read(folder)
    assert counts == {name: len(rows) for name, rows in found.items()}
    return found


@pytest.fixture(scope="module")
def exported(store: Path) -> list[Exported]:
    return all_of(store, REASONS)


@pytest.fixture(scope="module")
def tables(exported: list[Exported], tmp_path_factory: pytest.TempPathFactory) -> Read:
    return written(tmp_path_factory.mktemp("parquet"), exported)


def row(tables: Read, table: str, **wanted: Any) -> dict[str, Any]:
    (found,) = (each for each in tables[table] if wanted.items() <= each.items())
    return found


def test_every_row_has_the_columns_that_are_documented_and_no_others(exported: list[Exported]) -> None:
    layout = ExportLayout(["choice"])
    filled: dict[str, set[str]] = {table.name: set() for table in TABLES}
    for each in exported:
        for table, values in layout.rows(each):
            assert values.keys() <= {column.name for column in table.columns}, table.name
            filled[table.name] |= {name for name, value in values.items() if value is not None}
    for table in TABLES:
        left = {column.name for column in table.columns} - filled[table.name]
        assert left <= {"rubric", "metadata", "reason", "key", "distraction"}, (table.name, left)


def test_what_is_read_back_equals_what_was_laid_out(exported: list[Exported], tables: Read) -> None:
    layout, expected = ExportLayout(["choice"]), {table.name: [] for table in TABLES}  # type: ignore[var-annotated]
    for each in exported:
        for table, values in layout.rows(each):
            expected[table.name].append({column.name: values.get(column.name) for column in table.columns})
    assert expected == tables


def test_a_trial_s_row(tables: Read) -> None:
    found = row(tables, "trials", trial=TOOLS.id)
    assert (found["question"], found["model"], found["condition"]) == ("q0", "gpt-x", "python")
    assert (found["outcome"], found["limit"], found["answer"]) == ("budget", "turns", "Answer: B")
    assert (found["value"], found["verdict"], found["scorer"]) == (0, "wrong", "choice")
    assert (found["tools"], found["tool_calls"], found["tool_errors"]) == (["web/../search"], 1, 1)
    assert (found["lookups"], found["misses"], found["leaks"], found["failures"]) == (1, 1, 1, 1)
    assert (found["input_tokens"], found["cached_tokens"], found["cost_usd"]) == (7, 3, 0.25)
    assert found["started_at"].isoformat() == "2026-01-02T03:04:05.678901+00:00"
    failed = row(tables, "trials", trial=FAILED.id)
    assert (failed["outcome"], failed["value"], failed["scorer"], failed["tools"]) == ("failed", None, None, [])


def test_a_replay_names_its_parent(tables: Read) -> None:
    found = row(tables, "trials", parent=TOOLS.id)
    condition = row(tables, "conditions", condition_key=found["condition_key"])
    assert (condition["parent"], condition["event"], condition["change"]) == (TOOLS.id, 3, "swap")
    rebuilt = row(tables, "events", trial=found["trial"], kind="rebuilt")
    assert (rebuilt["calls"], json.loads(rebuilt["mismatches"])[0]["now"]) == (1, "b")


def test_hostile_text_arrives_as_it_was(tables: Read) -> None:
    call = row(tables, "events", trial=TOOLS.id, kind="tool_call")
    assert call["text"] == LONG
    assert call["artifacts"] == [{"mime": "image/png", "data": "iVBORw0KGgo="}, {"mime": "text/html", "data": HOSTILE}]
    assert (call["tool"], call["call"], call["status"]) == ("web/../search", "call/0", "error")
    assert (call["original"], call["changes"], call["markers"]) == ("as it was", ["noise"], ["answer_leak"])
    assert row(tables, "labels", person="Bob")["note"] == HOSTILE


def test_requests_can_be_put_together_again(exported: list[Exported], tables: Read) -> None:
    for each in exported:
        messages: list[dict[str, Any]] = []
        calls = [event for event in each.trace.events if isinstance(event, ModelCall)]
        rows = [found for found in tables["events"] if found["trial"] == each.trial and found["kind"] == "model_call"]
        for event, found in zip(calls, rows, strict=True):
            messages = messages[: found["messages_kept"]] + json.loads(found["messages"] or "[]")
            assert tuple(map(Message.model_validate, messages)) == event.request.messages


def test_what_was_said_of_a_trial(tables: Read) -> None:
    scores = [each for each in tables["scores"] if each["trial"] == TOOLS.id]
    assert [(each["scorer"], each["value"]) for each in scores] == [("choice", 0.0), ("judge[gpt-x@00000000]", 0.5)]
    assert (scores[1]["judge"], scores[1]["judge_reply"], scores[1]["judge_cost_usd"]) == ("gpt-x", "1", 0.5)
    assert [(each["standing"], each["mechanism"], each["evidence"]) for each in tables["attributions"]] == [
        ("attribution", "budget", [2, 4]),
        ("hypothesis", "sampling_noise", []),
    ]
    assert row(tables, "diagnoses", trial=TOOLS.id)["evidence"] == [1, 2]
    assert [each["person"] for each in tables["labels"]] == ["Ada\u202e", "Bob"]
    assert [each["question"] for each in tables["questions"]] == ["q0", "q1"]
    assert len(tables["models"]) == 1


def test_groups_are_written_as_they_fill(
    exported: list[Exported], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 3)
    found = written(tmp_path, exported)
    assert pq.ParquetFile(tmp_path / "trials.parquet").num_row_groups == 2
    assert len(found["trials"]) == 5
    monkeypatch.setattr(parquet, "GROUP_CHARS", 1)
    written(tmp_path, exported)
    assert pq.ParquetFile(tmp_path / "trials.parquet").num_row_groups == 5


def test_images_count_in_how_much_is_held(
    exported: list[Exported], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = next(each for each in exported if each.trial == TOOLS.id)
    call = next(event for event in whole.trace.events if event.kind == "tool_call")
    image = call.model_copy(
        update={"output": "", "original": None, "artifacts": (Artifact(mime="image/png", data="A" * 1_000),)}
    )
    monkeypatch.setattr(parquet, "GROUP_CHARS", 1_000)
    trace = whole.trace.model_copy(update={"events": (image, image, image)})
    written(tmp_path, [whole.model_copy(update={"trace": trace})])
    assert pq.ParquetFile(tmp_path / "events.parquet").num_row_groups == 3


def test_what_only_others_write_does_not_stop_it(exported: list[Exported], tmp_path: Path) -> None:
    bare = next(each for each in exported if each.trial == BARE.id)
    question = bare.question.model_copy(update={"prompt": "a\ud800b", "choices": ("\udfff", "no")})
    events = tuple(event.model_copy(update={"at": 1e300}) for event in bare.trace.events)
    trace = bare.trace.model_copy(update={"usage": Usage(input_tokens=10**30, output_tokens=1), "events": events})
    found = written(tmp_path, [bare.model_copy(update={"question": question, "trace": trace})])
    assert (found["questions"][0]["prompt"], found["questions"][0]["choices"]) == ("a\ufffdb", ["\ufffd", "no"])
    assert (found["trials"][0]["input_tokens"], found["trials"][0]["output_tokens"]) == (None, 1)
    assert {each["time"] for each in found["events"]} == {None}


def test_pandas_reads_them(exported: list[Exported], tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    written(tmp_path, exported)
    trials, events = (pandas.read_parquet(tmp_path / f"{name}.parquet") for name in ("trials", "events"))
    assert list(trials["trial"]) == [each.trial for each in exported]
    assert isinstance(trials["condition"].dtype, pandas.CategoricalDtype)
    assert str(trials["started_at"].dtype) == "datetime64[us, UTC]"
    joined = events.merge(trials, on="trial")
    assert len(joined) == sum(len(each.trace.events) for each in exported)
    assert (joined["text"] == LONG).sum() == 1


# `toolablate export parquet`.


pyarrow = pytest.importorskip("pyarrow")


def test_it_writes_a_folder_of_tables_and_replaces_its_own(store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "tables"
    result = called("parquet", store, "-o", folder)
    assert result.exit_code == 0, result.output
    assert "4 trials, " in result.stderr
    assert {path.name for path in folder.iterdir()} == {f"{table.name}.parquet" for table in TABLES}
    assert called("parquet", store, "-o", folder, "--condition", "none", "--no-attributions").exit_code == 0
    trials = pq.read_table(folder / "trials.parquet").to_pylist()
    assert {each["condition"] for each in trials} == {"none"}
    assert trials[0]["scorer"] == "choice"
    assert pq.read_table(folder / "attributions.parquet").num_rows == 0
    assert [path.name for path in folder.parent.iterdir()] == ["tables"]


def test_tables_of_trials_are_parted_as_a_dataset_and_read_as_one(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = pytest.importorskip("pyarrow.dataset")
    monkeypatch.setattr(parquet, "MAX_OPEN", 1)
    whole, parted, sized = tmp_path / "whole", tmp_path / "parted", tmp_path / "sized"
    chosen = (store, "--no-attributions", "--run", "all", "-o")
    by = ("--partition", "condition", "--partition", "model")
    for words in ((*chosen, whole), (*chosen, parted, *by), (*chosen, sized, "--file-rows", "2")):
        assert called("parquet", *words).exit_code == 0
    for table in TABLES:
        expected = pq.read_table(whole / f"{table.name}.parquet")
        if table.columns[0].name != "trial":
            assert pq.read_table(parted / f"{table.name}.parquet") == expected
            continue
        assert all(pq.read_metadata(file).num_rows <= 2 for file in (sized / table.name).glob("*.parquet"))
        for folder in (parted / table.name, sized / table.name):
            found = dataset.dataset(folder, partitioning="hive").to_table()
            assert set(expected.column_names) <= {*found.column_names}
            assert _sorted(found.select(expected.column_names)) == _sorted(expected)
    names = {path.parent.relative_to(parted).as_posix() for path in (parted / "events").rglob("*.parquet")}
    assert len(names) > 1
    assert all(re.fullmatch("events/condition=[^/]+/model=[^/]+", name) for name in names)
    assert called("parquet", *chosen, parted).exit_code == 0
    assert {path.name for path in parted.iterdir()} == {f"{table.name}.parquet" for table in TABLES}
    (sized / "events" / "mine.txt").write_text("mine", encoding="utf-8")
    assert "has other files, such as 'events'" in refused("parquet", *chosen, sized)
    assert "each replay" in refused("parquet", *chosen, parted, *by, "--replays")


def _sorted(table: Any) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in table.to_pylist())


def test_what_is_not_its_own_is_left_alone(store: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert "has other files, such as 'mine.txt'" in refused("parquet", store, "-o", tmp_path)
    assert "is a file" in refused("parquet", store, "-o", store)
    assert "is a file" in refused("parquet", store, "-o", tmp_path / "mine.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_table_of_others_that_has_the_name_of_one_of_these_is_no_earlier_export(store: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "questions.parquet"
    pq.write_table(pyarrow.table({"prompt": ["mine"]}), theirs)
    assert "has other files, such as 'questions.parquet'" in refused("parquet", store, "-o", tmp_path)
    assert pq.read_table(theirs).to_pylist() == [{"prompt": "mine"}]
    theirs.write_bytes(b"no table")
    assert "has other files" in refused("parquet", store, "-o", tmp_path)
    assert theirs.read_bytes() == b"no table"


def test_scores_of_another_scorer_count_where_it_is_named(store: Path, tmp_path: Path) -> None:
    assert called("parquet", store, "-o", tmp_path, "--scorer", "gpt-x", "--no-attributions").exit_code == 0
    values = {each["value"] for each in pq.read_table(tmp_path / "trials.parquet").to_pylist()}
    assert values == {None, 0.5}
    assert ": choice, judge" in refused("parquet", store, "-o", tmp_path, "--scorer", "other")


def test_a_store_that_is_none_leaves_no_folder(tmp_path: Path) -> None:
    result = called("parquet", tmp_path / "absent.sqlite", "-o", tmp_path / "tables")
    assert "absent.sqlite" in str(result.exception)
    assert list(tmp_path.iterdir()) == []
