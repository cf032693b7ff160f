"""A plan that is run again after something about it has changed, and what is refused."""

import json
from pathlib import Path

import pytest
from rich.console import Console
from tests.conftest import Cli, WritePlan
from tests.experiments.plan_files import answered, outcomes

from toolablate.benchmarks.scoring.math_worker import MathWorker
from toolablate.experiments.plans.plan import load_plan
from toolablate.experiments.running import summary
from toolablate.experiments.running.launch import launch
from toolablate.experiments.running.progress import RunProgress
from toolablate.sandbox import BACKENDS
from toolablate.traces.errors import ScoringError
from toolablate.traces.store import Store


def test_another_scorer_scores_again_without_running_again(good_plan: Path, cli: Cli, store: Path) -> None:
    assert cli("run", good_plan).returncode == 0
    text = good_plan.read_text(encoding="utf-8")
    good_plan.write_text(text.replace("[questions]", "[questions]\nunparsed = 'exclude'"), encoding="utf-8")
    again = json.loads(cli("run", good_plan, "--json").stdout)
    assert (again["done_before"], again["missing"]) == (4, 0)
    with Store(store) as opened:
        assert opened.scorers() == ("number", "number[unparsed=exclude]")
    assert json.loads(cli("compare", store, "--json").stdout)["comparisons"][0]["questions"] == 2
    assert cli("compare", store, "--scorer", "nobody").returncode == 2


