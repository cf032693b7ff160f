"""What a plan may say of judges, and what is told of it before anything runs."""

import json
from pathlib import Path

import pytest
from tests.agents.personalities import Chat
from tests.conftest import Cli
from tests.experiments.judged import grades, judge_at, judged_plan, let_judge, riddles
from tests.experiments.plan_files import endpoint_plan
from tests.servers.chat_server import ChatServer, ChatServers

from toolablate.experiments.environment.replies import asked_lines
from toolablate.experiments.plans.plan import load_plan
from toolablate.experiments.scoring import judges_of
from toolablate.traces.errors import InputError
from toolablate.traces.records import OpenAIModel

NOWHERE = "http://127.0.0.1:9/v1"
ROW = {"prompt": {"before": "Judge: "}}


def said(output: str) -> str:
    return " ".join(output.split())


def test_judges_are_priced_anchored_and_asked_in_order(tmp_path: Path) -> None:
    (tmp_path / "grades.jsonl").write_text("", encoding="utf-8")
    scripted = "[[judges]]\nprovider = 'scripted'\nname = 'm'\nscript = 'grades.jsonl'\n"
    openai = "[[judges]]\nprovider = 'openai'\nname = 'gpt-4o'\n"
    judging = "[judging]\nprompt = 'row'\nasks = 5\nagain = 1\n"
    plan, _ = load_plan(judged_plan(tmp_path, scripted + openai + judging))
    first, second = plan.judges
    assert first.provider == "scripted"
    assert (first.script, len(first.script_digest)) == (str(tmp_path / "grades.jsonl"), 32)
    assert second.provider == "openai"
    assert second.price is not None
    assert [(judge.model.name, judge.again, judge.asks, judge.wording) for judge in judges_of(plan)] == [
        ("m", 0, 5, "row"),
        ("gpt-4o", 0, 5, "row"),
        ("m", 1, 5, "row"),
        ("gpt-4o", 1, 5, "row"),
    ]


@pytest.mark.parametrize(
    ("judges", "message"),
    [
        (judge_at(NOWHERE) * 2, "judges: the name 'j' is used twice"),
        ("[[judges]]\nprovider = 'simulated'\nname = 'j'\n", "judges[0]: provider is 'simulated', allowed is 'openai'"),
        ("[[judges]]\nprovider = 'scripted'\nname = 'j'\nscript = 'none'\n", "judges: j: cannot read"),
        (judge_at("http://me:pw@127.0.0.1/v1"), "endpoint of 'j': a user name or password in it"),
        ("[judging]\nprompt = 'mine'\n", "judging.prompt: found 'mine', allowed is 'own' or 'row'"),
        ("[judging]\nasks = 0\n", "judging.asks"),
        ("[judging]\nagain = -1\n", "judging.again"),
        ("[judging]\nmapper = 'k'\n", "judging.mapper: 'k' is the name of no judge"),
        ("[judging]\ntimes = 2\n", "judging.times: unknown key (allowed: again, asks, mapper, mapping, na, prompt)"),
    ],
)
def test_what_is_wrong_with_judges_is_told_by_its_key(tmp_path: Path, judges: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        load_plan(judged_plan(tmp_path, judges))
    assert message in str(refused.value)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("judges", "section", "told"),
    [
        ("", "", "judges: missing; the answers to question 'q0' are scored by a judge"),
        ("", "scorer = 'judge'", "judges: missing; the answers to question 'q0' are scored by a judge"),
        (judge_at(NOWHERE), "scorer = 'choice'", "does not score a target of kind 'reference'"),
        (judge_at(NOWHERE), "scorer = 'juge'", "there is no scorer 'juge'"),
        (
            judge_at(NOWHERE) + "[judging]\nprompt = 'row'\n",
            "",
            "judging.prompt = 'row': question 'q1' cannot be judged so: the question comes with no prompt for judges",
        ),
        (judge_at(NOWHERE, more="api_key_env = 'NO_SUCH_KEY'"), "", "NO_SUCH_KEY"),
    ],
)
def test_what_cannot_be_judged_is_told_before_anything_runs(
    tmp_path: Path, cli: Cli, store: Path, judges: str, section: str, told: str
) -> None:
    questions = [*riddles(1, rubric=ROW), *riddles(2)[1:]]
    plan = judged_plan(tmp_path, judges, section=section, questions=questions)
    ran = cli("run", plan)
    assert ran.returncode == 2
    assert told in said(ran.stderr)
    assert not store.exists()
    found = json.loads(cli("doctor", plan, "--json").stdout)["findings"]
    assert any(told in finding["detail"] or told == finding["name"] for finding in found if finding["state"] != "ok")


