"""The command that takes a trial up again: what it says, what it costs, and what it refuses."""

import json
from pathlib import Path

import pytest
from tests.conftest import Cli, WritePlan
from tests.experiments.replay.scenes import by_turn, code, endpoint_plan, run, trial_of
from tests.servers.chat_server import ChatServer, reply

from toolablate.experiments.replay.batch import replay
from toolablate.traces.store import Store


@pytest.mark.deep
def test_two_changes_at_one_event_are_two_conditions_and_no_table_counts_either(scripted: Path, cli: Cli) -> None:
    trial = trial_of(scripted)
    commands = (("compare", "--json"), ("status",), ("compare", "--run", "all", "--json"), ("show", "--json"))
    before = [cli(name, scripted, *options).stdout for name, *options in commands]
    for content in ("gold", "null"):
        replay(scripted, trial, 3, content)
    with Store(scripted) as opened:
        resumed = opened.resumptions(trial)
        assert len(resumed) == len({condition.identity() for condition in resumed.values()}) == 2
        assert {condition.name for condition in opened.conditions()} == {"none", "python"}
        assert len(opened.finished_trials()) == opened.ended_trials() == len(list(opened.traces())) == 4
    assert [cli(name, scripted, *options).stdout for name, *options in commands] == before


@pytest.mark.deep
def test_show_lists_the_replays_of_a_trial_and_says_of_what_one_is(scripted: Path, cli: Cli) -> None:
    trial = trial_of(scripted)
    (swapped,) = replay(scripted, trial, 3, "gold").trials
    listed = cli("show", scripted, trial).stdout
    assert f"{swapped[:10]}  python ~ swap gold @3 of {trial[:8]}" in listed
    shown = cli("show", scripted, swapped).stdout
    assert f"trial {trial}, attempt 1, from its event 3 on" in " ".join(shown.replace("│", " ").split())
    assert "the result is swapped (gold) for: 2" in shown
    # It is numbered as in the whole conversation, of which it has three events in common with its parent.
    assert ("event 2" in shown, "event 3" in shown) == (False, True)
    whole = cli("show", scripted, swapped, "--whole").stdout
    assert ("event 0" in whole, "event 3" in whole) == (True, True)
    events = json.loads(cli("show", scripted, swapped, "--whole", "--json").stdout)["events"]
    assert [each["kind"] for each in events] == [
        "model_call", "tool_call", "model_call", "rebuilt", "tool_call", "model_call", "answer",
    ]  # fmt: skip


@pytest.mark.deep
def test_what_is_wrong_is_told_before_anything_is_written(scripted: Path, cli: Cli, tmp_path: Path) -> None:
    trial = trial_of(scripted)
    content = scripted.read_bytes()
    for options, told in (
        (("--from", "99"), "there is no event 99"),
        (("--from", "2", "--swap", "gold"), "no tool call"),
        (("--from", "3", "--swap", "missing.txt"), "cannot read"),
        (("--from", "3", "--repair"), "nothing to repair"),
        (("--from", "3", "--drop", "--answer-now"), "one thing"),
        (("--from", "4", "--extend", "turns=none"), "--extend: turns"),
        (("--from", "5", "--extend", "turns=20"), "has answered"),
        (("--from", "3", "--plan", "nowhere.toml"), "no plan at"),
        (("--from", "4", "--say", " "), "--say: the text is empty"),
        (("--from", "4", "--extend", ""), "--extend"),
        (("--from", "3", "--max-cost", "nan"), "nan is no number"),
    ):
        done = cli("replay", scripted, trial, *options)
        assert done.returncode == 2, done.stdout
        assert told in done.stderr
        assert "Traceback" not in done.stderr
    assert scripted.read_bytes() == content


@pytest.mark.deep
def test_what_it_costs_is_told_first_and_refused_where_it_is_too_much(
    chat_server: ChatServer, tmp_path: Path, cli: Cli
) -> None:
    chat_server.answers(by_turn(code("print(5)"), code("print(6)"), reply("Answer: 5")))
    store = run(endpoint_plan(tmp_path, chat_server))
    trial = trial_of(store)
    asked = len(chat_server.requests)
    refused = cli("replay", store, trial, "--from", "2", "--repeats", "10", "--max-cost", "0.0001")
    assert refused.returncode == 2
    assert "about $0.0004" in refused.stderr
    assert len(chat_server.requests) == asked
    with Store(store) as opened:
        assert opened.resumptions(trial) == {}
    done = cli("replay", store, trial, "--from", "2", "--repeats", "10", "--max-cost", "0.001")
    assert done.returncode == 0, done.stderr
    assert "10 replays to run, for an estimated $0.0004" in done.stderr
    with Store(store) as opened:
        costs = [opened.trace(each).cost_usd for each in opened.resumptions(trial)]
    assert sum(cost or 0 for cost in costs) == pytest.approx(0.0004)


@pytest.mark.deep
def test_a_plan_that_has_moved_is_named(write_plan: WritePlan, tmp_path: Path, cli: Cli, scripted: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = elsewhere / "store.sqlite"
    scripted.rename(moved)
    (tmp_path / "script.jsonl").rename(elsewhere / "script.jsonl")
    (tmp_path / "questions.jsonl").rename(elsewhere / "questions.jsonl")
    trial = trial_of(moved)
    lost = cli("replay", moved, trial, "--from", "3")
    assert (lost.returncode, "--plan PLAN" in lost.stderr) == (2, True)
    (tmp_path / "plan.toml").rename(elsewhere / "plan.toml")
    found = cli("replay", moved, trial, "--from", "3", "--plan", elsewhere / "plan.toml")
    assert found.returncode == 0, found.stderr
