"""`compare` by the real command line, on stores of real runs."""

import csv
import json
from pathlib import Path
from typing import Any

from tests.conftest import Cli, WritePlan
from tests.experiments.plan_files import answered, endpoint_plan, right
from tests.servers.chat_server import ChatServer, Json, reply
from tests.viewer.keeping.reading import read_findings


def test_groups_noise_and_corrections_of_a_run_with_repeats(write_plan: WritePlan, cli: Cli, store: Path) -> None:
    questions = [
        {"id": f"q{n}", "prompt": f"{n} + {n}?", "domain": "sums", "target": {"kind": "number", "value": 2 * n}}
        for n in (1, 2)
    ]
    replies = {
        (question, condition): answered(f"Answer: {2 if condition == 'none' else 4}")
        for question in ("q1", "q2")
        for condition in ("none", "scaffold")
    }
    conditions = "['none', { name = 'scaffold', prompt = 'Think.' }]"
    ran = cli("run", write_plan(replies, conditions=conditions, questions=questions, extra="repeats = 3"))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "noise" in ran.stdout
    page = [line.split() for line in cli("compare", store).stdout.splitlines() if line.strip()]
    assert page[0] == ["Scores", "in", "percent;", "the", "baseline", "is", "none"]
    assert page[1] == ["model", "n", "none", "scaffold"]
    assert page[3][1:] == ["2", "50.0", "50.0"]
    assert "harmed" not in ran.stdout
    assert "harmed" not in cli("compare", store).stdout
    assert "Look so in half of their repeats" in cli("compare", store, "--harm").stdout
    table = store.parent / "tables" / "of today" / "table.csv"  # in folders that are not there yet
    told = cli("compare", store, "--by", "kind", "--by", "domain", "--json", "--csv", table)
    rows = json.loads(told.stdout)["comparisons"]
    assert [(row["by"], row["group"]) for row in rows] == [(None, None), ("kind", "number"), ("domain", "sums")]
    assert [row["p_holm"] for row in rows] == [1.0] * 3
    assert (rows[0]["flips_right_to_wrong"], rows[0]["noise_flips"], rows[0]["small"]) == (1.0, 0.0, True)
    assert rows[0]["harm"]["harmed"]["low"] == 0.5
    with table.open(encoding="utf-8") as opened:
        assert [row["harmed_share_low"] for row in csv.DictReader(opened)] == ["0.5", "", ""]
    flips = cli("compare", store, "--flips")
    assert "scaffold 2 1.0 1.0 0.0 2" in " ".join(flips.stdout.replace("none", "").split())
    floors = json.loads(cli("compare", store, "--flips", "--json").stdout)["floors"]
    assert [floor["chance"]["noise_flips"] for floor in floors] == [0.0]
    refused = cli("compare", store, "--by", "colour")
    assert refused.returncode == 2
    assert "'domain', 'difficulty', 'language', 'kind'" in refused.stderr
    refused = cli("compare", store, "--flips", "--harm")
    assert refused.returncode == 2
    assert "--flips goes without" in refused.stderr

    _refuses_what_would_spoil_the_store(cli, store)


def _refuses_what_would_spoil_the_store(cli: Cli, store: Path) -> None:
    before = store.read_bytes()
    linked = store.parent / "linked.csv"
    linked.symlink_to(store)
    for path in (store, linked):
        refused = cli("compare", store, "--csv", path)
        assert refused.returncode == 2
        assert "is a store and would be overwritten" in " ".join(refused.stderr.split())
    refused = cli("compare", store, "--csv", store / "folder" / "table.csv")
    assert refused.returncode == 2
    assert "--csv: cannot make the folder" in " ".join(refused.stderr.split())
    assert "Traceback" not in refused.stderr
    for beside in ("-wal", "-shm", "-recorder-1"):
        refused = cli("compare", store, "--csv", f"{store}{beside}")
        assert refused.returncode == 2
        assert "belongs to a store" in " ".join(refused.stderr.split())
    assert store.read_bytes() == before
    negative = cli("compare", store, "--seed", "-1")
    assert negative.returncode == 2
    assert "Traceback" not in negative.stderr


TOOL = """
from toolablate.tools import tool

@tool
def double(number: int) -> int:
    \"\"\"Doubles a number.\"\"\"
    return 2 * number
"""
REFUSED = [
    "none: m called tools that it was not offered in 2 of 3 trials (4 calls: python 3, <b>search</b> 1); its turns went"
    " to them.",
    "barred: m called tools that were offered and may not be called in 3 of 3 trials (3 calls: double 3); its turns"
    " went to them.",
]


def _invents(request: dict[str, Any]) -> Json:
    """Without tools q0 and q1 call some all the same; with one the first call does not fit it."""
    number, offered = int(request["messages"][0]["content"].split()[1]), "tools" in request
    called = sum(message["role"] == "tool" for message in request["messages"])
    if request.get("tool_choice") == "none":
        calls = [("double", {"number": 2})][called:]
    elif offered:
        calls = [("double", {"n": 2}), ("double", {"number": 2})][called : called + 1]
    else:
        invented = {0: [("python", {"code": "1"}), ("<b>search</b>", "{"), ("python", {})], 1: [("python", {})]}
        calls = invented.get(number, [])[called : called + 1]
    return reply("" if calls else f"Answer: {number}", *calls)


def test_calls_of_tools_that_were_not_offered_are_warned_of(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(_invents)
    (tmp_path / "doubling.py").write_text(TOOL, encoding="utf-8")
    plan = endpoint_plan(tmp_path, chat_server.url, count=3)
    tools = "base = 'none', tools = ['doubling:double']"
    arms = f"['none', {{ name = 'c', {tools} }}, {{ name = 'barred', {tools}, tool_choice = 'none' }}]"
    plan.write_text(plan.read_text(encoding="utf-8").replace("['none']", arms), encoding="utf-8")
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    compared, verified = cli("compare", store), cli("verify", store)
    assert verified.returncode == 0, verified.stdout
    for told in (ran, compared, verified):
        said = " ".join(told.stdout.split())
        assert " ".join(f"Warning: {each}" for each in REFUSED) in said
        assert "see docs/conditions.md" in said
    assert compared.stdout.index("What each figure means") < compared.stdout.index("Warning")
    rows = [json.loads(cli(command, store, "--json").stdout)["refused_calls"] for command in ("compare", "verify")]
    assert rows[0] == rows[1]
    assert [(row["condition"], row["why"], row["called_in"], row["trials"], row["calls"]) for row in rows[0]] == [
        ("none", "unknown_tool", 2, 3, 4),
        ("barred", "not_allowed", 3, 3, 3),
    ]
    assert list(rows[0][0]["tools"].items()) == [("python", 3), ("<b>search</b>", 1)]
    assert read_findings(store).notes[:2] == tuple(REFUSED)
    page = cli("report", store, "--output", tmp_path / "report.html")
    assert page.returncode == 0, page.stderr
    assert "python 3, &lt;b&gt;search&lt;/b&gt; 1" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_nothing_is_said_where_every_call_was_of_a_tool_that_was_offered(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(right)
    assert cli("run", endpoint_plan(tmp_path, chat_server.url, count=2)).returncode == 0
    assert "Warning" not in cli("compare", store).stdout + cli("verify", store).stdout
    assert json.loads(cli("verify", store, "--json").stdout)["refused_calls"] == []
