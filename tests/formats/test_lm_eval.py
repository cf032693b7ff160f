"""Samples that lm-evaluation-harness 0.4.13 wrote, of a model that says what it is told to."""

import json
import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from toolablate.analysis.comparison import compare
from toolablate.formats.imported import Imported
from toolablate.formats.importing import import_logs
from toolablate.formats.lm_eval.samples import read_log
from toolablate.traces.errors import InputError
from toolablate.traces.records import ChoiceTarget, ImportedModel, NumberTarget
from toolablate.traces.store import Store, verify

FILES = Path(__file__).parent / "lm_eval"
NO_SHOT, TWO_SHOT = "2026-11-22T11-03-13.922569", "2026-11-22T11-03-20.861412"


def samples(task: str, time: str) -> Path:
    return FILES / f"samples_{task}_{time}.jsonl"


def imported(store: Path, *paths: Path, scorer: str | None = None, model: str | None = None) -> Sequence[Imported]:
    return import_logs([read_log(path, model=model) for path in paths], store, scorer=scorer)


def changed(path: Path, folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A copy with its rows changed, beside a copy of its results."""
    time = path.stem[-len(NO_SHOT) :]
    shutil.copy(path.with_name(f"results_{time}.json"), folder)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        change(row)
    copy = folder / path.name
    copy.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return copy


def refused(store: Path, *paths: Path, **options: Any) -> str:
    with pytest.raises(InputError) as error:
        imported(store, *paths, **options)
    assert not store.exists()
    return str(error.value)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "imported.sqlite"


def test_two_runs_of_two_tasks_are_compared_in_pairs(store: Path) -> None:
    told = imported(store, *(samples(task, time) for time in (NO_SHOT, TWO_SHOT) for task in ("capitals", "sums")))
    assert [(each.condition, each.samples, each.scorers) for each in told] == [
        ("0-shot", 3, ("acc",)),
        ("0-shot", 3, ("exact_match,strict-match",)),
        ("2-shot", 3, ("acc",)),
        ("2-shot", 3, ("exact_match,strict-match",)),
    ]
    assert told[1].others == ("exact_match,flexible-extract",)
    with Store(store) as opened:
        (run,) = opened.runs()
        assert (run.baseline, run.scorers) == ("0-shot", ("acc", "exact_match,strict-match"))
        assert opened.models() == (ImportedModel(name="acme/known"),)
        assert [question.id for question in opened.questions()] == [
            *(f"capitals/{n}" for n in range(3)),
            *(f"sums/{n}" for n in range(3)),
        ]
        summaries = opened.summaries(scorers=run.scorers)
        conditions = {each.name: each.imported for each in opened.conditions()}
    (row,) = compare(summaries, "0-shot")
    assert (row.questions, row.right_to_wrong, row.wrong_to_right) == (6, 2, 0)
    assert conditions["2-shot"] == {"harness": "lm-eval", "num_fewshot": 2, "model_args": {"good": "1"}}
    assert verify(store).problems == ()


def test_likelihoods_become_a_choice(store: Path) -> None:
    imported(store, samples("capitals", NO_SHOT))
    with Store(store) as opened:
        question = opened.questions()[0]
        trace = next(trace for trace in opened.traces() if trace.trial.question == question.identity())
        by_scorer = {score.scorer: score for score in opened.scores(trace.trial.id)}
    assert (question.prompt, question.choices) == ("Capital of France?", ("Lyon", "Paris", "Nice"))
    assert (question.target, question.domain) == (ChoiceTarget(letters=("B",)), "geography")
    call, answer = trace.events
    assert call.request.messages[0].content == "Question: Capital of France?\nAnswer:"
    assert call.reply.logprobs[1] == {"continuation": " Paris", "loglikelihood": -1.5}
    assert answer.text == "Paris"
    assert {name: (score.value, score.extracted) for name, score in by_scorer.items()} == {
        "acc": (1.0, ("B",)),
        "acc_norm": (1.0, ("B",)),
    }
    assert trace.started_at.date() == datetime(2026, 11, 22, tzinfo=UTC).date()
    assert trace.environment.versions["lm_eval"] == "0.4.13"


def test_each_filter_is_a_scorer_and_what_it_cannot_read_is_unparsed(store: Path) -> None:
    imported(store, samples("sums", NO_SHOT), scorer="exact_match,flexible-extract")
    with Store(store) as opened:
        (run,) = opened.runs()
        assert run.scorers == ("exact_match,flexible-extract",)
        question = opened.questions()[2]
        trace = next(trace for trace in opened.traces() if trace.trial.question == question.identity())
        by_scorer = {score.scorer: score for score in opened.scores(trace.trial.id)}
    assert (question.prompt, question.target) == ("2 + 5?", NumberTarget(value=7))
    assert trace.answer == "I say 7 or so"
    strict, flexible = by_scorer["exact_match,strict-match"], by_scorer["exact_match,flexible-extract"]
    assert (strict.value, strict.verdict, strict.extracted) == (0.0, "unparsed", ())
    assert (flexible.value, flexible.verdict, flexible.extracted) == (1.0, "correct", ("7",))


def test_what_is_there_is_not_imported_twice(store: Path, tmp_path: Path) -> None:
    imported(store, samples("sums", NO_SHOT))
    assert [each.added for each in imported(store, samples("sums", NO_SHOT))] == [0]
    with Store(store) as opened:
        assert len(opened.runs()) == 1
    assert [each.added for each in imported(store, samples("sums", TWO_SHOT))] == [3]
    with Store(store) as opened:
        assert len(opened.summaries(run=opened.runs()[-1].id, scorers=["exact_match,strict-match"])) == 6


def test_repeats_and_chats_are_kept(store: Path, tmp_path: Path) -> None:
    chat = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "0 + 5?"}]

    def several(row: dict[str, Any]) -> None:
        row["resps"] = [["The answer is 5.", "no", "yes"]]
        row["arguments"]["gen_args_0"]["arg_0"] = [json.dumps(chat)]

    imported(store, changed(samples("sums", NO_SHOT), tmp_path, several))
    with Store(store) as opened:
        call = next(opened.traces()).events[0]
    assert [message.content for message in call.reply.alternatives] == ["no", "yes"]
    assert [(message.role, message.content) for message in call.request.messages] == [
        ("system", "Be short."),
        ("user", "0 + 5?"),
    ]


@pytest.mark.parametrize(
    ("value", "why"),
    [(7.5, "7.5 is not between 0 and 1"), (["a", "b"], "no number"), (None, "missing")],
)
def test_metrics_that_are_no_scores_are_named(store: Path, tmp_path: Path, value: Any, why: str) -> None:
    log = changed(samples("capitals", NO_SHOT), tmp_path, lambda row: row.update(acc=value))
    (told,) = imported(store, log)
    assert (told.scorers, told.others) == (("acc_norm",), ())
    assert told.left_out[0].startswith(f"acc: {why} ({log}:1")
    with pytest.raises(InputError, match="acc: "):
        imported(store, log, scorer="acc")


def test_nan_is_not_scored_and_lower_is_never_taken_for_better(store: Path, tmp_path: Path) -> None:
    log = changed(samples("capitals", NO_SHOT), tmp_path, lambda row: row.update(acc=float("nan")))
    results = tmp_path / f"results_{NO_SHOT}.json"
    content = json.loads(results.read_text(encoding="utf-8"))
    content["higher_is_better"]["capitals"]["acc_norm"] = False
    results.write_text(json.dumps(content), encoding="utf-8")
    (told,) = imported(store, log)
    assert told.left_out[0].startswith("acc_norm: lower is better")
    with Store(store) as opened:
        assert {(each.value, each.verdict) for each in opened.summaries(scorers=["acc"])} == {(None, "unscored")}


def test_without_results_the_model_has_to_be_named(store: Path, tmp_path: Path) -> None:
    alone = tmp_path / samples("capitals", NO_SHOT).name
    shutil.copy(samples("capitals", NO_SHOT), alone)
    assert "--model NAME" in refused(store, alone)
    (told,) = imported(store, alone, model="mine")
    assert (told.model, told.condition) == ("mine", "lm-eval")
    assert told.notes == ("no results beside it: how the model was asked is not known",)


def test_a_letter_is_told_by_what_was_asked_for(store: Path, tmp_path: Path) -> None:
    """As of MMLU: the choices are words, and the continuations their letters, all of one length."""

    def lettered(row: dict[str, Any]) -> None:
        row["doc"]["choices"] = ["a very long choice of many words", "short", "no"]
        for place, (given, reply) in enumerate(zip(row["arguments"].values(), row["resps"], strict=True)):
            given["arg_1"], reply[0][0] = f" {'ABC'[place]}", ["-2.0", "-1.0", "-3.0"][place]

    imported(store, changed(samples("capitals", NO_SHOT), tmp_path, lettered))
    with Store(store) as opened:
        read = {score.extracted for trace in opened.traces() for score in opened.scores(trace.trial.id)}
    assert read == {("B",)}


def test_a_document_of_two_tasks_is_two_questions(store: Path, tmp_path: Path) -> None:
    """As of arc_easy and a task that asks for its letters: they are no repeats of each other."""
    letters = tmp_path / samples("letters", NO_SHOT).name
    shutil.copy(samples("capitals", NO_SHOT), letters)
    shutil.copy(FILES / f"results_{NO_SHOT}.json", tmp_path)
    imported(store, samples("capitals", NO_SHOT), letters)
    with Store(store) as opened:
        assert {(each.question.partition("/")[0], each.repeat) for each in opened.summaries(scorers=["acc"])} == {
            ("capitals", 0),
            ("letters", 0),
        }


def test_a_file_of_another_name_is_told_by_its_documents(store: Path, tmp_path: Path) -> None:
    for name in ("first.jsonl", "second.jsonl"):
        shutil.copy(samples("capitals", NO_SHOT), tmp_path / name)
    (tmp_path / "second.jsonl").write_bytes((tmp_path / "second.jsonl").read_bytes() + b"\n")
    imported(store, tmp_path / "first.jsonl", tmp_path / "second.jsonl", model="m")
    with Store(store) as opened:
        assert {each.repeat for each in opened.summaries(scorers=["acc"])} == {0, 1}


@pytest.mark.parametrize(("greedy", "reply"), [("True", "Lyon"), (True, "Lyon"), ("False", ""), (False, "")])
def test_of_a_single_continuation_the_reply_is_what_the_model_would_write(
    store: Path, tmp_path: Path, greedy: str | bool, reply: str
) -> None:
    """As of lambada, where `acc` says whether the model would."""

    def single(row: dict[str, Any]) -> None:
        row["arguments"] = {"gen_args_0": {"arg_0": "The city is", "arg_1": " Lyon"}}
        row["resps"], row["filtered_resps"] = [[["-1.5", greedy]]], [["-1.5", greedy]]
        row.update(target=" Lyon", acc=float(str(greedy) == "True"), acc_norm=None)

    imported(store, changed(samples("capitals", NO_SHOT), tmp_path, single))
    with Store(store) as opened:
        for trace in opened.traces():
            assert trace.answer == reply
            assert trace.events[0].reply.logprobs == [{"continuation": " Lyon", "loglikelihood": -1.5}]


def test_of_the_likelihood_of_a_whole_text_there_is_no_reply(store: Path, tmp_path: Path) -> None:
    def rolling(row: dict[str, Any]) -> None:
        row["arguments"] = {"gen_args_0": {"arg_0": "A cat sat."}}
        row["resps"], row["filtered_resps"] = [["-0.25"]], ["-0.25"]
        row.update(acc=[-0.25, 3])

    (told,) = imported(store, changed(samples("capitals", NO_SHOT), tmp_path, rolling))
    assert told.left_out[0].startswith("acc: no number")
    with Store(store) as opened:
        trace = next(opened.traces())
    assert (trace.answer, trace.events[0].reply.logprobs) == ("", [{"loglikelihood": -0.25}])


def test_a_time_that_no_calendar_has_and_a_number_beyond_all(store: Path, tmp_path: Path) -> None:
    whole = samples("sums", NO_SHOT).read_bytes()
    path = tmp_path / "samples_sums_2026-13-45T99-99-99.jsonl"
    path.write_bytes(whole)
    imported(store, path, model="m")
    path.write_bytes(whole.replace(b'"exact_match": 1.0', b'"exact_match": 1' + b"0" * 400, 1))
    with pytest.raises(InputError, match=r"are not as lm-evaluation-harness writes them"):
        imported(store, path, model="m")


def test_broken_files_are_told_by_line(store: Path, tmp_path: Path) -> None:
    whole = samples("sums", NO_SHOT).read_bytes()
    shutil.copy(FILES / f"results_{NO_SHOT}.json", tmp_path)
    path = tmp_path / samples("sums", NO_SHOT).name
    for content, said in (
        (whole[:-20], f"{path}:6: this is no JSON"),
        (whole + b"\xff\xfe\n", f"{path}:7: this is no JSON"),
        (b"[" * 100_000, f"{path}:1: this is no JSON"),
        (b'{"a": 1}\n', "doc_id, doc, arguments, resps, filtered_resps is missing"),
        (b"", "holds no samples"),
        (whole + whole, "document 0 is there twice"),
        (whole.replace(b'"gen_args_0"', b'"x": 3, "gen_args_0"', 1), "are not as lm-evaluation-harness writes them"),
    ):
        path.write_bytes(content)
        assert said in refused(store, path)
    path.write_bytes(whole)
    (tmp_path / f"results_{NO_SHOT}.json").write_text("{", encoding="utf-8")
    assert "is no file of results" in refused(store, path)
    assert "cannot be read" in refused(store, tmp_path / "missing.jsonl")
    path.write_bytes(b"PK\x03\x04\xff\n")
    with pytest.raises(InputError, match="this is no JSON") as error:
        imported(store, path, model="m")
    assert "toolablate import inspect" in (error.value.hint or "")


@pytest.mark.deep
def test_hostile_documents_and_long_lines_are_kept_inert(store: Path, tmp_path: Path) -> None:
    hostile = "<script>\x1b]0;title\x07\x1b[31m\u202e\ud800\x00"

    def poisoned(row: dict[str, Any]) -> None:
        row["doc"] |= {"question": hostile, "category": hostile}
        row["doc_id"] = f"{hostile}/{row['doc_id']}"
        row["resps"] = [["5" * 5_000_000]]
        row["filtered_resps"] = [hostile]

    imported(store, changed(samples("sums", NO_SHOT), tmp_path, poisoned))
    with Store(store) as opened:
        questions, traces = opened.questions(), list(opened.traces())
    assert len(questions) == 3
    assert all("\x1b" not in question.id + question.domain for question in questions)
    assert all(len(trace.answer or "") == 5_000_000 for trace in traces)
