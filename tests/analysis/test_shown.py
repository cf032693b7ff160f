"""Traces of real runs, as `show` shows them."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli, WritePlan
from tests.experiments.plan_files import answered, endpoint_plan
from tests.servers.chat_server import ChatServer, reply
from tests.servers.responses import calls, insisting_on, insisting_on_items, response, says, thinks

TOOL = """
from toolablate.tools import tool

@tool
def double(number: int) -> int:
    \"\"\"Doubles a number.\"\"\"
    return 2 * number
"""
SEALED = [{"type": "reasoning.encrypted", "data": "gAAAA"}, {"type": "reasoning.text", "text": "Details."}]


def by_chat() -> Any:
    first = reply("", ("double", {"number": 2}), reasoning_details=SEALED)
    return insisting_on(lambda message: message.get("reasoning_details"), first, reply("Answer: 4"))


def by_responses() -> Any:
    first = response(thinks("Details.", encrypted="gAAAA"), calls("double", {"number": 2}))
    return insisting_on_items(first, response(thinks(encrypted="gAAAA2"), says("Answer: 4")))


@pytest.mark.parametrize(("api", "decide"), [("chat", by_chat), ("responses", by_responses)], ids=["chat", "responses"])
def test_a_trace_with_items_of_its_api_is_shown(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path, api: str, decide: Any
) -> None:
    chat_server.answers(decide())
    (tmp_path / "doubling.py").write_text(TOOL, encoding="utf-8")
    price = "price = { input = 0, output = 0 }"
    plan = endpoint_plan(tmp_path, chat_server.url, count=1, model=f"api = '{api}'\n{price}")
    tools = "[{ name = 'c', base = 'none', tools = ['doubling:double'] }]"
    plan.write_text(plan.read_text(encoding="utf-8").replace("['none']", tools), encoding="utf-8")
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (trial,) = json.loads(cli("show", store, "--json").stdout)["trials"]
    shown = cli("show", store, trial["trial"])
    assert shown.returncode == 0, shown.stderr
    page = "\n".join(line.rstrip() for line in shown.stdout.splitlines())
    assert page.count("Details.") == 1
    assert page.count("[2 items of the API, 1 encrypted]") == (2 if api == "responses" else 1)
    assert "gAAAA" not in page
    assert page.count("calls double") == 1
    assert " ".join(page.split()).count(" 10 tokens in, 5 tokens out · $0 ") == 2


def test_a_call_whose_cost_is_unknown_shows_none(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(lambda request: reply("Answer: 0"))
    assert cli("run", endpoint_plan(tmp_path, chat_server.url, count=1)).returncode == 0
    (trial,) = json.loads(cli("show", store, "--json").stdout)["trials"]
    shown = cli("show", store, trial["trial"]).stdout
    assert re.search(r"\d s · 10 tokens in, 5 tokens out *\n", shown)
    assert "cost -" in shown


@pytest.mark.deep
def test_what_a_limit_ended_is_told_by_run_and_compare(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    def decide(request: dict[str, Any]) -> Any:
        barred = not request.get("tools") or request.get("tool_choice") == "none"
        return reply("Answer: 0") if barred else reply("", ("double", {"number": 2}))

    chat_server.answers(decide)
    (tmp_path / "doubling.py").write_text(TOOL, encoding="utf-8")
    plan = endpoint_plan(tmp_path, chat_server.url, count=3, model="[budget]\nturns = 2")
    tools = "['none', { name = 'c', base = 'none', tools = ['doubling:double'] }]"
    plan.write_text(plan.read_text(encoding="utf-8").replace("['none']", tools), encoding="utf-8")
    ran = cli("run", plan)
    assert "Limits reached: c: turns 3." in ran.stdout, ran.stdout + ran.stderr
    assert "Limits reached: c: turns 3." in cli("compare", store).stdout
    (row,) = json.loads(cli("compare", store, "--json").stdout)["comparisons"]
    assert (row["baseline_budget"], row["budget"], row["limits"]) == (0, 3, {"turns": 3})
    assert cli("verify", store).returncode == 0
    with closing(sqlite3.connect(store)) as opened, opened:
        opened.execute("UPDATE traces SET ran_out = 'tokens' WHERE ran_out = 'turns'")
    assert "does not match its events" in cli("verify", store).stdout.replace("\n", " ")


def test_a_replay_that_lacks_replies_says_to_record_them_and_not_to_try_again(
    chat_server: ChatServer, tmp_path: Path, cli: Cli
) -> None:
    chat_server.answers(lambda request: reply("Answer: 0"))
    plan = endpoint_plan(tmp_path, chat_server.url, count=2, model="[replies]\nmode = 'record'")
    assert cli("run", plan).returncode == 0
    endpoint_plan(tmp_path, chat_server.url, count=3, model="[replies]\nmode = 'replay'")
    ran = cli("run", plan, "--store", tmp_path / "replayed.sqlite")
    said = " ".join(ran.stdout.split())
    assert ran.returncode == 1
    assert '1 of 3 trials lack replies that were never recorded: record them (replies.mode = "record")' in said
    assert "tries them again" not in said
    assert "infrastructure" not in said


def test_a_refusal_names_no_key_that_is_filled_in(tmp_path: Path, cli: Cli) -> None:
    told = cli("run", endpoint_plan(tmp_path, "http://127.0.0.1:9/v1", count=1, model="price = { inptu = 1 }")).stderr
    assert "(allowed: cache_write, cached_input, calls, input, output, tiers)" in " ".join(told.split())
    told = cli("run", endpoint_plan(tmp_path, "http://127.0.0.1:9/v1", count=1, model="pirce = 1")).stderr
    assert "timeout_seconds, tokens_per_minute)" in " ".join(told.split())


def test_a_list_of_one_trial_says_how_to_read_it(write_plan: WritePlan, cli: Cli, store: Path) -> None:
    plan = write_plan({("q1", "none"): answered()}, conditions="['none']")
    cli("run", plan, "--limit", "1")
    *_, count, how = cli("show", store).stdout.splitlines()
    assert count == "1 trial."
    assert how == f"Read one: toolablate show {store} TRIAL"
