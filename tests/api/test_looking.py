"""What else the command line does, from Python, with the same words."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import toolablate as tb
from toolablate.api.words import worded
from toolablate.cli import group
from toolablate.traces import store as stores
from toolablate.traces.errors import InputError
from toolablate.traces.records import Score

SIMULATED = {"provider": "simulated", "name": "sim", "playbook": "builtin", "ability": 0.2}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> tb.Plan:
    return tb.Plan(
        {"file": "builtin", "limit": 6},
        [SIMULATED],
        ["none", tb.condition("brief", prompt="Be brief.")],
        folder=tmp_path_factory.mktemp("looking"),
    )


@pytest.fixture(scope="module")
def store(plan: tb.Plan) -> tb.Store:
    return tb.run(plan, progress=False).store


def test_a_command_in_a_hint_stays_one_to_copy() -> None:
    said = "run `toolablate doctor PLAN --capabilities`, or raise --max-cost"
    with pytest.raises(InputError) as raised, worded():
        raise InputError("--max-cost is spent", hint=said, code="usage")
    assert raised.value.message == "max_cost is spent"
    assert raised.value.hint == "run `toolablate doctor PLAN --capabilities`, or raise max_cost"


def printed(*arguments: object) -> Any:
    ran = CliRunner().invoke(group, [*map(str, arguments), "--json"], catch_exceptions=False)
    return json.loads(ran.stdout)


def test_what_is_printed_is_what_is_given(store: tb.Store) -> None:
    path = store.path
    assert store.failures().json == printed("failures", path)
    listed = store.failures(["condition", "relation"], where={"condition": "none"}, list=True)
    assert listed.json == printed("failures", path, "--by", "condition,relation", "--where", "condition=none", "--list")
    assert len(listed.frame) == len(listed.json["failures"]) > 0
    assert "Wrong answers by relation" in repr(store.failures())
    first = str(listed.frame["trial"][0])
    assert first not in {each["trial"] for each in store.failures(like=first).json["failures"]}
    hits = store.find("answer", where={"condition": "brief"})
    assert hits.json == printed("find", path, "answer", "--where", "condition=brief")
    assert len(hits.frame) == len(hits.json["found"])
    assert store.labels().json == printed("agreement", path, "--labels")
    assert len(store.labels().frame) == 0


def test_agreement_of_two_scorers(store: tb.Store, tmp_path: Path) -> None:
    path = Path(shutil.copy(store.path, tmp_path / "judged.sqlite"))
    with stores.Store(path) as opened:
        given = [score for trial in opened.summaries() for score in opened.scores(trial.trial)]
    asyncio.run(scored(path, [score.model_copy(update={"scorer": "other"}) for score in given]))
    agreement = tb.open(path).agreement(scorer=["choice", "other"])
    assert agreement.json == printed("agreement", path, "--scorer", "choice", "--scorer", "other")
    assert "other" in repr(agreement)
    assert agreement.disagreements == ()


async def scored(path: Path, scores: list[Score]) -> None:
    with stores.Recorder(path) as recorder:
        await recorder.score(scores)


@pytest.mark.deep
def test_before_a_run(plan: tb.Plan, store: tb.Store) -> None:
    seen = tb.power(plan, effect=5, earlier=store)
    assert seen.json["aim"]["effect_points"] == 5
    assert "repeats" in repr(seen)
    found = asyncio.run(tb.doctor_async())
    assert {finding.topic for finding in found.findings} >= {"key", "sandbox"}
    assert len(found.frame) == len(found.json["findings"])
    with pytest.raises(InputError, match="cluster needs a plan"):
        tb.doctor(cluster="local")
    with pytest.raises(InputError, match="cluster: 'none' has no nodes"):
        tb.doctor(plan, cluster="none")


def test_a_frame_without_rows_has_its_columns(store: tb.Store) -> None:
    assert list(store.flips("none", run="all").iloc[:0].columns)[:4] == ["model", "baseline", "condition", "question"]
    assert {"trial", "verdict", "snippet"} <= set(store.find("zzzz").frame.columns)
    with pytest.raises(InputError, match="library: should be pandas or polars; found 'numpy'"):
        store.trials(library="numpy")  # type: ignore[arg-type]


def test_a_run_is_named_by_its_tag(plan: tb.Plan, tmp_path: Path) -> None:
    path = tmp_path / "tagged.sqlite"
    tb.run(plan, store=path, condition="none", tag=["first", "both"], progress=False)
    done = CliRunner().invoke(group, ["status", str(path)], catch_exceptions=False)
    assert done.exit_code == 0
    store = tb.run(plan, store=path, tag="both", progress=False).store
    assert {"condition", "outcome"} <= set(store.trials(run="first").columns)
    assert [len(store.trials(run=tag)) for tag in ("first", "both", "all")] == [6, 12, 12]
    assert len(store.export("jsonl", tmp_path / "first.jsonl", run="first").read_text().splitlines()) == 6
    with pytest.raises(InputError, match=r"run: 'second' is not one run of .*\n.*\(first\) \(both\), \w+ \(both\)"):
        store.compare(run="second")
    with pytest.raises(InputError, match="tag: 'latest' is no name for a run"):
        tb.run(plan, store=path, tag="latest", progress=False)


def test_errors_name_words_as_they_are_given(plan: tb.Plan, store: tb.Store) -> None:
    for make, said in (
        (lambda: store.compare(run="none"), "run: 'none' is not one run"),
        (lambda: store.failures(where={"relation": "no"}), "where relation=no: no wrong trial has that"),
        (lambda: tb.power(plan, earlier=store, within=0.1), "earlier goes with neither between nor within"),
        (lambda: tb.run(plan, question="none", progress=False), "question: "),
    ):
        with pytest.raises(tb.ToolablateError) as raised:
            make()
        assert str(raised.value).startswith(said)
        assert "--" not in str(raised.value)


def test_exports_and_imports_have_the_words_of_their_commands(store: tb.Store, tmp_path: Path) -> None:
    written = store.export("jsonl", tmp_path / "all.jsonl", condition="brief", attributions=False)
    assert len(written.read_text(encoding="utf-8").splitlines()) == 6
    with pytest.raises(InputError, match="no word 'colour'"):
        store.export("jsonl", tmp_path / "other.jsonl", colour="red")
    with pytest.raises(InputError, match="Missing option 'endpoint'"):
        store.export("otlp")
    with pytest.raises(InputError, match="otlp: there is no word 'output'"):
        store.export("otlp", tmp_path / "spans", endpoint="http://127.0.0.1:1")
    with pytest.raises(InputError, match="no format 'xml'"):
        store.export("xml", tmp_path / "other.xml")
    with pytest.raises(InputError):
        tb.Store.from_logs("lm-eval", tmp_path / "none.jsonl", store=tmp_path / "imports.sqlite")


@pytest.mark.deep
def test_the_viewer_as_files(store: tb.Store, tmp_path: Path) -> None:
    page = store.bundle(tmp_path / "pages", where=["condition=brief"])
    assert "<html" in page.read_text(encoding="utf-8")
