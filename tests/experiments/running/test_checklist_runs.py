"""Runs whose long answers are scored item by item, by the real command line and over real HTTP."""

import json
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.benchmarks.clear.judging import judged
from tests.conftest import Cli
from tests.experiments.judged import all_scores, judge_at, judged_plan
from tests.experiments.nursery import nursery
from tests.servers.chat_server import ChatServer, Drop, Hang, Status, reply

from toolablate.cli import group
from toolablate.traces.store import Store, verify

ITEMS = [
    {"name": "Origin", "definition": "where it comes from", "reference": "a fungus"},
    {"name": "Use", "reference": "kills mites"},
    {"name": "Colour", "reference": None},
]
ANSWERS = {"q0": "Origin: a fungus\nUse: kills mites", "q1": "Origin: a fungus of Japan\nColour: red"}
CALLS = 3 + 2 + 3 + 2
"""Of both answers: a request to map each item, and for each that both sides fill two, or one where they say the same."""


def questions() -> list[dict[str, Any]]:
    return [
        {"id": name, "prompt": f"Describe {name}.", "as_is": True, "target": {"kind": "checklist", "items": ITEMS}}
        for name in ANSWERS
    ]


def plan_of(folder: Path, judges: str, section: str = "") -> Path:
    return judged_plan(folder, judges, answers=ANSWERS, questions=questions(), conditions=("none",), section=section)


def contained(request: dict[str, Any]) -> Any:
    return reply(judged(request["messages"]))


def asked(server: ChatServer) -> Counter[str]:
    return Counter(json.dumps(request["messages"], sort_keys=True) for request in server.requests)


def test_a_checklist_is_mapped_judged_and_shown(chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path) -> None:
    chat_server.answers(contained)
    plan = plan_of(tmp_path, judge_at(chat_server.url), "[judging]\nna = 'out'\nmapping = 'once'")
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stderr
    assert len(chat_server.requests) == 1 + 2 + 1 + 2
    assert sorted(score.value or 0 for score in all_scores(store)) == [0, 1]
    assert json.loads(cli("run", plan, "--json").stdout)["judges"] == []
    trials = json.loads(cli("show", store, "--json").stdout)
    shown = cli(
        "show", store, trials["trials"][0]["trial"][:12] if isinstance(trials, dict) else trials[0]["trial"][:12]
    )
    assert "mapped by" in shown.stdout
    assert "Origin" in shown.stdout
    assert cli("verify", store).returncode == 0