@pytest.mark.parametrize(
    ("question", "prompt", "told"),
    [
        ({"target": {"kind": "reference", "answer": " "}}, "own", "its reference answer is blank"),
        ({"rubric": {"prompt": {}}}, "row", "the question's prompt for judges is blank"),
    ],
)
def test_nothing_to_grade_by_is_told_before_anything_runs(
    tmp_path: Path, cli: Cli, store: Path, question: dict[str, object], prompt: str, told: str
) -> None:
    judges = judge_at(NOWHERE) + f"[judging]\nprompt = '{prompt}'\n"
    ran = cli("run", judged_plan(tmp_path, judges, questions=riddles(1, **question)))
    assert ran.returncode == 2
    assert told in said(ran.stderr)
    assert not store.exists()


def test_a_judge_of_its_own_answers_is_told_of(
    chat_servers: ChatServers, chat_server: ChatServer, tmp_path: Path, cli: Cli
) -> None:
    chat_server.answers(grades)
    plan = endpoint_plan(tmp_path, chat_server.url, count=1)
    text = plan.read_text(encoding="utf-8")
    let_judge(plan, judge_at(chat_server.url + "/", "alias", "model = 'm'"))
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stderr
    assert "Warning: judges: 'alias' will grade answers of its own" in said(ran.stderr)
    with chat_servers.server() as other:
        other.answers(grades)
        plan.write_text(text, encoding="utf-8")
        let_judge(plan, judge_at(other.url, "m"))
        ran = cli("run", plan)
        assert ran.returncode == 0, ran.stderr
        assert "Warning" not in ran.stderr


def test_a_judge_that_no_question_needs_is_told_and_not_asked(
    chat_server: ChatServer, tmp_path: Path, cli: Cli
) -> None:
    chat_server.answers(grades)
    questions = [{"id": "q0", "prompt": "2?", "target": {"kind": "number", "value": 2}}]
    judge = judge_at(chat_server.url, more="api_key_env = 'NO_SUCH_KEY'")
    ran = cli("run", judged_plan(tmp_path, judge, questions=questions, answers={"q0": "Answer: 2"}))
    assert ran.returncode == 0, ran.stderr
    assert "Warning: judges: no question needs a judge, so none is asked ('j')" in said(ran.stderr)
    assert chat_server.requests == []


@pytest.mark.deep
def test_what_doctor_says_of_a_judge_is_inert(tmp_path: Path, cli: Cli) -> None:
    judge = judge_at(NOWHERE).replace("'j'", '"j[/red]\\u001b]0;owned\\u0007"')
    looked = cli("doctor", judged_plan(tmp_path, judge, conditions=["none"]))
    assert "Traceback" not in looked.stderr
    assert "judge j[/red]" in looked.stdout
    assert "\x1b" not in looked.stdout


def test_models_and_judges_of_one_endpoint_and_key_share_a_pace(tmp_path: Path) -> None:
    same = judge_at(NOWHERE, "m", "requests_per_minute = 60")
    elsewhere = judge_at(NOWHERE, "k", "api_key_env = 'ANOTHER_KEY'")
    plan, _ = load_plan(endpoint_plan(tmp_path, NOWHERE, count=1, model=same + elsewhere))
    model, judge, other = asked_lines(plan).values()
    assert model is not judge
    assert model.pace is judge.pace
    assert other.pace is not judge.pace


@pytest.mark.deep
def test_doctor_and_probe_look_at_judges_too(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-judge-0123456789")
    chat_server.answers(Chat(tools=False))
    judge = judge_at(chat_server.url, more="api_key_env = 'JUDGE_KEY'\nprice = { input = 1, output = 2 }")
    plan = judged_plan(tmp_path, judge, conditions=["none"])
    found = json.loads(cli("doctor", plan, "--json").stdout)["findings"]
    by_name = {(finding["topic"], finding["name"]): finding for finding in found}
    assert by_name["key", "JUDGE_KEY"]["state"] == "ok"
    assert by_name["plan", "judges"]["detail"] == "1 can be set up"
    assert by_name["price", "judge j"]["state"] == "ok"
    assert ("plan", chat_server.url) in by_name
    text = plan.read_text(encoding="utf-8")
    plan.write_text(text.replace('["none"]', '[{ name = "t", tools = ["web_search"] }]'), encoding="utf-8")
    checked = cli("doctor", "--capabilities", plan, "--json")
    assert checked.returncode == 0, checked.stderr + checked.stdout
    (row,) = json.loads(checked.stdout)["models"]
    assert (row["model"], row["problems"]) == ("j", [])
    (judge_record,) = load_plan(plan)[0].judges
    assert isinstance(judge_record, OpenAIModel)
