"""Logs of Inspect: what its own reader finds in them, and what an import makes of them again."""

import base64
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, read_eval_log
from inspect_ai.model import ChatMessageTool, ChatMessageUser, ContentImage, ContentText
from tests.browser.hostile import png
from tests.formats.stores import BARE, FAILED, HOSTILE, LONG, TOOLS
from tests.formats.test_jsonl import REASONS
from tests.servers.ports import free_port

from toolablate.formats.exporting import ExportChoice, Exported, chosen, read_exported
from toolablate.formats.importing import import_logs
from toolablate.formats.inspect.export_logs import write_logs
from toolablate.formats.inspect.export_samples import Messages
from toolablate.formats.inspect.import_events import message_of, pictured
from toolablate.formats.inspect.import_logs import question_of, read_log
from toolablate.traces.records import ImportedModel, Message, Picture, SimulatedModel
from toolablate.traces.store import Store, verify

pytest.importorskip("inspect_ai")


def exported(store: Path) -> list[Exported]:
    with Store(store) as opened:
        return list(read_exported(opened, chosen(opened, ExportChoice()), REASONS))


@pytest.fixture(scope="module")
def logs(store: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By condition."""
    folder = tmp_path_factory.mktemp("logs")
    written = write_logs(exported(store), folder, name="study", baseline="none", scorers=["choice"])
    assert set(folder.iterdir()) == set(written)
    return {read_eval_log(str(path), header_only=True).eval.solver or "": path for path in written}


def test_inspect_reads_one_log_for_each_condition(logs: dict[str, Path]) -> None:
    assert set(logs) == {"none", "python"}
    log = read_eval_log(str(logs["python"]), resolve_attachments=True)
    assert (log.status, log.eval.task, log.eval.model) == ("success", "study/python", "gpt-x")
    assert log.results is not None
    assert {score.name: score.metrics["accuracy"].value for score in log.results.scores} == {
        "choice": 0.5,
        "judge[gpt-x@00000000]": 0.5,
    }
    assert log.samples is not None
    sample = next(each for each in log.samples if each.uuid == TOOLS.id)
    assert (sample.id, sample.epoch, sample.choices, sample.target) == ("q0", 1, ["yes", "no"], "A")
    assert sample.scores is not None
    choice = sample.scores["choice"]
    assert (choice.value, choice.answer) == ("I", "A")
    assert (choice.metadata or {})["verdict"] == "wrong"
    assert sample.limit is not None
    assert sample.limit.type == "turn"
    assert sample.model_usage["gpt-x"].total_cost == 0.25
    assert sample.metadata["attribution"]["mechanism"] == "budget"
    assert [label["person"] for label in sample.metadata["labels"]] == ["Ada\u202e", "Bob"]


def test_of_several_scorers_of_a_run_the_first_score_is_what_compare_goes_by(store: Path, tmp_path: Path) -> None:
    """`number` scores the second question, `choice` the first; a judge is beside them, and its name sorts first."""
    trials = []
    for each in exported(store):
        own = "number" if each.called.question == "q1" else "choice"
        said = [score for score in each.scores if score.scorer == "choice"]
        judge = {"scorer": "a judge", "value": 0.25, "verdict": "partial"}
        scores = [score.model_copy(update=update) for score in said for update in (judge, {"scorer": own})]
        trials.append(each.model_copy(update={"scores": tuple(scores)}))
    written = write_logs(trials, tmp_path, name="study", baseline="none", scorers=["choice", "number"])
    logs = {log.eval.solver: log for log in (read_eval_log(str(path)) for path in written)}
    of = logs["python"]
    assert of.results is not None
    assert of.samples is not None
    assert [(score.name, score.metrics["accuracy"].value) for score in of.results.scores] == [
        ("score", 0.5),
        ("a judge", 0.25),
    ]
    assert [list(sample.scores or ()) for sample in of.samples] == [["score", "a judge"]] * 2
    usage = of.stats.model_usage["gpt-x"]
    assert (usage.input_tokens, usage.output_tokens) == (
        sum(sample.model_usage["gpt-x"].input_tokens for sample in of.samples if sample.model_usage),
        sum(sample.model_usage["gpt-x"].output_tokens for sample in of.samples if sample.model_usage),
    )
    assert usage.output_tokens > 0
    back = tmp_path / "back.sqlite"
    import_logs([read_log(path) for path in written], back)
    again = {(each.called.question, each.called.condition): each.scores for each in exported(back)}
    for each in trials:
        found = again[each.called.question, each.called.condition]
        assert {(score.scorer, score.value) for score in found} == {(one.scorer, one.value) for one in each.scores}


def test_calls_are_its_own_events(logs: dict[str, Path]) -> None:
    log = read_eval_log(str(logs["python"]), resolve_attachments=True)
    assert log.samples is not None
    sample = next(each for each in log.samples if each.uuid == TOOLS.id)
    assert [event.event for event in sample.events] == ["info", "model", "tool", "model"]
    _, asked, called, _ = sample.events
    assert asked.event == "model"
    assert called.event == "tool"
    assert asked.input[1].text == HOSTILE
    usage = asked.output.usage
    assert usage is not None
    assert (usage.input_tokens, usage.input_tokens_cache_read, usage.input_tokens_cache_write) == (2, 3, 2)
    assert usage.total_tokens == 12
    assert called.error is not None
    assert called.error.message == "ValueError"
    shown, image = called.result
    assert (shown.text, image.image) == (LONG, "data:image/png;base64,iVBORw0KGgo=")
    assert [message.role for message in sample.messages] == ["system", "user", "assistant", "tool", "assistant"]


def test_what_infrastructure_spoiled_is_an_error_and_no_score(logs: dict[str, Path]) -> None:
    log = read_eval_log(str(logs["none"]))
    assert log.samples is not None
    by_trial = {each.uuid: each for each in log.samples}
    failed = by_trial[FAILED.id]
    assert failed.error is not None
    assert failed.error.message == "sandbox: gone: no kernel"
    assert failed.scores is None
    assert by_trial[BARE.id].error is None


def test_a_round_trip_gives_the_same_traces(store: Path, logs: dict[str, Path], tmp_path: Path) -> None:
    back = tmp_path / "back.sqlite"
    import_logs([read_log(path) for path in logs.values()], back)
    assert verify(back).problems == ()
    again = {(each.called.question, each.called.condition): each for each in exported(back)}
    before = exported(store)
    assert len(again) == len(before) == 4
    for each in before:
        found = again[each.called.question, each.called.condition]
        assert (found.question, found.condition) == (each.question, each.condition)
        same = {"trial": each.trace.trial}
        assert found.trace.model_copy(update=same) == each.trace
        named = {"trial": each.trial, "target": ""}
        assert tuple(score.model_copy(update=named) for score in found.scores) == each.scores
        assert [label.model_copy(update={"trial": each.trial}) for label in found.labels] == list(each.labels)
        # What a model was, and where it was asked, is no matter of a log.
        assert found.model == ImportedModel(name="gpt-x")
    with Store(back) as opened:
        (run,) = opened.runs()
    assert (run.baseline, run.scorers) == ("none", ("choice",))
    assert len(again["q0", "python"].labels) == 2


def test_a_score_that_was_edited_in_inspect_counts_as_edited(logs: dict[str, Path], tmp_path: Path) -> None:
    from inspect_ai.log import ProvenanceData, edit_score, write_eval_log
    from inspect_ai.scorer import ScoreEdit

    log = read_eval_log(str(logs["none"]))
    edit_score(log, "q0", "choice", ScoreEdit(value="I", provenance=ProvenanceData(author="Ada", reason="wrong key")))
    write_eval_log(log, str(tmp_path / "edited.eval"))
    back = tmp_path / "back.sqlite"
    import_logs([read_log(tmp_path / "edited.eval")], back)
    found = {each.called.question: each.scores for each in exported(back)}
    assert [(score.scorer, score.value, score.verdict) for score in found["q0"]] == [("choice", 0.0, "wrong")]


@pytest.mark.deep
def test_conditions_and_models_come_back_in_the_order_of_the_study(store: Path, tmp_path: Path) -> None:
    trials, known = exported(store), []
    for name in ("z", "a", "m"):
        for each in trials:
            other = each.trace.trial.model_copy(update={"condition": each.condition.identity() + name, "model": name})
            condition = each.condition.model_copy(update={"name": f"{each.condition.name}-{name}", "prompt": name})
            model = ImportedModel(name=name)
            trial = other.model_copy(update={"model": model.identity(), "condition": condition.identity()})
            called = each.called.model_copy(update={"model": name, "condition": condition.name})
            update = {"model": model, "condition": condition, "called": called}
            known.append(each.model_copy(update=update | {"trace": each.trace.model_copy(update={"trial": trial})}))
    models = list(dict.fromkeys(each.model.identity() for each in known))
    conditions = list(dict.fromkeys(each.condition.identity() for each in known))
    written = write_logs(known, tmp_path, name="study", models=models, conditions=conditions)
    for number, logs in enumerate((sorted(written, key=lambda path: path.name[20:]), written[::-1])):
        back = tmp_path / f"{number}.sqlite"
        import_logs([read_log(path) for path in logs], back)
        with Store(back) as opened:
            assert [each.name for each in opened.models()] == ["z", "a", "m"]
            assert [each.identity() for each in opened.conditions()] == conditions
            assert opened.runs()[0].baseline == "none-z"


@pytest.mark.deep
def test_of_scorers_that_count_together_none_is_hidden_by_the_first_log(store: Path, tmp_path: Path) -> None:
    """The log without tools has questions of one kind alone; which of two scorers counts first is the run's to say."""
    trials = []
    for each in exported(store):
        tools = each.called.condition == "python"
        own = "number" if tools and each.called.question == "q1" else "choice"
        judge = {"scorer": "judge", "value": 0.25, "verdict": "partial"}
        said = [score for score in each.scores if score.scorer == "choice"]
        scores = [score.model_copy(update=update) for score in said for update in ({"scorer": own}, judge)]
        trials.append(each.model_copy(update={"scores": tuple(scores if tools else scores[:1])}))
    counting = ["judge", "choice", "number"]
    written = {
        read_eval_log(str(path), header_only=True).eval.solver: path
        for path in write_logs(trials, tmp_path, name="study", baseline="none", scorers=counting)
    }
    logs = [read_log(written["none"]), read_log(written["python"])]
    together, apart = tmp_path / "together.sqlite", tmp_path / "apart.sqlite"
    none, python = import_logs(logs, together)
    assert (none.scorers, set(python.scorers)) == (("choice",), set(counting))
    for log in logs:
        import_logs([log], apart)
    for back in (together, apart):
        with Store(back) as opened:
            assert list(opened.runs()[-1].scorers) == counting
    named = tmp_path / "named.sqlite"
    import_logs(logs, named, scorer="choice")
    import_logs([read_log(written["python"])], named)
    with Store(named) as opened:
        assert opened.runs()[-1].scorers == ("choice",)


def test_a_simulated_model_is_never_taken_for_a_real_one(store: Path, tmp_path: Path) -> None:
    simulated = SimulatedModel(name="gpt-x", seed=3, scenarios="scenarios.jsonl", scenarios_digest="0" * 32)
    trials = [each.model_copy(update={"model": simulated}) for each in exported(store)]
    for path in write_logs(trials, tmp_path, name="study"):
        header = read_eval_log(str(path), header_only=True)
        assert (header.eval.model, header.eval.tags) == ("simulated/gpt-x", ["simulated"])
        assert read_log(path).model == simulated.model_copy(update={"scenarios": ""})


@pytest.mark.deep
def test_inspect_view_serves_them(logs: dict[str, Path], tmp_path: Path) -> None:
    folder = logs["none"].parent
    port = free_port()
    command = [sys.executable, "-m", "inspect_ai", "view", "start", "--log-dir", folder, "--port", str(port)]
    with (tmp_path / "said").open("wb") as said:
        server = subprocess.Popen([*map(str, command)], stdout=said, stderr=subprocess.STDOUT)
        try:
            listed = _asked(f"http://127.0.0.1:{port}/api/logs", server)
        finally:
            server.terminate()
            server.wait(timeout=60)
    assert {Path(file["name"]).name for file in listed["files"]} == {path.name for path in logs.values()}


def _asked(url: str, server: "subprocess.Popen[bytes]") -> dict[str, list[dict[str, str]]]:
    deadline = time.monotonic() + 90
    while True:
        try:
            with urllib.request.urlopen(url, timeout=30) as reply:
                found: dict[str, list[dict[str, str]]] = json.load(reply)
                return found
        except urllib.error.URLError:
            assert server.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.2)


