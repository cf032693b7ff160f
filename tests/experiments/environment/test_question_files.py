"""Questions that bring files, from the JSONL to the kernel's work folder."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli, WritePlan
from tests.experiments.plan_files import answered, call, outcomes

from toolablate.traces.store import Store

READ = "print(sum(int(line) for line in open('numbers.txt')))"
LAST = {"content": "Answer: {{last_tool_output}}"}


@pytest.fixture
def plan(write_plan: WritePlan, tmp_path: Path) -> Path:
    """Two questions with files of one name, each with numbers of its own."""
    for name, numbers in (("one", "1\n"), ("two", "1\n3\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "numbers.txt").write_text(numbers, encoding="utf-8")
    return write_plan(
        {(question, "python"): [call(READ), LAST] for question in ("q1", "q2")}
        | {(question, "none"): answered("Answer: 4") for question in ("q1", "q2")},
        questions=[_question("q1", 1, "one/numbers.txt"), _question("q2", 4, "two/numbers.txt")],
    )


def _question(name: str, value: int, *files: Any) -> dict[str, Any]:
    return {"id": name, "prompt": "What is the sum of the numbers?", "answer": value, "files": list(files)}


@pytest.mark.deep
def test_each_kernel_finds_the_files_of_its_question(plan: Path, cli: Cli, store: Path) -> None:
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    assert outcomes(store) == {
        ("q1", "python"): ("answered", "correct"),
        ("q2", "python"): ("answered", "correct"),
        ("q1", "none"): ("answered", "wrong"),
        ("q2", "none"): ("answered", "correct"),
    }
    with Store(store) as opened:
        asked = {trace.events[0].request.messages[-1].content for trace in opened.traces()}  # type: ignore[union-attr]
        shown = {question.id: question.files[0] for question in opened.questions()}
    assert len(asked) == 1
    assert '"numbers.txt"' in asked.pop()
    assert shown["q1"].sha256 != shown["q2"].sha256
    (listed, *_) = json.loads(cli("show", store, "--question", "q2", "--json").stdout)["trials"]
    assert f"numbers.txt (SHA-256 {shown['q2'].sha256[:12]}...)" in cli("show", store, listed["trial"]).stdout
    assert cli("verify", store).returncode == 0


@pytest.mark.deep
def test_other_content_is_another_question_and_another_place_is_not(
    plan: Path, tmp_path: Path, cli: Cli, store: Path
) -> None:
    assert cli("run", plan).returncode == 0
    questions = tmp_path / "questions.jsonl"
    (tmp_path / "two").rename(tmp_path / "zwei")
    questions.write_text(questions.read_text(encoding="utf-8").replace("two/", "zwei/"), encoding="utf-8")
    assert json.loads(cli("run", plan, "--json").stdout)["done_before"] == 4
    (tmp_path / "zwei/numbers.txt").write_text("5\n", encoding="utf-8")
    assert json.loads(cli("run", plan, "--json").stdout)["done_before"] == 2
    with Store(store) as opened:
        assert [question.files[0].path for question in opened.questions()] == [
            "one/numbers.txt",
            "zwei/numbers.txt",
            "zwei/numbers.txt",
        ]


def test_a_fresh_kernel_after_a_death_has_the_files_again(write_plan: WritePlan, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "numbers.txt").write_text("2\n", encoding="utf-8")
    spoil = "import os; os.remove('numbers.txt'); open('made', 'w').close(); os._exit(1)"
    fresh = "import os; print(os.path.exists('made'))"
    plan = write_plan(
        {("q1", "python"): [call(spoil), call(fresh), call(READ), LAST]},
        conditions='["python"]',
        questions=[_question("q1", 2, "numbers.txt")],
    )
    assert cli("run", plan).returncode == 0
    store = tmp_path / "runs/plan.sqlite"
    with Store(store) as opened:
        (trace,) = opened.traces()
    assert [event.output for event in trace.events if event.kind == "tool_call"][1:] == ["False", "2"]
    assert outcomes(store)["q1", "python"] == ("answered", "correct")


def test_files_that_change_while_a_plan_runs_fail_the_trial_and_are_not_answered_wrong(
    write_plan: WritePlan, tmp_path: Path, cli: Cli, store: Path
) -> None:
    # A tool of the user's own runs outside the sandbox, so it can do what a careless user does.
    (tmp_path / "numbers.txt").write_text("2\n", encoding="utf-8")
    (tmp_path / "spoiling.py").write_text(
        "from pathlib import Path\nfrom toolablate.tools import tool\n\n@tool\ndef spoil() -> str:\n    '''Spoils.'''\n"
        f"    Path({str(tmp_path)!r}, 'numbers.txt').write_text('3\\n')\n    return 'done'\n",
        encoding="utf-8",
    )
    plan = write_plan(
        {("q1", "mine"): [{"tool_calls": [{"name": "spoil", "arguments": {}}]}, call(READ), LAST]},
        conditions='[{ name = "mine", tools = ["python", "spoiling:spoil"] }]',
        questions=[_question("q1", 2, "numbers.txt")],
    )
    ran = cli("run", plan)
    assert ran.returncode == 1
    assert outcomes(store) == {("q1", "mine"): ("failed", None)}
    assert "numbers.txt has changed since the plan was read" in " ".join(ran.stdout.split())
    assert "Traceback" not in ran.stderr + ran.stdout


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ("disk_mb = 2", ["'q1'", "3 MB", "sandbox.limits.disk_mb allows 2"]),
        ("files = 1", ["are 2", "sandbox.limits.files allows 1"]),
    ],
)
def test_files_that_no_kernel_can_hold_are_refused_before_anything_runs(
    write_plan: WritePlan, tmp_path: Path, cli: Cli, store: Path, limits: str, told: list[str]
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"x" * 1_500_000)
    replies = {("q1", name): answered() for name in ("none", "python")}
    plan = write_plan(replies, questions=[_question("q1", 2, "a", "b")], sandbox="")
    text = plan.read_text(encoding="utf-8")
    plan.write_text(f"{text}[sandbox]\nlimits = {{ {limits} }}\n", encoding="utf-8")
    refused = cli("run", plan)
    assert refused.returncode == 2
    assert [word for word in told if word not in refused.stderr] == []
    assert not store.exists()
    # Without a kernel to hold them, they are no more than names.
    plan.write_text(plan.read_text(encoding="utf-8").replace('["none", "python"]', '["none"]'), encoding="utf-8")
    assert cli("run", plan).returncode == 0


def test_the_folder_of_the_files_can_be_named(write_plan: WritePlan, tmp_path: Path, cli: Cli, store: Path) -> None:
    data = tmp_path.parent / f"{tmp_path.name}-data"
    data.mkdir()
    (data / "numbers.txt").write_text("2\n", encoding="utf-8")
    plan = write_plan(
        {("q1", "python"): [call(READ), LAST]},
        conditions='["python"]',
        questions=[_question("q1", 2, "numbers.txt")],
    )
    refused = cli("run", plan)
    assert refused.returncode == 2
    assert "questions.jsonl:1: item 1 of 'files'" in refused.stderr
    text = plan.read_text(encoding="utf-8")
    plan.write_text(text.replace("[questions]", f"[questions]\nfolder = '../{data.name}'"), encoding="utf-8")
    assert cli("run", plan).returncode == 0
    assert outcomes(store)["q1", "python"] == ("answered", "correct")
