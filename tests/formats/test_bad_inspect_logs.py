"""What cannot be taken is refused by file and sample, and leaves nothing behind."""

import json
import math
import resource
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.formats.conftest import imported

from toolablate.traces.errors import InputError
from toolablate.traces.store import Recorder, Store

pytestmark = pytest.mark.deep

HOSTILE = '<script>alert(1)</script>\x1b]0;title\x07\x1b[31m\x00\u202e\ud800"\r\n../../etc' + "x" * 300
Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "imported.sqlite"


def changed(log: Path, path: Path, sample: Change = dict, header: Change = dict) -> Path:
    """A copy of a log with its JSON changed."""
    with zipfile.ZipFile(log) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = json.loads(old.read(name))
            if name.startswith("samples/"):
                sample(content)
            elif name == "header.json":
                header(content)
            new.writestr(name, json.dumps(content))
    return path


def refused(store: Path, *paths: Path) -> str:
    existed = store.exists()
    with pytest.raises(InputError) as error:
        imported(store, *paths)
    assert store.exists() == existed
    assert "\x1b" not in str(error.value)
    return str(error.value)


@pytest.mark.deep
def test_files_that_are_no_logs(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    whole = (inspect_logs / "plain.eval").read_bytes()
    for name, content in (
        ("cut.eval", whole[: len(whole) // 2]),
        ("empty.eval", b""),
        ("text.json", b"{"),
        ("other.json", b'{"a": 1}'),
        ("list.json", b"[" * 100_000),
    ):
        (tmp_path / name).write_bytes(content)
        assert f"{tmp_path / name} cannot be read as a log of Inspect" in refused(store, tmp_path / name)
    assert "cannot be read" in refused(store, tmp_path / "missing.eval")
    assert "is no log of Inspect by its name" in refused(store, tmp_path / "samples.jsonl")


@pytest.mark.parametrize(
    "part", ["header.json", "reductions.json", "_journal/start.json", "samples/sum-0_epoch_1.json"]
)
def test_a_small_file_that_unpacks_to_a_large_one_is_refused_unread(
    inspect_logs: Path, store: Path, tmp_path: Path, part: str
) -> None:
    bomb = tmp_path / "bomb.eval"
    with zipfile.ZipFile(inspect_logs / "plain.eval") as old, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name != part:
                new.writestr(name, old.read(name))
        with new.open(part, "w") as member:
            for _ in range(257):
                member.write(b" " * (1 << 20))
    assert bomb.stat().st_size < 1 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert f"{part} unpacks to 269,484,032 bytes" in refused(store, bomb)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_a_part_that_is_larger_than_it_declares_is_not_read_on(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    bomb = tmp_path / "lying.eval"
    with zipfile.ZipFile(inspect_logs / "plain.eval") as old, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name) + (b" " * (64 << 20) if name == "header.json" else b""))
    with zipfile.ZipFile(bomb) as archive:
        declared = struct.pack("<I", archive.getinfo("header.json").file_size)
    raw = bomb.read_bytes()
    assert raw.count(declared) >= 1
    bomb.write_bytes(raw.replace(declared, struct.pack("<I", 1000)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "cannot be read as a log of Inspect" in refused(store, bomb)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_nothing_is_written_where_one_of_several_is_broken(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    broken = changed(inspect_logs / "tools.eval", tmp_path / "b.eval", lambda sample: sample.pop("input"))
    said = refused(store, inspect_logs / "plain.eval", broken)
    assert str(broken) in said
    assert "sample 'sum-0_epoch_1'" in said
    assert "input" in said


def test_why_a_run_ended_early_is_told(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    def ended(header: dict[str, Any]) -> None:
        failed = {"message": "no route\x1b[31m to host", "traceback": "", "traceback_ansi": ""}
        header.update(status="error", error=failed)

    (told,) = imported(store, changed(inspect_logs / "plain.eval", tmp_path / "early.eval", header=ended))
    (note,) = [each for each in told.notes if "status" in each]
    assert note.startswith("the log says that its run has the status 'error' (no route")
    assert "\x1b" not in note


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        ({"scorers": "match"}, "its scorers are no list of names"),
        ({"scorers": [["match"]]}, "its scorers are no list of names"),
        ({"place": [True, 0]}, "its position among models and conditions must be a pair of whole numbers"),
    ],
)
def test_what_was_kept_in_a_log_and_changed_since_is_refused(
    inspect_logs: Path, store: Path, tmp_path: Path, kept: dict[str, Any], told: str
) -> None:
    def hostile(header: dict[str, Any]) -> None:
        header["eval"]["metadata"] = {"toolablate": kept}

    log = changed(inspect_logs / "plain.eval", tmp_path / "kept.eval", header=hostile)
    assert f"{log} cannot be read as a log of Inspect: {told}" in refused(store, log)


def test_a_log_of_another_version_is_refused(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    (tmp_path / "new.json").write_text(json.dumps({"version": 99, "status": "success"}), encoding="utf-8")
    assert "cannot be read as a log of Inspect" in refused(store, tmp_path / "new.json")


def test_a_log_that_kept_no_samples(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log, write_eval_log

    log = read_eval_log(str(inspect_logs / "plain.eval"), header_only=True)
    for name in ("none.json", "none.eval"):
        write_eval_log(log, str(tmp_path / name))
        assert "holds no samples" in refused(store, tmp_path / name)


def test_a_sample_that_asks_nothing_or_is_there_twice(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    empty = changed(inspect_logs / "plain.eval", tmp_path / "e.eval", lambda sample: sample.update(input=" "))
    assert "its input is empty" in refused(store, empty)
    same = changed(inspect_logs / "plain.eval", tmp_path / "s.eval", lambda sample: sample.update(epoch=1))
    assert "is in the log twice" in refused(store, same)


def test_the_same_question_with_another_key(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    other = changed(inspect_logs / "tools.eval", tmp_path / "o.eval", lambda sample: sample.update(target="99"))
    said = refused(store, inspect_logs / "plain.eval", other)
    assert "'sum-0', is known with another key" in said
    assert "another store" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"total_time": math.nan}, "seconds: Input should be a finite number"),
        ({"total_time": -1.0}, "seconds: "),
        ({"total_time": 1e300}, "it took 1e+300 seconds"),
        ({"epoch": 10**30}, "it is number 1e+30 of its question"),
        ({"metadata": {"toolablate": {"outcome": "right"}}}, "outcome: "),
        ({"metadata": {"toolablate": {"cost_usd": "much"}}}, "cost_usd: "),
        ({"metadata": {"toolablate": {"cost_usd": -3}}}, "it cost -3 dollars"),
        ({"metadata": {"toolablate": {"usage": {"input_tokens": 2**63}}}}, "its tokens are 9.22337e+18"),
    ],
)
def test_what_no_store_can_hold_is_found_before_anything_is_written(
    inspect_logs: Path, store: Path, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    def last(sample: dict[str, Any]) -> None:
        if (sample["id"], sample["epoch"]) == ("sum-3", 2):
            sample.update(change)

    log = changed(inspect_logs / "plain.eval", tmp_path / "p.eval", last)
    assert f"sample 'sum-3', epoch {change.get('epoch', 2)} is invalid: {said}" in refused(store, log)


def test_a_condition_that_goes_on_from_a_trial_is_no_arm(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    resumed = {"name": "c", "resumed": {"trial": "a" * 32, "event": 1, "change": {"kind": "again"}}}

    def header(content: dict[str, Any]) -> None:
        content["eval"]["metadata"] = {"toolablate": {"condition": resumed}}

    log = changed(inspect_logs / "plain.eval", tmp_path / "r.eval", header=header)
    assert "forks a trial" in refused(store, log)


def test_parameters_that_are_no_number_are_left_out_and_texts_left_alone(
    inspect_logs: Path, store: Path, tmp_path: Path
) -> None:
    def header(content: dict[str, Any]) -> None:
        content["plan"]["steps"][0]["params"] = {"wait": math.inf, "odd": math.nan, "word": "NaN"}

    imported(store, changed(inspect_logs / "plain.eval", tmp_path / "i.eval", header=header))
    with Store(store) as opened:
        (step,) = opened.conditions()[0].imported["steps"]  # type: ignore[misc, union-attr]
    assert step["params"] == {"wait": None, "odd": None, "word": "NaN"}  # type: ignore[call-overload, index]


def test_scores_that_are_none(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    def broken(sample: dict[str, Any]) -> None:
        sample["scores"]["match"]["value"] = math.nan if sample["id"] == "sum-0" else "N"
        sample["scores"]["includes"]["value"] = "maybe"

    log = changed(inspect_logs / "plain.eval", tmp_path / "n.eval", broken)
    (told,) = imported(store, log)
    assert told.scorers == ("match",)
    assert told.left_out[0].startswith("includes: 'maybe' is no score")
    with Store(store) as opened:
        seen = opened.summaries(scorers=["match"])
    assert {(each.question == "sum-0", each.value, each.verdict) for each in seen} == {
        (True, None, "unscored"),
        (False, 0.0, "unparsed"),
    }
    with pytest.raises(InputError, match="includes: 'maybe' is no score"):
        imported(store, log, scorer="includes")
    with pytest.raises(InputError, match=r"has no scores by 'nobody'\s+It has: match, includes"):
        imported(store, log, scorer="nobody")


def test_hostile_text_and_long_lines_are_kept_inert(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    def hostile(sample: dict[str, Any]) -> None:
        sample["input"] = HOSTILE + str(sample["id"])
        sample["id"] = HOSTILE + str(sample["id"])
        sample["output"]["choices"][0]["message"]["content"] = "9" * 5_000_000
        sample["output"]["completion"] = "9" * 5_000_000
        sample["metadata"] = {"domain": HOSTILE}

    def named(header: dict[str, Any]) -> None:
        header["eval"]["model"] = HOSTILE
        header["eval"]["solver"] = HOSTILE

    log = changed(inspect_logs / "plain.eval", tmp_path / "h.eval", hostile, named)
    (told,) = imported(store, log)
    for said in (told.model, told.condition):
        assert said.isprintable()
        assert "\x1b" not in said
    with Store(store) as opened:
        question = opened.questions()[0]
        assert all(trace.answer == "9" * 5_000_000 for trace in opened.traces())
    assert question.prompt.startswith("<script>alert(1)</script>\x1b]0;title\x07")
    assert "\ud800" not in question.prompt
    assert "\x1b" not in question.id + question.domain


def test_keys_stay_out_of_the_store(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    secret = "sk-very-secret-0123456789"

    def keyed(header: dict[str, Any]) -> None:
        header["plan"]["steps"][0]["params"] = {"api_key": secret, "deep": {"auth_token": secret}, "tries": 3}
        header["eval"]["model_args"] = {"api_key": secret}
        header["eval"]["model_generate_config"]["extra_headers"] = {"Authorization": secret}

    imported(store, changed(inspect_logs / "plain.eval", tmp_path / "k.eval", header=keyed))
    with Store(store) as opened:
        (condition,) = opened.conditions()
        kept = [*opened.runs(), *opened.models(), condition, *opened.traces()]
    assert condition.imported["steps"] == [{"solver": "generate", "params": {"deep": {}, "tries": 3}}]
    assert all(secret not in each.to_json() for each in kept)


def test_a_store_that_a_plan_ran_into_is_left_alone(inspect_logs: Path, tmp_path: Path) -> None:
    from tests.traces.samples import CODE, MODEL, NONE, QUESTIONS, run, trials

    path = tmp_path / "ran.sqlite"
    with Recorder(path) as recorder:
        recorder.plan(run(), QUESTIONS, [MODEL], [NONE, CODE], trials())
    before = path.read_bytes()
    assert "has trials that a plan ran" in refused(path, inspect_logs / "plain.eval")
    assert path.read_bytes() == before


def test_no_plan_runs_into_a_store_of_imports(inspect_logs: Path, store: Path) -> None:
    from tests.traces.samples import CODE, MODEL, NONE, QUESTIONS, run, trials

    imported(store, inspect_logs / "plain.eval")
    with Recorder(store) as recorder, pytest.raises(InputError, match="has imported trials"):
        recorder.plan(run(), QUESTIONS, [MODEL], [NONE, CODE], trials())