def test_where_nothing_was_run_of_very_many_trials_the_command_to_compare_is_told(
    good_plan: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, text = load_plan(good_plan)
    told = []
    for trials in (4, 4, 5):
        monkeypatch.setattr(summary, "SLOW_TO_COMPARE", trials)
        with RunProgress() as progress:
            launched = launch(plan.with_changes(store=store), text, progress)
        with Console(width=200, record=True) as console:
            summary.print_summary(launched, console)
        told.append(f"compare {store}" in console.export_text())
    assert told == [False, True, False]


@pytest.mark.deep
def test_comparing_keeps_to_the_latest_plan(good_plan: Path, tmp_path: Path, cli: Cli, store: Path) -> None:
    assert cli("run", good_plan).returncode == 0
    questions = tmp_path / "questions.jsonl"
    questions.write_text(questions.read_text(encoding="utf-8").replace("What is 2 + 2", "And 2 + 2"), encoding="utf-8")
    assert cli("run", good_plan).returncode == 0
    assert json.loads(cli("compare", store, "--json").stdout)["comparisons"][0]["questions"] == 2
    assert json.loads(cli("compare", store, "--json", "--run", "all").stdout)["comparisons"][0]["questions"] == 3
    assert "2 more trials" in cli("compare", store).stdout
    assert len(json.loads(cli("show", store, "--question", "q2", "--json").stdout)["trials"]) == 4
    unknown = cli("show", store, "--question", "q9")
    assert unknown.returncode == 2
    assert "q1" in unknown.stderr


@pytest.mark.deep
def test_a_mended_answer_key_scores_again_and_runs_nothing(
    good_plan: Path, tmp_path: Path, cli: Cli, store: Path
) -> None:
    assert cli("run", good_plan).returncode == 0
    questions = tmp_path / "questions.jsonl"
    questions.write_text(questions.read_text(encoding="utf-8").replace('"value": 4', '"value": 5'), encoding="utf-8")
    again = json.loads(cli("run", good_plan, "--json").stdout)
    assert (again["planned"], again["done_before"]) == (4, 4)
    found = outcomes(store)
    assert found["q2", "none"] == ("answered", "wrong")
    assert found["q2", "python"] == ("answered", "correct")
    assert json.loads(cli("compare", store, "--json", "--run", "all").stdout)["comparisons"][0]["questions"] == 2


def test_answers_with_their_scale_are_scored_compared_and_scored_again(
    write_plan: WritePlan, tmp_path: Path, cli: Cli, store: Path
) -> None:
    asked = [
        {"id": "q1", "prompt": "Total sales?", "answer": ["$1,496.5"], "scale": "million"},
        {"id": "q2", "prompt": "Which share?", "answer": 13.98, "scale": "percent"},
        {"id": "q3", "prompt": "How many years?", "answer": 2, "scale": ""},
    ]
    replies = {"q1": ("1,496.5", "$1,496.5 million"), "q2": ("13.98", "13.98%"), "q3": ("2", "2")}
    conditions = '[{ name = "bare", prompt = "Be brief." }, { name = "scaled", prompt = "Give the scale." }]'
    plan = write_plan(
        {
            (question, name): answered(f"Answer: {said}")
            for question, both in replies.items()
            for name, said in zip(("bare", "scaled"), both, strict=True)
        },
        conditions=conditions,
        questions=asked,
    )
    plan.write_text(plan.read_text(encoding="utf-8").replace("[questions]", "[questions]\nscorer = 'tatqa'"), "utf-8")
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stderr
    verdicts = {key: verdict for key, (_, verdict) in outcomes(store).items()}
    assert {question for question in replies if verdicts[question, "bare"] == "wrong"} == {"q1", "q2"}
    assert {verdicts[question, "scaled"] for question in replies} == {"correct"}
    (row,) = json.loads(cli("compare", store, "--json", "--baseline", "bare").stdout)["comparisons"]
    assert (row["questions"], row["wrong_to_right"]) == (3, 2)
    questions = tmp_path / "questions.jsonl"
    questions.write_text(questions.read_text(encoding="utf-8").replace("million", "thousand"), encoding="utf-8")
    again = json.loads(cli("run", plan, "--json").stdout)
    assert (again["planned"], again["done_before"]) == (6, 6)
    assert outcomes(store)["q1", "scaled"] == ("answered", "wrong")


@pytest.mark.deep
def test_a_refused_run_leaves_nothing_behind(usual_plan: Path, cli: Cli, store: Path) -> None:
    refused = cli("run", usual_plan, env={"PATH": "/nonexistent"})
    assert refused.returncode == 2
    assert "bubblewrap" in refused.stderr
    assert not store.exists()
    text = usual_plan.read_text(encoding="utf-8")
    usual_plan.write_text(text + "[sandbox]\nbackend = 'none'\n", encoding="utf-8")
    assert cli("run", usual_plan).returncode == 0


def test_a_scorer_that_fits_no_question_is_refused(good_plan: Path, cli: Cli, store: Path) -> None:
    text = good_plan.read_text(encoding="utf-8")
    good_plan.write_text(text.replace("[questions]", "[questions]\nscorer = 'choice'"), encoding="utf-8")
    refused = cli("run", good_plan)
    assert refused.returncode == 2
    assert "questions.scorer" in refused.stderr
    assert not store.exists()


@pytest.mark.deep
def test_answers_that_a_scorer_cannot_score_are_told_and_scored_by_the_next_run(
    good_plan: Path, tmp_path: Path, store: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = tmp_path / "questions.jsonl"
    rows = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    targets = [{"kind": "math", "answers": [f"{row.pop('target')['value']:g} + 0"]} for row in rows]
    questions.write_text(
        "".join(json.dumps(row | {"target": target}) + "\n" for row, target in zip(rows, targets, strict=True)), "utf-8"
    )

    async def lost(worker: MathWorker, gold: str, given: list[str]) -> str:
        if gold == "1":
            return "right"
        raise ScoringError("the process was lost", hint="try again", code="worker_lost", retryable=True)

    plan, text = load_plan(good_plan)
    with monkeypatch.context() as patched:
        patched.setattr(MathWorker, "compare", lost)
        with RunProgress(Console(quiet=True)) as progress:
            launched = launch(plan, text, progress)
    assert launched.missing == 0
    assert [(left.count, left.code, left.hint) for left in launched.unscored] == [(4, "worker_lost", "try again")]
    assert {verdict for _, verdict in outcomes(store).values()} == {None}
    again = cli("run", good_plan, "--json")
    assert (again.returncode, json.loads(again.stdout)["unscored"]) == (0, [])
    assert {verdict for _, verdict in outcomes(store).values()} <= {"correct", "wrong"}


@pytest.mark.deep
@pytest.mark.parametrize(
    "change", ["[sandbox]\nbackend = 'none'\n", "[sandbox]\nlimits = { memory_mb = 512 }\n"], ids=["backend", "limits"]
)
def test_a_store_holds_one_environment_only(usual_plan: Path, cli: Cli, change: str) -> None:
    assert cli("run", usual_plan).returncode == 0
    text = usual_plan.read_text(encoding="utf-8")
    usual_plan.write_text(text + change, encoding="utf-8")
    refused = cli("run", usual_plan)
    assert refused.returncode == 2
    assert repr(BACKENDS[0]) in refused.stderr
    assert "--store" in refused.stderr


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (['{"id": "a", "prompt": "p", "target": {"kind": "number", "value": 1}}', '{"id": "b", "prompt": "p"}'], ":2"),
        (['{"id": "a", "prompt": "p", "target": {"kind": "number", "value": 1}}'] * 2, '"a"'),
    ],
)
def test_a_bad_question_file_is_one_sentence(
    good_plan: Path, tmp_path: Path, cli: Cli, store: Path, lines: list[str], expected: str
) -> None:
    (tmp_path / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    refused = cli("run", good_plan)
    assert refused.returncode == 2
    assert "questions.jsonl" in refused.stderr
    assert expected in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not store.exists()


def test_search_is_never_a_toy_corpus_by_accident(write_plan: WritePlan, cli: Cli) -> None:
    refused = cli("run", write_plan({("q1", "search"): answered()}, conditions='["search"]'))
    assert refused.returncode == 2
    assert "[search]" in refused.stderr


@pytest.mark.deep
def test_a_baseline_whose_budget_was_changed_is_still_the_baseline(good_plan: Path, cli: Cli, store: Path) -> None:
    assert cli("run", good_plan).returncode == 0
    text = good_plan.read_text(encoding="utf-8")
    good_plan.write_text(text + "[budget]\nturns = 5\n", encoding="utf-8")
    again = cli("run", good_plan)
    assert again.returncode == 0, again.stderr
    assert "compared with none" in again.stdout
    assert json.loads(cli("compare", store, "--json").stdout)["comparisons"][0]["baseline"] == "none"


def test_a_mended_key_reaches_the_conditions_that_the_plan_leaves_out_for_now(
    good_plan: Path, tmp_path: Path, cli: Cli, store: Path
) -> None:
    assert cli("run", good_plan).returncode == 0
    questions = tmp_path / "questions.jsonl"
    questions.write_text(questions.read_text(encoding="utf-8").replace('"value": 4', '"value": 5'), encoding="utf-8")
    whole = good_plan.read_text(encoding="utf-8")
    good_plan.write_text(whole.replace('["none", "python"]', '["none"]'), encoding="utf-8")
    assert cli("run", good_plan).returncode == 0
    assert outcomes(store)["q2", "python"] == ("answered", None)
    good_plan.write_text(whole, encoding="utf-8")
    assert json.loads(cli("run", good_plan, "--json").stdout)["done_before"] == 4
    assert outcomes(store)["q2", "python"] == ("answered", "correct")
