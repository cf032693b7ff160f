"""Judges of every family on comparisons: asked once each, resumed, and scored beside what needs no model."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.benchmarks.lfqa_e.comparing import UNIFIED, XU, written
from tests.servers.chat_server import ChatServer, Json, Status, reply

from toolablate.benchmarks.judging.pairs import PairJudge
from toolablate.benchmarks.lfqa_e.metrics import FAILED, UNREAD
from toolablate.cli import group
from toolablate.experiments.lfqa_e import checked_verdicts, load_lfqa_plan, run_lfqa
from toolablate.experiments.pair_judging import VerdictFile
from toolablate.traces.errors import InputError

TEMPLATE = (
    "Query: {question}\nReference: {reference}\nResponse 1: {a}\nResponse 2: {b}\n"
    'End with "So, the final decision is Response 1 / Response 2 / Tie".\n'
)
QUALITY = {"best": 9, "good": 7, "poor": 2}
ROWS = [
    {**UNIFIED, "id": str(n), "question": f"Why {n}?", "response_a": a, "response_b": b, "label": label}
    for n, (a, b, label) in enumerate(
        [
            ("best", "poor", "response_a"),
            ("poor", "good", "response_b"),
            ("good", "good too", "same"),
            ("good", "poor {b}", "response_a"),
        ]
    )
]
ALL = """
[[metrics]]
kind = "pairs"
judge = "j"
mode = "direct"
[[metrics]]
kind = "points"
judge = "j"
[[metrics]]
kind = "trained"
judge = "j"
form = "auto-j"
template = "autoj.txt"
"""


def rank(text: str) -> int:
    return next(points for word, points in QUALITY.items() if word in text)


def answers(request: dict[str, Any]) -> Any:
    """Each family in its own form, by the words in the answers."""
    if "text_1" in request:
        return Json({"data": [{"index": 0, "score": rank(request["text_2"]) / 10}]})
    if "inputs" in request:
        return Json([{"score": rank(request["inputs"][1]) / 10, "label": "LABEL_0"}])
    text = str(request["messages"][-1]["content"])
    if request["messages"][-1]["role"] == "assistant":
        return Json({"data": [{"index": 0, "data": [[0.0], [rank(text) / 10]]}]})
    if text.startswith("Query"):
        one, other = re.findall(r"Response \d: (.*)", text)[:2]
        said = "Tie" if rank(one) == rank(other) else f"Response {1 if rank(one) > rank(other) else 2}"
        return reply(f"Both speak of air. So, the final decision is {said}.")
    shown = re.findall(r"<answer(?: [AB])? [0-9a-f]+>\n(.*?)\n</answer", text, re.S)
    if len(shown) == 1:
        return reply(f'Hm.\n{{"score": {rank(shown[0])}}}')
    one, other = map(rank, shown[-2:])
    return reply(f'{{"better": "{"same" if one == other else "a" if one > other else "b"}"}}')


def plan_of(folder: Path, server: ChatServer, metrics: str = ALL, more: str = "") -> Path:
    written(folder / "rows.json", *ROWS)
    (folder / "autoj.txt").write_text(TEMPLATE, encoding="utf-8")
    plan = folder / "lfqa.toml"
    plan.write_text(
        f'comparisons = "rows.json"\n{more}\n{metrics}\n[[judges]]\nprovider = "openai"\nname = "j"\n'
        f'endpoint = "{server.url}"\n',
        encoding="utf-8",
    )
    server.answers(answers)
    return plan


def test_each_family_is_asked_once_and_scored(chat_server: ChatServer, tmp_path: Path) -> None:
    plan = load_lfqa_plan(plan_of(tmp_path, chat_server))
    ran = run_lfqa(plan)
    # Both orders of pairs and of the trained judge, each answer for itself on the scale.
    assert len(chat_server.requests) == 4 * (2 + 2 + 2)
    assert [each.name.partition("[")[0] for each in ran.judged] == ["pairs", "points", "trained", "points"]
    # The last is the scale again, with a threshold fitted on other questions.
    assert ran.judged[3].name == f"{ran.judged[1].name}_tau"
    assert [each.codes.tolist() for each in ran.judged[:3]] == [[0, 1, 2, 0]] * 3
    assert ran.missing == 0
    again = run_lfqa(plan)
    assert len(chat_server.requests) == 24
    assert [each.codes.tolist() for each in again.judged[:3]] == [[0, 1, 2, 0]] * 3


@pytest.mark.parametrize("api", ["pooling", "score", "predict"])
def test_reward_models_over_http(chat_server: ChatServer, tmp_path: Path, api: str) -> None:
    metric = f'[[metrics]]\nkind = "reward"\nname = "rm"\nendpoint = "{chat_server.url}"\napi = "{api}"\ntau = 0.1\n'
    ran = run_lfqa(load_lfqa_plan(plan_of(tmp_path, chat_server, metric)))
    assert ran.judged[0].codes.tolist() == [0, 1, 2, 0]
    assert ran.judged[0].name.startswith("reward[rm@")
    assert len(chat_server.requests) == 8


def test_a_threshold_of_a_reward_model_is_changed_without_asking_again_and_replies_are_replayed(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    metric = f'[[metrics]]\nkind = "reward"\nname = "rm"\nendpoint = "{chat_server.url}"\ntau = 0.1\n'
    more = "[replies]\nmode = 'record'\nfile = 'replies.sqlite'\n"
    path = plan_of(tmp_path, chat_server, f"{metric}\n{more}")
    ran = run_lfqa(load_lfqa_plan(path))
    assert [each.name.endswith("_tau") for each in ran.judged] == [False, True]
    assert (ran.judged[0].codes.tolist(), ran.judged[0].tau) == ([0, 1, 2, 0], (0.1, 0.1))
    path.write_text(path.read_text(encoding="utf-8").replace("tau = 0.1", "tau = 0.6"), encoding="utf-8")
    assert run_lfqa(load_lfqa_plan(path)).judged[0].codes.tolist() == [0, 2, 2, 2]
    assert len(chat_server.requests) == 8
    Path(load_lfqa_plan(path).verdicts).unlink()
    path.write_text(path.read_text(encoding="utf-8").replace("'record'", "'replay'"), encoding="utf-8")
    assert run_lfqa(load_lfqa_plan(path)).judged[0].codes.tolist() == [0, 2, 2, 2]
    assert len(chat_server.requests) == 8


def test_a_trained_judge_has_its_system_message(chat_server: ChatServer, tmp_path: Path) -> None:
    """What asks for the verdict may stand there alone."""
    metric = '[[metrics]]\nkind = "trained"\njudge = "j"\nform = "rm-r1"\ntemplate = "rm.txt"\nsystem = "system.txt"\n'
    plan = plan_of(tmp_path, chat_server, metric)
    (tmp_path / "rm.txt").write_text("{question}\n[A] {a}\n[B] {b}", encoding="utf-8")
    (tmp_path / "system.txt").write_text("End with <answer>[[A]]</answer>.", encoding="utf-8")
    chat_server.answers(lambda request: reply("<eval>x</eval> <answer>[[B]]</answer>"))
    ran = run_lfqa(load_lfqa_plan(plan))
    assert [each["role"] for each in chat_server.requests[0]["messages"]] == ["system", "user"]
    assert chat_server.requests[0]["messages"][0]["content"] == "End with <answer>[[A]]</answer>."
    assert ran.judged[0].codes.tolist() == [2] * 4  # by place, so that it turns with the order


def test_verdicts_unlike_their_reasons_and_replies_asked_for_again_are_told(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    path = plan_of(tmp_path, chat_server, '[[metrics]]\nkind = "pairs"\njudge = "j"\n')

    def careless(request: dict[str, Any]) -> Any:
        text = str(request["messages"])
        if "Why 1?" in text:
            again = "cannot be used" in text
            return answers({"messages": request["messages"][:2]}) if again else reply("Well.")
        return reply('Answer A is better.\n{"better": "b"}') if "Why 0?" in text else answers(request)

    chat_server.answers(careless)
    shown = CliRunner().invoke(group, ["lfqa-e", "run", str(path), "--json"])
    found = json.loads(shown.stdout)["all"]
    (name,) = [each for each in found if each.startswith("pairs[")]
    assert (found[name]["contradicted"], found[name]["asked_again"]) == (25, 25)
    assert found["longer"]["contradicted"] is None
    assert "contradicted:" in CliRunner().invoke(group, ["lfqa-e", "run", str(path)]).stdout


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ('kind = "points"\njudge = "j"', "needs reference answers"),
        ('kind = "trained"\njudge = "j"\nform = "auto-j"\ntemplate = "autoj.txt"', "needs reference answers"),
        ('kind = "pairs"\njudge = "j"', ""),
    ],
)
def test_comparisons_without_references(chat_server: ChatServer, tmp_path: Path, metric: str, said: str) -> None:
    path = plan_of(tmp_path, chat_server, f"[[metrics]]\n{metric}\n")
    written(tmp_path / "rows.json", {**XU, "answer_a": "best", "answer_b": "poor"})
    if said:
        with pytest.raises(InputError, match=said):
            run_lfqa(load_lfqa_plan(path))
        assert chat_server.requests == []
    else:
        assert run_lfqa(load_lfqa_plan(path)).judged[0].codes.tolist() == [0]


def test_an_outage_leaves_the_comparison_out_and_an_unread_reply_is_wrong(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    metric = '[[metrics]]\nkind = "pairs"\njudge = "j"\nmode = "direct"\n'
    path = plan_of(tmp_path, chat_server, metric)

    def faulty(request: dict[str, Any]) -> Any:
        if "Why 0?" in str(request):
            return Status(400)
        return reply("Answer A, clearly.") if "Why 1?" in str(request) else answers(request)

    chat_server.answers(faulty)
    shown = CliRunner().invoke(group, ["lfqa-e", "run", str(path), "--json"])
    assert shown.exit_code == 1
    found = json.loads(shown.stdout)["all"]
    (name,) = [each for each in found if each.startswith("pairs[")]
    assert {key: found[name][key] for key in ("n", "failed", "unread")} == {"n": 3, "failed": 1, "unread": 1}
    assert found[name]["acc"] == pytest.approx(200 / 3)
    chat_server.answers(answers)
    assert run_lfqa(load_lfqa_plan(path)).judged[0].codes.tolist() == [0, 3, 2, 0]


def test_an_outage_in_one_order_counts_before_an_unread_reply_in_the_other(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    path = plan_of(tmp_path, chat_server, '[[metrics]]\nkind = "pairs"\njudge = "j"\n')

    def faulty(request: dict[str, Any]) -> Any:
        text = str(request["messages"][1]["content"])
        if "Why 1?" not in text:
            return answers(request)
        return reply("Answer A, clearly.") if text.index("poor") < text.index("good") else Status(400)

    chat_server.answers(faulty)
    ran = run_lfqa(load_lfqa_plan(path))
    assert ran.judged[0].codes.tolist() == [0, FAILED, 2, 0]
    assert ran.missing == 1


@pytest.mark.parametrize("kind", ["points", "pairs", "trained"])
def test_a_judge_that_may_be_asked_more_often_goes_on_from_what_was_paid_for(
    chat_server: ChatServer, tmp_path: Path, kind: str
) -> None:
    """Of the first question, nothing on the second answer is read until the third asking; all else at once."""
    more = {"points": "", "pairs": "swap = false", "trained": 'swap = false\nform = "auto-j"\ntemplate = "autoj.txt"'}
    metric = f'[[metrics]]\nkind = "{kind}"\njudge = "j"\n{more[kind]}\n'
    path = plan_of(tmp_path, chat_server, metric, more="asks = 2")
    bad: list[Any] = []

    def stubborn(request: dict[str, Any]) -> Any:
        text = str(request["messages"])
        if "Why 0?" in text and "poor" in text and len(bad) < 2:
            bad.append(request)
            return reply("Hm.")
        first = [each for each in request["messages"] if each["role"] != "assistant"]
        return answers({"messages": first[:2] if kind != "trained" else first[:1]})

    chat_server.answers(stubborn)
    assert run_lfqa(load_lfqa_plan(path)).judged[0].codes.tolist() == [UNREAD, 1, 2, 0]
    asked = len(chat_server.requests)
    assert run_lfqa(load_lfqa_plan(path)).judged[0].codes.tolist() == [UNREAD, 1, 2, 0]
    assert len(chat_server.requests) == asked
    path.write_text(path.read_text(encoding="utf-8").replace("asks = 2", "asks = 3"), encoding="utf-8")
    assert run_lfqa(load_lfqa_plan(path)).judged[0].codes.tolist() == [0, 1, 2, 0]
    assert len(chat_server.requests) == asked + 1


def test_what_was_paid_for_before_an_outage_is_not_asked_again(chat_server: ChatServer, tmp_path: Path) -> None:
    path = plan_of(tmp_path, chat_server, '[[metrics]]\nkind = "pairs"\njudge = "j"\nswap = false\n', more="asks = 2")

    def faulty(request: dict[str, Any]) -> Any:
        if "Why 0?" not in str(request["messages"]):
            return answers(request)
        return reply("Hm.") if len(request["messages"]) == 2 else Status(400)

    chat_server.answers(faulty)
    ran = run_lfqa(load_lfqa_plan(path))
    assert (ran.judged[0].codes.tolist(), ran.missing) == ([FAILED, 1, 2, 0], 1)
    asked = len(chat_server.requests)
    chat_server.answers(lambda request: answers({"messages": request["messages"][:2]}))
    assert run_lfqa(load_lfqa_plan(path)).judged[0].codes.tolist() == [0, 1, 2, 0]
    assert [len(each["messages"]) for each in chat_server.requests[asked:]] == [4]


def test_a_file_in_use_is_told_with_what_can_be_done(chat_server: ChatServer, tmp_path: Path) -> None:
    plan = load_lfqa_plan(plan_of(tmp_path, chat_server, '[[metrics]]\nkind = "pairs"\njudge = "j"\n'))
    judge = PairJudge(plan.judges[0])
    with VerdictFile(Path(plan.verdicts), in_use=""):
        with pytest.raises(InputError, match=r"name another file in the plan: verdicts = "):
            run_lfqa(plan)
        with pytest.raises(InputError, match="or leave out --calibration"):
            checked_verdicts(plan, judge, swap=True)


def test_material_can_be_left_out_as_published(chat_server: ChatServer, tmp_path: Path) -> None:
    for how, there in (("show", True), ("omit", False)):
        folder = tmp_path / how
        folder.mkdir()
        path = plan_of(folder, chat_server, more=f'context = "{how}"\nlimit = 2\n')
        written(folder / "rows.json", *({**row, "context": "MATERIAL"} for row in ROWS))
        before = len(chat_server.requests)
        ran = run_lfqa(load_lfqa_plan(path))
        assert len(ran.comparisons) == 2
        assert all(("MATERIAL" in str(each)) == there for each in chat_server.requests[before:])


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ('[[metrics]]\nkind = "pairs"\njudge = "k"\n', "there is no judge 'k'; there are j"),
        ('[[metrics]]\nkind = "pears"\njudge = "j"\n', "metrics"),
        ('[[metrics]]\nkind = "pairs"\njudge = "j"\nmode = "fast"\n', "mode"),
        ('[[metrics]]\nkind = "trained"\njudge = "j"\nform = "auto-j"\ntemplate = "rows.json"\n', "has no {question}"),
        (
            '[[metrics]]\nkind = "trained"\njudge = "j"\nform = "auto-j"\ntemplate = "rows.json"\n',
            "a template has {question}, {a} and {b}; it may have {reference}",
        ),
        (
            '[[metrics]]\nkind = "trained"\njudge = "j"\nform = "rm-r1"\ntemplate = "autoj.txt"\n',
            "does not ask for '<answer>', by which form = \"rm-r1\" is read",
        ),
        ("[[metrics]]\nkind = 'points'\njudge = 'j'\n[[metrics]]\nkind = 'points'\njudge = 'j'\n", "two are the same"),
    ],
)
def test_what_is_wrong_with_a_plan_is_said(chat_server: ChatServer, tmp_path: Path, metrics: str, said: str) -> None:
    path = plan_of(tmp_path, chat_server, metrics)
    with pytest.raises(InputError) as caught:
        run_lfqa(load_lfqa_plan(path))
    assert said in str(caught.value)
    assert chat_server.requests == []


def test_a_judge_of_places_is_found_out(chat_server: ChatServer, tmp_path: Path) -> None:
    """It prefers what stands first: every verdict turns with the order, and is a tie."""
    path = plan_of(tmp_path, chat_server, '[[metrics]]\nkind = "pairs"\njudge = "j"\n')
    chat_server.answers(lambda request: reply('{"better": "a"}'))
    shown = CliRunner().invoke(group, ["lfqa-e", "run", str(path), "--json"])
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)["all"]
    (name,) = [each for each in found if each.startswith("pairs[")]
    assert (found[name]["turned"], found[name]["ties_predicted"]) == (100, 4)
    assert found["always_a"]["turned"] is None
    assert "turned" in CliRunner().invoke(group, ["lfqa-e", "run", str(path)]).stdout
