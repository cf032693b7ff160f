"""Logs that Inspect wrote become runs that can be compared."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.formats.conftest import all_of, imported
from tests.formats.stores import BARE, FAILED, TOOLS, label
from tests.formats.test_bad_inspect_logs import HOSTILE, changed, refused
from tests.reports.attribution.contradictions import contradictions_of
from tests.traces.samples import WHEN, attempt, plan

from toolablate.analysis.comparison import compare
from toolablate.analysis.misses import refused_calls
from toolablate.formats.importing import import_logs
from toolablate.formats.inspect.export_logs import write_logs
from toolablate.formats.inspect.import_logs import read_log
from toolablate.traces.records import (
    ChoiceTarget,
    Failure,
    ImportedModel,
    Label,
    NumberTarget,
    TextTarget,
    ToolUse,
    Usage,
)
from toolablate.traces.store import Recorder, Store, verify

pytestmark = pytest.mark.timeout(400)
"""The first one has Inspect run and write its logs, twice: a minute and more on a busy machine."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "imported.sqlite"


def facts(store: Path) -> dict[tuple[str, str, int], tuple[str, float | None]]:
    with Store(store) as opened:
        (run,) = opened.runs()[-1:]
        seen = opened.summaries(run=run.id, scorers=[each for each in run.scorers if each in opened.scorers()])
    return {(each.question, each.condition, each.repeat): (each.outcome, each.value) for each in seen}


def test_two_arms_are_compared_in_pairs(inspect_logs: Path, store: Path) -> None:
    plain, tools = imported(store, inspect_logs / "plain.eval", inspect_logs / "tools.eval")
    assert (plain.condition, plain.samples, plain.added, plain.failed) == ("generate", 8, 8, 0)
    assert (tools.condition, tools.scorers, tools.others) == ("generate[add]", ("match",), ("includes",))
    with Store(store) as opened:
        (run,) = opened.runs()
        assert (run.baseline, run.scorers, run.plan) == ("generate", ("match",), "")
        assert [question.id for question in opened.questions()] == [f"sum-{n}" for n in range(4)]
        assert {(question.target, question.domain) for question in opened.questions()} == {
            (NumberTarget(value=n), "sums") for n in (1, 2, 3, 4)
        }
        assert opened.models() == (ImportedModel(name="mockllm/model"),)
        without, with_tools = opened.conditions()
        (row,) = compare(opened.summaries(scorers=["match"]), "generate")
    assert without.tools == ()
    assert (with_tools.tools, with_tools.prompt) == ((ToolUse(name="add"),), "Use tools.")
    assert with_tools.imported["config"] == {"temperature": 0.5}
    assert (row.questions, row.right_to_wrong, row.wrong_to_right) == (4, 1, 1)
    assert verify(store).problems == ()
    found = contradictions_of(store)
    assert (len(found), any(found.values())) == (8, False)


def test_a_trace_is_what_the_log_tells(inspect_logs: Path, store: Path) -> None:
    imported(store, inspect_logs / "tools.eval")
    with Store(store) as opened:
        seen = next(each for each in opened.summaries(scorers=["match"]) if each.question == "sum-0")
        trace, (_, match) = opened.trace(seen.trial), opened.scores(seen.trial)
    assert (match.scorer, match.value, match.verdict, match.extracted) == ("match", 0.0, "wrong", ("nine",))
    asked, called, again, answer = trace.events
    assert [event.kind for event in trace.events] == ["model_call", "tool_call", "model_call", "answer"]
    assert [message.role for message in asked.request.messages] == ["system", "user"]
    assert asked.request.messages[1].content == "What is 0 + 1?"
    (spec,) = asked.request.tools
    assert (spec.name, spec.parameters["required"]) == ("add", ["x", "y"])
    assert asked.reply.finish_reason == "tool_calls"
    assert (called.call, called.output, called.status) == (asked.reply.message.tool_calls[0], "1", "ok")
    assert called.call.arguments == '{"x": 0, "y": 1}'
    assert again.request.messages[-1].tool_call_id == called.call.id
    assert answer.text == again.reply.message.content == "nine"
    # Inspect counts what a cache had apart.
    one = Usage(input_tokens=15, output_tokens=3, cached_tokens=4, cache_write_tokens=1)
    assert (again.reply.usage, trace.usage) == (one, one + one)
    assert trace.environment.versions["inspect_ai"]
    assert trace.seconds > 0
    assert [event.at for event in trace.events] == sorted(event.at for event in trace.events)


