"""What is graded again, and by whom, where a plan, its judges or its answer keys change between runs."""

import json
from pathlib import Path
from typing import Any

from tests.conftest import Cli
from tests.experiments.judged import GRADE, grades, judge_at, judged_plan, verdicts
from tests.servers.chat_server import ChatServer, ChatServers, reply

from toolablate.traces.records import ReferenceTarget
from toolablate.traces.store import Recorder, Store


def test_a_second_judge_and_gradings_again_run_no_model(
    chat_servers: ChatServers, chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(grades)
    plan = judged_plan(tmp_path, judge_at(chat_server.url))
    assert cli("run", plan).returncode == 0
    with chat_servers.server() as severe:
        severe.answers(lambda request: reply(GRADE % 0))
        more = judge_at(severe.url, "severe") + "[judging]\nagain = 2\n"
        plan.write_text(plan.read_text(encoding="utf-8") + more, encoding="utf-8")
        ran = json.loads(cli("run", plan, "--json").stdout)
        assert (len(chat_server.requests), len(severe.requests)) == (8 + 16, 24)
    done = {work["judge"]: (work["graded"], work["requests"]) for work in ran["judges"]}
    assert done == {"j": (16, 16), "severe": (24, 24)}
    with Store(store) as opened:
        names = opened.scorers()
        assert all(len(opened.attempts(trace.trial.id)) == 1 for trace in opened.traces())
    assert sorted(name.count("again=") for name in names) == [0, 0, 1, 1, 1, 1]
    (usual,) = json.loads(cli("compare", store, "--json").stdout)["comparisons"]
    assert (usual["baseline_score"], usual["score"]) == (75, 100)
    for named in (names[-1], "severe", "judge[severe,again=2]"):
        (second,) = json.loads(cli("compare", store, "--json", "--scorer", named).stdout)["comparisons"]
        assert (second["baseline_score"], second["score"]) == (0, 0)
    agreed = cli("agreement", store, "--json", "--scorer", "j", "--scorer", "severe")
    assert agreed.returncode == 0, agreed.stderr


def test_who_lets_a_judge_be_asked_more_often_has_it_try_again(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(lambda request: reply("It is hard to say."))
    plan = judged_plan(tmp_path, judge_at(chat_server.url) + "[judging]\nasks = 1\n", count=1)
    assert cli("run", plan).returncode == 1
    assert set(verdicts(store).values()) == {"unscored"}
    plan.write_text(plan.read_text(encoding="utf-8").replace("asks = 1", "asks = 2"), encoding="utf-8")
    chat_server.answers(grades)
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stderr
    assert (len(chat_server.requests), len(verdicts(store))) == (4, 2)
    assert "unscored" not in verdicts(store).values()
    assert cli("verify", store).returncode == 0


def test_what_counts_as_unparsed_asks_no_judge_again(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(grades)
    plan = judged_plan(tmp_path, judge_at(chat_server.url), answers={"q1": " "}, count=2)
    assert cli("run", plan).returncode == 0
    before = verdicts(store)
    text = plan.read_text(encoding="utf-8").replace("[questions]\n", "[questions]\nunparsed = 'exclude'\n")
    plan.write_text(text, encoding="utf-8")
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stderr
    assert len(chat_server.requests) == 2
    assert "Judge j: 4 answers graded (without asking it)" in ran.stdout
    assert verdicts(store, "judge[j@") == before
    (compared,) = json.loads(cli("compare", store, "--json").stdout)["comparisons"]
    assert compared["questions"] == 1
    assert cli("verify", store).returncode == 0


def test_a_mended_rubric_is_graded_by_again(chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path) -> None:
    chat_server.answers(grades)
    plan = judged_plan(tmp_path, judge_at(chat_server.url))
    assert cli("run", plan).returncode == 0
    file = tmp_path / "questions.jsonl"
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    lines[2]["rubric"] = {"points": "It has to say why."}
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    before = len(chat_server.requests)
    chat_server.answers(lambda request: reply(GRADE % ("has to say why" not in str(request))))
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stderr
    assert len(chat_server.requests) == before + 2
    assert {key for key, verdict in verdicts(store).items() if verdict == "wrong"} == {
        ("q0", "none"),
        ("q2", "none"),
        ("q2", "scaffold"),
    }
    assert cli("verify", store).returncode == 0


def test_a_key_that_is_mended_while_the_judge_thinks_is_the_one_that_counts(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    mended: list[str] = []

    def mends(request: dict[str, Any]) -> Any:
        if not mended:
            with Store(store) as opened:
                (question,), (run,) = opened.questions(), opened.runs()
            mended.append(question.id)
            target = ReferenceTarget(answer="the mended key")
            with Recorder(store) as recorder:
                again = run.model_copy(update={"id": "another"})
                recorder.plan(again, [question.model_copy(update={"target": target})], [], [], [])
        return reply(GRADE % ("the mended key" in str(request)))

    chat_server.answers(mends)
    ran = cli("run", judged_plan(tmp_path, judge_at(chat_server.url), count=1, conditions=["none"]))
    assert ran.returncode == 0, ran.stderr
    assert len(chat_server.requests) == 2
    assert verdicts(store) == {("q0", "none"): "correct"}
    assert cli("verify", store).returncode == 0