@pytest.mark.deep
def test_two_judges_share_what_one_mapper_extracts(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(contained)
    ran = cli("run", plan_of(tmp_path, judge_at(chat_server.url) + judge_at(chat_server.url, "k")))
    assert ran.returncode == 0, ran.stderr
    assert Counter(request["model"] for request in chat_server.requests) == {"j": CALLS, "k": 4}
    assert len({score.scorer for score in all_scores(store)}) == 2


@pytest.mark.deep
def test_an_outage_is_no_lost_item(chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path) -> None:
    failing = True

    def sometimes(request: dict[str, Any]) -> Any:
        wants_judge = "text B" in request["messages"][1]["content"]
        return Status(401) if failing and wants_judge else contained(request)

    chat_server.answers(sometimes)
    plan = plan_of(tmp_path, judge_at(chat_server.url, more="concurrency = 1"))
    ran = cli("run", plan)
    assert ran.returncode == 1
    assert {score.value for score in all_scores(store)} == {None}
    failing = False
    assert cli("run", plan).returncode == 0
    values = [score.value for score in all_scores(store)]
    assert len(values) == 2
    assert None not in values
    answered = asked(chat_server)
    assert all(count == 1 for request, count in answered.items() if "text B" not in request), "mapped once"


@pytest.mark.deep
@pytest.mark.parametrize("way", ["500", "refused", "dropped"])
def test_a_broken_endpoint_is_no_lost_item(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path, way: str
) -> None:
    """The judge breaks after the mapper is done, or is not there at all; then it is, and only what lacks is asked."""
    failing = way != "refused"

    def sometimes(request: dict[str, Any]) -> Any:
        if failing and "text B" in request["messages"][1]["content"]:
            return Status(500) if way == "500" else Drop()
        return contained(request)

    chat_server.answers(sometimes)
    plan = plan_of(tmp_path, judge_at(chat_server.url, more="concurrency = 1"), "[runner]\nattempts = 1")
    text = plan.read_text(encoding="utf-8")
    if way == "refused":
        plan.write_text(text.replace(chat_server.url, "http://127.0.0.1:9"), encoding="utf-8")
    ran = cli("run", plan)
    assert ran.returncode == 1
    assert [score.value for score in all_scores(store) if score.value is not None] == []
    scored = cli("clear", "score", store, "--json")
    assert scored.returncode != 0 or all(arm["scored"] == 0 for arm in json.loads(scored.stdout)["arms"])
    failing = False
    plan.write_text(text, encoding="utf-8")
    assert cli("run", plan).returncode == 0
    assert sorted(score.value or 0 for score in all_scores(store) if score.value is not None) == [0, 1]
    mapped = {request: count for request, count in asked(chat_server).items() if "text B" not in request}
    assert set(mapped.values()) == {1}


def test_an_unread_verdict_is_asked_again_then_told(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    """Neither yes nor no, `asks` times: the answer has no score, and the other one has; a higher `asks` goes on."""

    def unsure(request: dict[str, Any]) -> Any:
        messages = request["messages"]
        doubtful = "text B" in messages[1]["content"] and "Japan" in messages[1]["content"]
        return reply("It may contain it, yes.") if doubtful and len(messages) < 6 else contained(request)

    chat_server.answers(unsure)
    judge = judge_at(chat_server.url, more="concurrency = 1")
    plan = plan_of(tmp_path, judge, "[judging]\nasks = 2")
    ran = cli("run", plan)
    assert "item 'Origin', recall: the judge's last of 2 replies cannot be read" in " ".join(ran.stdout.split())
    assert [score.verdict for score in all_scores(store)].count("unscored") == 1
    before = len(chat_server.requests)
    assert cli("run", plan).returncode in (0, 1)
    assert len(chat_server.requests) == before, "told, and not asked for ever"
    scored = cli("clear", "score", store, "--json")
    (arm,) = json.loads(scored.stdout)["arms"]
    assert (arm["samples"], arm["scored"]) == (2, 1)
    assert [each["why"] for each in arm["left_out"]] == ["unread"]
    assert "item 'Origin', recall" in arm["left_out"][0]["said"]
    plan.write_text(plan.read_text(encoding="utf-8").replace("asks = 2", "asks = 3"), encoding="utf-8")
    assert cli("run", plan).returncode == 0
    assert None not in [score.value for score in all_scores(store)]
    assert set(asked(chat_server).values()) == {1}, "no request is made twice"


@pytest.mark.deep
@pytest.mark.parametrize("heard", range(1, CALLS))
def test_killed_between_any_two_calls_nothing_is_paid_for_twice(
    chat_server: ChatServer, tmp_path: Path, heard: int
) -> None:
    """SIGKILL after the reply to `heard` requests was kept: the request that waits then is the only one made again."""
    store, held = tmp_path / "store.sqlite", True

    def stuck(request: dict[str, Any]) -> Any:
        return Hang() if held and len(chat_server.requests) > heard else contained(request)

    chat_server.answers(stuck)
    plan = plan_of(tmp_path, judge_at(chat_server.url, more="concurrency = 1"))
    with nursery(tmp_path) as runs:
        pid = runs.start(plan, store)
        while len(chat_server.requests) <= heard:
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        assert runs.wait(pid) == -signal.SIGKILL
        waiting = asked(chat_server)
        held = False
        last = json.dumps(chat_server.requests[-1]["messages"], sort_keys=True)
        assert runs.run(plan, store) == 0
    twice = {request: count for request, count in asked(chat_server).items() if count > 1}
    assert sum(waiting.values()) == heard + 1
    assert twice == {last: 2}
    assert len(chat_server.requests) == CALLS + 1
    assert sorted(score.value or 0 for score in all_scores(store)) == [0, 1]
    assert verify(store).ok


def test_flips_of_items_are_read_from_the_store(chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path) -> None:
    """Search loses the use and fills the colour: by the published rule F1 falls twice, without N/A items once."""
    chat_server.answers(contained)
    plan = judged_plan(
        tmp_path, judge_at(chat_server.url), answers=ANSWERS, questions=questions(), conditions=("none", "scaffold")
    )
    script = [json.loads(line) for line in (tmp_path / "script.jsonl").read_text(encoding="utf-8").splitlines()]
    for line in script:
        if line["condition"] == "scaffold":
            line["replies"] = [{"content": "Origin: a fungus\nColour: red"}]
    (tmp_path / "script.jsonl").write_text("\n".join(map(json.dumps, script)), encoding="utf-8")
    assert cli("run", plan).returncode == 0
    shown = CliRunner().invoke(group, ["clear", "flips", str(store), "--json"])
    assert shown.exit_code == 0, shown.output
    (effect,) = json.loads(shown.stdout)["effects"]
    shares = {change["event"]: change["share"] for change in effect["changes"]}
    # Of four items that references have: q0 loses its use, q1 gains its origin. Of two that they have not: q0's colour.
    assert shares == {
        "gained": 0.25, "lost": 0.25, "falsified": 0, "newly_silent": 0.25, "newly_filled": 0, "overfilled": 0.5,
    }  # fmt: skip
    table = CliRunner().invoke(group, ["clear", "flips", str(store)])
    assert table.exit_code == 0
    assert "says nothing" in table.output
    scored = CliRunner().invoke(group, ["clear", "score", str(store), "--na", "out", "--json"])
    assert scored.exit_code == 0, scored.output
    arms = {arm["condition"]: arm for arm in json.loads(scored.stdout)["arms"]}
    # q0 is right and q1 has the origin by recall alone; then both have the origin alone: precision and recall 1/2.
    assert (arms["none"]["f1"], arms["scaffold"]["f1"]) == (0.5, 0.5)
    assert (arms["none"]["coverage"], arms["scaffold"]["coverage"]) == (0.75, 0.5)
    assert "m, scaffold" in CliRunner().invoke(group, ["clear", "score", str(store)]).output
    nobody = CliRunner().invoke(group, ["clear", "score", str(store), "--judge", "k"])
    assert "--judge k: judged no checklist" in str(nobody.exception)
    refused = CliRunner().invoke(group, ["clear", "flips", str(store), "--baseline", "nobody"])
    assert "There is no condition 'nobody'" in str(refused.exception)


def test_of_a_mended_reference_only_its_item_is_judged_again(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(contained)
    plan = plan_of(tmp_path, judge_at(chat_server.url))
    assert cli("run", plan).returncode == 0
    assert len(chat_server.requests) == CALLS
    file = tmp_path / "questions.jsonl"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("kills mites", "kills mites and lice"), encoding="utf-8")
    assert cli("run", plan).returncode == 0
    new = chat_server.requests[CALLS:]
    assert ["lice" in request["messages"][1]["content"] for request in new] == [True, True], "q0 alone fills it"
    # q0 has the origin, silence on the colour, and the use by precision alone; q1 has the origin by recall alone.
    assert sorted(score.value or 0 for score in all_scores(store)) == [0, pytest.approx(0.8)]
    assert verify(store).ok


def test_figures_of_a_store_are_those_of_one_runs_judges_and_tell_what_is_not_in_them(
    chat_server: ChatServer, tmp_path: Path, store: Path
) -> None:
    """First both conditions by the published rule, then one of them by another: the same judge with one judgement."""
    chat_server.answers(contained)
    judge, answers = judge_at(chat_server.url), ANSWERS | {"q1": ""}
    plan = judged_plan(tmp_path, judge, answers=answers, questions=questions(), extra=f"store = '{store}'")
    script = (tmp_path / "script.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "script.jsonl").write_text("\n".join(script[:-1]), encoding="utf-8")
    assert CliRunner().invoke(group, ["run", str(plan)]).exit_code == 1, "q1 has no reply under scaffold"
    scored = CliRunner().invoke(group, ["clear", "score", str(store), "--json"])
    found = {arm["condition"]: arm for arm in json.loads(scored.stdout)["arms"]}
    assert [(arm["samples"], arm["failed"]) for arm in (found["none"], found["scaffold"])] == [(2, 0), (1, 1)]
    assert "m, scaffold: 1 failed trial without an answer" in scored.stderr
    assert sorted(each["f1"] for each in found["none"]["by_sample"].values()) == [0, 1], "no words are 0, as the score"
    assert sorted(score.value or 0 for score in all_scores(store)) == [0, 1, 1]
    text = plan.read_text(encoding="utf-8").replace('["none", "scaffold"]', '["none"]')
    plan.write_text(f"{text}\n[judging]\nna = 'out'\n", encoding="utf-8")
    assert CliRunner().invoke(group, ["run", str(plan)]).exit_code == 0
    with Store(store) as opened:
        assert len(opened.scorers()) == 2
    again = json.loads(CliRunner().invoke(group, ["clear", "score", str(store), "--json"]).stdout)
    (arm,) = again["arms"]
    assert (len(arm["judges"]), arm["judges"][0][-8:], again["left_out"]) == (1, ",na=out]", 2)
    assert "judge_pairs" not in arm
    table = CliRunner().invoke(group, ["clear", "score", str(store)])
    assert "2 more trials, which this run did not call for" in table.output
    flips = json.loads(CliRunner().invoke(group, ["clear", "flips", str(store), "--json"]).stdout)
    assert (flips["left_out"], flips["warning"]) == (2, "")


@pytest.mark.deep
def test_a_regrading_maps_and_judges_anew(chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path) -> None:
    chat_server.answers(contained)
    ran = cli("run", plan_of(tmp_path, judge_at(chat_server.url), "[judging]\nagain = 1"))
    assert ran.returncode == 0, ran.stderr
    assert set(asked(chat_server).values()) == {2}
    assert len(chat_server.requests) == 2 * CALLS
    assert len(all_scores(store)) == 4