def test_a_model_reads_why_a_call_went_wrong(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log, write_eval_log
    from inspect_ai.tool import ToolCallError

    log = read_eval_log(str(inspect_logs / "tools.eval"), resolve_attachments=True)
    for message in (each for sample in log.samples for event in sample.events for each in getattr(event, "input", ())):
        if message.role == "tool":
            message.content, message.error = "", ToolCallError("parsing", "no such tool")
    write_eval_log(log, str(tmp_path / "w.eval"))
    import_logs([read_log(tmp_path / "w.eval")], store)
    with Store(store) as opened:
        calls = [event for trace in opened.traces() for event in trace.events if event.kind == "model_call"]
    read = {each.content for call in calls for each in call.request.messages if each.role == "tool"}
    assert read == {"no such tool"}


@pytest.mark.parametrize(
    ("result", "kind", "message", "found"),
    [
        ("", "parsing", "no such tool", ("no such tool", "invalid", "parsing")),
        ("", "timeout", "too long", ("too long", "error", "timeout")),
        ("", "unknown", "division by zero", ("division by zero", "error", "")),
        ("3", "limit", "cut off", ("3", "error", "cut off")),
    ],
)
def test_what_went_wrong_is_said_once(
    inspect_logs: Path, store: Path, tmp_path: Path, result: str, kind: str, message: str, found: tuple[str, str, str]
) -> None:
    from inspect_ai.log import read_eval_log, write_eval_log
    from inspect_ai.tool import ToolCallError

    log = read_eval_log(str(inspect_logs / "tools.eval"), resolve_attachments=True)
    for bare in (False, True):
        for sample in log.samples:
            for event in sample.events:
                if event.event == "tool":
                    event.result, event.error = result, ToolCallError(kind, message)
            for each in sample.messages:
                if each.role == "tool":
                    each.content, each.error = result, ToolCallError(kind, message)
            sample.events = [] if bare else sample.events
        log.eval.eval_id = f"bare {bare}"
        write_eval_log(log, str(tmp_path / f"{bare}.eval"))
        import_logs([read_log(tmp_path / f"{bare}.eval")], store)
    with Store(store) as opened:
        calls = [event for trace in opened.traces() for event in trace.events if event.kind == "tool_call"]
    assert len(calls) == 16
    assert {(call.output, call.status, call.error) for call in calls} == {found}


@pytest.mark.parametrize("bare", [False, True], ids=["events", "messages"])
def test_calls_of_tools_that_were_not_offered_are_counted(
    inspect_logs: Path, store: Path, tmp_path: Path, bare: bool
) -> None:
    from inspect_ai.log import read_eval_log, write_eval_log

    log = read_eval_log(str(inspect_logs / "invented.eval"))
    for sample in log.samples:
        sample.events = [] if bare else sample.events
    write_eval_log(log, str(tmp_path / "i.eval"))
    import_logs([read_log(tmp_path / "i.eval"), read_log(inspect_logs / "tools.eval")], store)
    with Store(store) as opened:
        (row,) = refused_calls(opened.summaries(scorers=["match"]))
    assert (row.trials, row.called_in, row.calls, row.why) == (3, 2, 3, "unknown_tool")
    assert row.tools == {"python": 2, "web_search": 1}
    assert verify(store).ok


def test_a_choice_has_letters_and_a_grader_is_no_part_of_a_trial(inspect_logs: Path, store: Path) -> None:
    imported(store, inspect_logs / "choices.eval", inspect_logs / "graded.eval")
    with Store(store) as opened:
        choice = next(question for question in opened.questions() if question.choices)
        assert (choice.id, choice.target, choice.difficulty) == ("7", ChoiceTarget(letters=("B",)), "2")
        traces = {trace.answer: trace for trace in opened.traces()}
        scores = {score.scorer for trace in traces.values() for score in opened.scores(trace.trial.id)}
    assert set(traces) == {"ANSWER: B", "one", "two"}
    assert all(len(trace.events) == 2 for trace in traces.values())
    assert scores == {"choice", "model_graded_fact"}


def test_limits_and_breakdowns_are_told_apart_from_answers(inspect_logs: Path, store: Path) -> None:
    imported(store, inspect_logs / "limited.eval", inspect_logs / "broken.eval")
    found = facts(store)
    assert found["sum-0", "generate[add]", 0] == ("budget", 0.0)
    assert found["sum-0", "generate[broken]", 0] == ("failed", None)
    with Store(store) as opened:
        trials = {each.condition: each for each in opened.summaries(scorers=["match"]) if each.question == "sum-0"}
        failure = opened.trace(trials["generate[broken]"].trial).events[-1]
        assert opened.scores(trials["generate[broken]"].trial) == ()
    assert trials["generate[add]"].limit == "messages"
    with Store(store) as opened:
        answer = opened.trace(trials["generate[add]"].trial).events[-1]
    assert answer.limit_note == "Message limit reached. count: 3; limit: 3"
    assert isinstance(failure, Failure)
    assert (failure.boundary, failure.code) == ("runner", "sample_error")


@pytest.mark.parametrize("outside", [False, True], ids=["tool events", "messages alone"])
def test_results_images_and_errors_of_tools_are_kept_however_a_log_tells_them(
    inspect_logs: Path, store: Path, tmp_path: Path, outside: bool
) -> None:
    """An agent that runs outside of Inspect calls its tools there: the log has events of the model alone."""
    from inspect_ai.log import read_eval_log, write_eval_log

    path = inspect_logs / "explained.eval"
    if outside:
        log = read_eval_log(str(path), resolve_attachments=True)
        for sample in log.samples:
            sample.events = [event for event in sample.events if event.event != "tool"]
        path = tmp_path / "outside.eval"
        write_eval_log(log, str(path))
    imported(store, path)
    with Store(store) as opened:
        (trace,) = opened.traces()
    kinds = [event.kind for event in trace.events]
    assert kinds == ["model_call", "tool_call"] * 3 + ["answer"]
    drawn, refused, last = [event for event in trace.events if event.kind == "tool_call"]
    assert (drawn.call.name, drawn.output, drawn.status) == ("draw", "a plot\n[image]", "ok")
    assert [artifact.mime for artifact in drawn.artifacts] == ["image/png"]
    assert (refused.call.name, refused.output, refused.status) == ("refuse", "x is too small", "error")
    assert (last.call.arguments, last.output, len(last.artifacts)) == ('{"x": 2}', "a plot\n[image]", 1)
    assert [event.at for event in trace.events] == sorted(event.at for event in trace.events)
    assert trace.events[-1].limit == "messages"


@pytest.mark.deep
def test_what_a_scorer_says_of_its_score_is_kept_and_shown(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log

    imported(store, inspect_logs / "explained.eval")
    with Store(store) as opened:
        (trace,) = opened.traces()
        (score,) = opened.scores(trace.trial.id)
        (question,) = opened.questions()
    assert question.target == TextTarget(answers=("42", "forty-two"))
    assert score.explanation == "Forty-two is\n  42."
    assert score.metadata == {"grading": "four and two", "tries": 2}
    told = subprocess.run(
        [sys.executable, "-m", "toolablate", "show", store, trace.trial.id[:8]],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Forty-two is" in told.stdout
    assert "four and two" in told.stdout
    command = [sys.executable, "-m", "toolablate", "export", "inspect", store, "-o", tmp_path / "logs"]
    subprocess.run(command, check=True, capture_output=True, timeout=100)
    (back,) = (tmp_path / "logs").glob("*.eval")
    (sample,) = read_eval_log(str(back)).samples
    exported = sample.scores["explained"]
    assert (exported.explanation, exported.metadata["grading"]) == ("Forty-two is\n  42.", "four and two")
    assert (sample.limit.type, sample.limit.reason) == ("message", "Message limit reached. count: 7; limit: 7")
    again = tmp_path / "again.sqlite"
    import_logs([read_log(back)], again)
    with Store(again) as opened:
        (trace,) = opened.traces()
        assert opened.scores(trace.trial.id)[0].explanation == score.explanation
        assert trace.events[-1].limit_note


def test_a_value_that_is_no_score_is_named_and_never_guessed(inspect_logs: Path, store: Path) -> None:
    (told,) = imported(store, inspect_logs / "rated.eval")
    assert (told.scorers, told.others) == (("parts.tone",), ("parts.fact",))
    (left_out,) = told.left_out
    assert left_out.startswith("rating: 7.5 is not between 0 and 1")
    with Store(store) as opened:
        (seen,) = opened.summaries(scorers=["parts.tone"])
        assert (seen.value, seen.verdict) == (0.5, "partial")
        (seen,) = opened.summaries(scorers=["parts.fact"])
        assert (seen.value, seen.verdict) == (None, "unscored")


def test_what_is_there_is_not_imported_twice(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    paths = [inspect_logs / "plain.eval", inspect_logs / "broken.eval"]
    imported(store, *paths)
    with Store(store) as opened:
        before = opened.runs(), facts(store), [opened.attempts(each.trial.id) for each in opened.traces()]
    moved = tmp_path / "moved.eval"
    shutil.copy(paths[0], moved)
    assert [told.added for told in imported(store, moved, paths[1])] == [0, 0]
    with Store(store) as opened:
        runs, *_ = before
        assert len(opened.runs()) == len(runs) + 1  # the file's name has changed
        assert before[1:] == (facts(store), [opened.attempts(each.trial.id) for each in opened.traces()])
    imported(store, moved, paths[1])
    with Store(store) as opened:
        assert len(opened.runs()) == len(runs) + 1


def test_logs_that_are_imported_one_after_the_other_stand_in_one_run(inspect_logs: Path, store: Path) -> None:
    imported(store, inspect_logs / "plain.eval")
    imported(store, inspect_logs / "tools.eval")
    apart = facts(store)
    store.unlink()
    imported(store, inspect_logs / "plain.eval", inspect_logs / "tools.eval")
    assert facts(store) == apart
    assert len(apart) == 16


def test_another_log_of_the_same_arm_is_its_next_repeats(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log, write_eval_log

    log = read_eval_log(str(inspect_logs / "plain.eval"))
    log.eval.eval_id = "another"
    write_eval_log(log, str(tmp_path / "again.json"))
    first, second = imported(store, inspect_logs / "plain.eval", tmp_path / "again.json")
    assert (first.added, second.added) == (8, 8)
    assert {repeat for _, _, repeat in facts(store)} == {0, 1, 2, 3}
    imported(store, tmp_path / "again.json")
    assert len(facts(store)) == 16


def test_repeats_that_another_scorer_judged_are_told(inspect_logs: Path, store: Path) -> None:
    plain, graded = imported(store, inspect_logs / "plain.eval", inspect_logs / "graded.eval")
    assert (plain.scorers, graded.scorers) == (("match",), ("model_graded_fact",))
    assert plain.notes == ()
    assert "tables show both in one mean" in graded.notes[0]
    (choices,) = imported(store, inspect_logs / "choices.eval")
    assert (choices.scorers, choices.notes) == (("choice",), ())


@pytest.mark.deep
def test_a_killed_import_goes_on(inspect_logs: Path, store: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path\n"
        "from toolablate.formats import importing as writing\n"
        "from toolablate.formats.inspect.import_logs import read_log\n"
        "writing.BATCH = 3\n"
        "kill = lambda count: os.kill(os.getpid(), signal.SIGKILL)\n"
        "writing.import_logs([read_log(Path(sys.argv[1]))], Path(sys.argv[2]), advance=kill)\n"
    )
    path = inspect_logs / "tools.eval"
    killed = subprocess.run([sys.executable, "-c", program, path, store], timeout=100)
    assert killed.returncode == -signal.SIGKILL
    with Store(store) as opened:
        assert len(opened.finished_trials()) == 3
    (told,) = imported(store, path)
    assert told.added == 5
    assert verify(store).problems == ()
    whole = store.with_name("whole.sqlite")
    imported(whole, path)
    assert facts(store) == facts(whole)


@pytest.mark.deep
def test_no_file_of_inspect_appears_at_home(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    program = (
        "import sys; from pathlib import Path\n"
        "from toolablate.formats.inspect.import_logs import read_log\n"
        "from toolablate.formats.importing import import_logs\n"
        "import_logs([read_log(Path(sys.argv[1]))], Path(sys.argv[2]))\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    subprocess.run(
        [sys.executable, "-c", program, inspect_logs / "plain.eval", store],
        env=environment | {"HOME": str(home)},
        check=True,
        timeout=100,
    )
    assert list(home.rglob("*")) == []


@pytest.mark.parametrize("count", [1, 3])
def test_a_log_without_events_is_read_by_its_messages(
    inspect_logs: Path, store: Path, tmp_path: Path, count: int
) -> None:
    from inspect_ai.log import read_eval_log, write_eval_log

    log = read_eval_log(str(inspect_logs / "tools.eval"))
    log.samples = log.samples[:count]
    for sample in log.samples:
        sample.events = []
    write_eval_log(log, str(tmp_path / "bare.eval"))
    import_logs([read_log(tmp_path / "bare.eval")], store)
    with Store(store) as opened:
        traces = list(opened.traces())
    assert len(traces) == count
    for trace in traces:
        assert [event.kind for event in trace.events] == ["model_call", "tool_call", "model_call", "answer"]
        assert trace.usage.output_tokens == 6
        assert trace.started_at.utcoffset() == timedelta(0)


def test_what_a_log_without_events_does_not_tell_is_told(inspect_logs: Path, store: Path, tmp_path: Path) -> None:
    """An arm with tools is not taken for one without, and so for the baseline."""
    from inspect_ai.log import read_eval_log, write_eval_log

    log = read_eval_log(str(inspect_logs / "tools.eval"))
    for sample in log.samples:
        sample.events = []
    write_eval_log(log, str(tmp_path / "bare.eval"))
    told, _ = import_logs([read_log(tmp_path / "bare.eval"), read_log(inspect_logs / "plain.eval")], store)
    assert "calls are read from messages" in told.notes[0]
    with Store(store) as opened:
        (run,) = opened.runs()
        (condition,) = [each for each in opened.conditions() if each.name == told.condition]
    assert run.baseline == "generate"
    assert [tool.name for tool in condition.tools] == ["add"]
    assert condition.imported["calls"] == "read from messages"


# What people said of trials goes out to Inspect and comes back.


pytest.importorskip("inspect_ai")


async def _labelled(path: Path) -> None:
    with Recorder(path) as recorder:
        plan(recorder)
        for trial in (BARE, TOOLS):
            await attempt(recorder, trial)
        await attempt(recorder, FAILED, outcome="failed")
        for person in ("Ada\u202e", "Bob"):
            recorder.label(label(TOOLS, person))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "study.sqlite"
    asyncio.run(_labelled(path))
    return path


def log_of(study: Path, folder: Path, condition: str = "python") -> Path:
    folder.mkdir()
    (log,) = write_logs(
        [each for each in all_of(study, {}) if each.called.condition == condition], folder, name="study"
    )
    return log


def said(store: Path) -> list[Label]:
    """Without the trial, whose id follows from its model."""
    with Store(store) as opened:
        return [each.model_copy(update={"trial": ""}) for each in opened.labels()]


def test_they_come_back_once_as_they_were(study: Path, store: Path, tmp_path: Path) -> None:
    log = log_of(study, tmp_path / "logs")
    assert [told.labels for told in imported(store, log)] == [2]
    assert said(store) == said(study) != []
    assert [told.labels for told in imported(store, log)] == [0]
    assert said(store) == said(study)
    assert verify(store).problems == ()


def test_what_a_person_said_since_is_added_and_the_last_word_counts(study: Path, store: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.sqlite"
    own.write_bytes(study.read_bytes())
    imported(store, log_of(own, tmp_path / "first"))
    with Store(store) as opened:
        trial = opened.labels()[0].trial
    withdrawn = Label(trial=trial, person="Bob", at=WHEN + timedelta(hours=2), mechanism=None)
    with Recorder(store) as recorder:
        recorder.label(withdrawn)
    with Recorder(own) as recorder:
        for person in ("Bob", "Ada\u202e"):
            later = label(TOOLS, person).model_copy(update={"at": WHEN + timedelta(hours=1), "note": "on reflection"})
            recorder.label(later)
    again = log_of(own, tmp_path / "second")
    assert [told.labels for told in imported(store, again)] == [1]
    assert [(each.person, each.note) for each in said(store)[2:]] == [("Bob", ""), ("Ada\u202e", "on reflection")]
    assert [told.labels for told in imported(store, again)] == [0]


@pytest.mark.deep
def test_of_thousands_each_is_entered_once(study: Path, store: Path, tmp_path: Path) -> None:
    def many(sample: dict[str, Any]) -> None:
        if labels := sample["metadata"].get("labels"):
            labels += [labels[0] | {"note": str(number % 20)} for number in range(4000)]

    log = changed(log_of(study, tmp_path / "logs"), tmp_path / "many.eval", many)
    assert [told.labels for told in imported(store, log)] == [22]
    assert [told.labels for told in imported(store, log)] == [0]


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ("lock_in", "metadata.labels: it is no list"),
        (["lock_in"], "metadata.labels.0: it is no label"),
        ([{"person": ""}], "metadata.labels.0.person: String should have at least 1 character"),
        ([{"person": "A" * 201}], "metadata.labels.0.person: String should have at most 200 characters"),
        ([{"note": "\ud800"}], "metadata.labels.0.note: Input should be a valid string"),
        ([{}, {"mechanism": "magic"}], "metadata.labels.1.mechanism: Input should be 'retrieval_distraction'"),
        ([{"\x1b[31mkey": 1}], "metadata.labels.0.key: Extra inputs are not permitted"),
        ([{"turned_at": -1}], "metadata.labels.0.turned_at: Input should be greater than or equal to 0"),
        ([{"turned_at": 6}], "metadata.labels.0.turned_at: the sample has 6 events, from 0"),
        ([{"turned_at": 2**70}], "metadata.labels.0.turned_at: the sample has 6 events, from 0"),
        ([{"at": "yesterday"}], "metadata.labels.0.at: Input should be a valid datetime"),
        ([{"at": "2026-01-02T03:04:05"}], "metadata.labels.0.at: it is no instant with its zone"),
        ([{"at": "9999-12-31T23:59:59-12:00"}], "metadata.labels.0.at: it is no instant with its zone"),
    ],
)
def test_what_can_be_no_label_is_refused_by_file_sample_and_key(
    study: Path, store: Path, tmp_path: Path, labels: Any, told: str
) -> None:
    def hostile(sample: dict[str, Any]) -> None:
        if sample["uuid"] == TOOLS.id:
            whole = sample["metadata"]["labels"][0]
            some = isinstance(labels, list) and all(isinstance(each, dict) for each in labels)
            sample["metadata"]["labels"] = [whole | each for each in labels] if some else labels

    log = changed(log_of(study, tmp_path / "logs"), tmp_path / "bad.eval", hostile)
    assert f"{log}: sample 'q0', epoch 1 is invalid: {told}" in refused(store, log)


def test_a_failed_sample_has_none(study: Path, store: Path, tmp_path: Path) -> None:
    def failing(sample: dict[str, Any]) -> None:
        if sample["uuid"] == FAILED.id:
            sample["metadata"]["labels"] = [{"person": "Eve", "at": WHEN.isoformat(), "mechanism": "sampling_noise"}]

    log = changed(log_of(study, tmp_path / "logs", "none"), tmp_path / "bad.eval", failing)
    assert "metadata.labels: the sample failed" in refused(store, log)


@pytest.mark.parametrize("labels", [[{"person": HOSTILE}], "good", ["a", "b"], {"a": 1}])
def test_what_others_call_labels_is_left_alone(
    inspect_logs: Path, store: Path, tmp_path: Path, labels: Sequence[Any]
) -> None:
    log = changed(
        inspect_logs / "plain.eval", tmp_path / "l.eval", lambda sample: sample["metadata"].update(labels=labels)
    )
    assert [told.labels for told in imported(store, log)] == [0]


def test_a_time_of_another_zone_is_the_same_instant(study: Path, store: Path, tmp_path: Path) -> None:
    def moved(sample: dict[str, Any]) -> None:
        for each in sample["metadata"].get("labels", []):
            each["at"] = "2026-01-02T05:04:05.678901+02:00"

    log = log_of(study, tmp_path / "logs")
    imported(store, changed(log, tmp_path / "moved.eval", moved))
    assert {each.at for each in said(store)} == {WHEN}
    assert [told.labels for told in imported(store, log)] == [0]