ONE, OTHER = (Picture.of(base64.b64decode(png(side, 2))) for side in (3, 4))


@pytest.mark.parametrize("text", ["Which?", "See <image 1> and <image 2>.", "Only <image 1>", "<image 2>", ""])
def test_images_of_messages_come_back_where_they_were(text: str) -> None:
    for role in ("user", "tool"):
        said = Message(role=role, content=text, images=(ONE, OTHER), tool_call_id="c" if role == "tool" else "")
        logged = Messages("m").of(said)
        assert [part.image for part in logged.content if part.type == "image"] != []
        assert message_of(type(logged).model_validate_json(logged.model_dump_json())) == said


def test_images_of_another_harness_are_marked_where_they_stand() -> None:
    image, text, away = (
        ContentImage(image=ONE.url),
        ContentText(text="like"),
        ContentImage(image="https://x.test/a.png"),
    )
    assert pictured([image, text, ContentImage(image=OTHER.url)]) == ("like\n<image 2>", (ONE, OTHER))
    assert pictured([image, away, text], [7]) == ("[image https://x.test/a.png]\nlike", (ONE,))
    assert pictured([ContentImage(image="data:image/png;base64,AAAA"), text]) == ("[image]\nlike", ())
    drawn = message_of(ChatMessageTool(content=[text, image], tool_call_id="c"))
    assert (drawn.content, drawn.images) == ("like\n[image]", (ONE,))
    sample = EvalSample(id="s", epoch=1, input=[ChatMessageUser(content=[text, image])], target="x")
    log = EvalLog(
        eval=EvalSpec(
            created="2026-01-01T00:00:00+00:00", task="t", dataset=EvalDataset(), model="m", config=EvalConfig()
        )
    )
    question = question_of(sample, log)
    assert (question.prompt, question.images) == ("like\n<image 1>", (ONE,))
