"""References that a model maps to the items of a checklist, over real HTTP, and the page on which people correct them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.benchmarks.clear.judging import judged
from tests.experiments.judged import judge_at
from tests.servers.chat_server import ChatServer, Hang, Status, reply

from toolablate.benchmarks.clear.corrections import corrections_told, read_corrections
from toolablate.cli import group

TASKS = """
[MINE]
domain = "chemistry"
prompt = "Describe:"
[MINE.items]
Origin = "Where it comes from."
Use = "What it is for."
Colour = ""
"""
ROWS = [
    {
        "id": "MINE-a-1/2",
        "input": "CCO",
        "raw_human_reference": "Origin: yeast\nUse: a <b>solvent</b> & fuel",
        "more": [1],
    },
    {"id": "MINE-a-1/3", "input": "C", "raw_human_reference": "Colour: none\nOrigin: 甲烷"},
]
CALLS = 6


def prepared(folder: Path, url: str, more: str = "concurrency = 1", section: str = "") -> list[str]:
    (folder / "raw.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    (folder / "tasks.toml").write_text(TASKS, encoding="utf-8")
    plan = f"conditions = ['none']\n{section}\n[runner]\nattempts = 1\n{judge_at(url, more=more)}"
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    files = {"--plan": "plan.toml", "--tasks": "tasks.toml", "-o": "mapped.jsonl"}
    return [
        "clear",
        "map",
        str(folder / "raw.jsonl"),
        *(part for name, file in files.items() for part in (name, str(folder / file))),
    ]


def contained(request: dict[str, Any]) -> Any:
    return reply(judged(request["messages"]))


def mapped(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "mapped.jsonl").read_text(encoding="utf-8").splitlines()]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(group, arguments)


def test_references_are_mapped_corrected_and_imported(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(contained)
    command = prepared(tmp_path, chat_server.url)
    made = invoke(*command)
    assert made.exit_code == 0, made.output
    assert len(chat_server.requests) == CALLS
    first, second = mapped(tmp_path)
    assert first == ROWS[0] | {
        "human_reference_checklist": {"Origin": "yeast", "Use": "a <b>solvent</b> & fuel", "Colour": "N/A"}
    }
    assert second["human_reference_checklist"] == {"Origin": "甲烷", "Use": "N/A", "Colour": "none"}
    assert invoke(*command).exit_code == 0
    assert len(chat_server.requests) == CALLS, "all of it was paid for already"

    page = (tmp_path / "mapped.html").read_text(encoding="utf-8")
    assert "<b>solvent" not in page
    lines = [json.loads(unescape(found)) for found in re.findall(r'data-line="([^"]*)"', page)]
    assert lines[1] == {"id": "MINE-a-1/2", "item": "Use", "mapped": "a <b>solvent</b> & fuel"}
    said = [
        lines[1] | {"text": "a solvent", "faithful": True, "complete": False, "person": "Ada"},
        lines[2] | {"text": "N/A", "faithful": True, "complete": True, "person": "Ada"},
        lines[4] | {"text": "n/a", "faithful": False, "person": "Ada"},
        lines[0] | {"text": " ", "person": "Ada"},
    ]
    corrections = tmp_path / "mapped.corrections.jsonl"
    corrections.write_text("".join(f"{json.dumps(line)}\n" for line in said), encoding="utf-8")
    brought = invoke(
        "clear", "import", str(tmp_path / "mapped.jsonl"), "--tasks", str(tmp_path / "tasks.toml"),
        "--corrections", str(corrections), "-o", str(tmp_path / "questions.jsonl"),
    )  # fmt: skip
    assert brought.exit_code == 0, brought.output
    assert (
        "2 items corrected; faithful as mapped: 66.7 % (95 % interval 0.0 .. 100.0) of 3 items; complete as mapped: 50.0 %"
        in brought.output
    )
    question = json.loads((tmp_path / "questions.jsonl").read_text(encoding="utf-8").splitlines()[0])
    references = {item["name"]: item.get("reference") for item in question["target"]["items"]}
    assert references == {"Origin": None, "Use": "a solvent", "Colour": None}
    assert question["rubric"]["reference"] == ROWS[0]["raw_human_reference"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"id": "MINE-9", "item": "Use", "mapped": "x", "text": "y"}, 'c.jsonl:1: no row has the id "MINE-9"'),
        ({"id": "MINE-1", "item": "Uses", "mapped": "x", "text": "y"}, 'has no item "Uses"'),
        ({"id": "MINE-1", "item": "Use", "mapped": "other", "text": "y"}, "was corrected when it had another text"),
        ({"id": "MINE-1", "item": "Use", "mapped": "x", "text": "y", "faithful": "yes"}, "'faithful' must be true or false"),
    ],
)  # fmt: skip
def test_corrections_that_fit_no_row(tmp_path: Path, line: dict[str, Any], told: str) -> None:
    row = {"id": "MINE-1", "input": "i", "human_reference_checklist": {"Use": "x"}}
    for name, content in (("rows", row), ("c", line)):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(content), encoding="utf-8")
    (tmp_path / "tasks.toml").write_text("[MINE]\nprompt = 'p'", encoding="utf-8")
    result = invoke(
        "clear", "import", str(tmp_path / "rows.jsonl"), "--tasks", str(tmp_path / "tasks.toml"),
        "--corrections", str(tmp_path / "c.jsonl"), "-o", str(tmp_path / "q.jsonl"),
    )  # fmt: skip
    assert told in str(result.exception)


def test_shares_of_corrections_have_intervals_by_references(tmp_path: Path) -> None:
    rows = [{"id": f"M-{n}", "human_reference_checklist": {"A": "x", "B": "y"}} for n in range(20)]
    lines = [
        {"id": f"M-{n}", "item": item, "mapped": text, "text": text, "faithful": n % 4 > 0}
        for n in range(20)
        for item, text in (("A", "x"), ("B", "y"))
    ]
    for name, content in (("rows", rows), ("c", lines)):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in content), encoding="utf-8")
    found = read_corrections(tmp_path / "rows.jsonl", tmp_path / "c.jsonl")
    assert (found.faithful.items, found.faithful.share.value, found.complete.share.value) == (40, 0.75, None)
    assert found.faithful.share.ci95 is not None
    low, high = found.faithful.share.ci95
    assert high - low > 0.3, "of 20 references, not of 40 items"
    assert "faithful as mapped: 75.0 % (95 % interval " in corrections_told(found)


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("raw.jsonl", "-o"),
        ("plan.toml", "-o"),
        ("tasks.toml", "--page"),
        ("mapped.jsonl", "--page"),
        ("raw.jsonl", "--calls"),
    ],
)
def test_no_file_is_written_over_another(tmp_path: Path, name: str, option: str) -> None:
    command = prepared(tmp_path, "http://127.0.0.1:9")
    result = invoke(*command, option, str(tmp_path / name))
    assert f"{option}: {tmp_path / name} is " in str(result.exception)
    assert not (tmp_path / "mapped.jsonl").exists()


def test_an_outage_is_no_silence_and_an_unread_reply_is_asked_again_then_told(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    failing = True

    def sometimes(request: dict[str, Any]) -> Any:
        content = request["messages"][1]["content"]
        if "甲烷" in content and failing:
            return Status(500)
        return reply("I would rather not.") if "solvent" in content else contained(request)

    chat_server.answers(sometimes)
    command = prepared(tmp_path, chat_server.url, section="[judging]\nmapping = 'once'\nasks = 2")
    first = invoke(*command)
    assert first.exit_code == 1
    assert mapped(tmp_path) == []
    assert "1 reference not mapped yet" in first.stderr
    failing = False
    again = invoke(*command)
    assert again.exit_code == 1
    assert [row["id"] for row in mapped(tmp_path)] == ["MINE-a-1/3"]
    assert "MINE-a-1/2: not mapped: the mapper's last of 2 replies cannot be read" in again.stderr
    unread = [request for request in chat_server.requests if "solvent" in request["messages"][1]["content"]]
    assert len(unread) == 2, "what was paid for is not asked again"


def test_a_second_mapper_pays_for_its_own_and_all_at_once_is_one_request(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    chat_server.answers(contained)
    command = prepared(tmp_path, chat_server.url, section="[judging]\nmapping = 'once'")
    with (tmp_path / "plan.toml").open("a") as plan:
        plan.write(judge_at(chat_server.url, "k"))
    assert invoke(*command).exit_code == 0
    assert invoke(*command, "--mapper", "k").exit_code == 0
    assert [request["model"] for request in chat_server.requests] == ["j", "j", "k", "k"]
    unknown = invoke(*command, "--mapper", "l")
    assert "--mapper l: the plan has no such judge" in str(unknown.exception)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"id": "T02LegalSOF-1", "raw_human_reference": "x"}, "defines no items"),
        ({"id": "MINE-1", "raw_human_reference": None}, "there is nothing to map"),
        ({"id": "MINE-1"}, "'raw_human_reference' is missing"),
        ({"id": "OTHER-1", "raw_human_reference": "x"}, "is of no known task"),
    ],
)
def test_rows_that_cannot_be_mapped(tmp_path: Path, row: dict[str, Any], told: str) -> None:
    command = prepared(tmp_path, "http://127.0.0.1:9")
    (tmp_path / "raw.jsonl").write_text(json.dumps(row), encoding="utf-8")
    result = invoke(*command)
    assert "raw.jsonl:1: " in str(result.exception)
    assert told in str(result.exception)


@pytest.mark.deep
@pytest.mark.parametrize("heard", range(CALLS))
def test_killed_while_it_maps_only_what_waited_is_asked_again(
    chat_server: ChatServer, tmp_path: Path, heard: int
) -> None:
    held = True

    def stuck(request: dict[str, Any]) -> Any:
        return Hang() if held and len(chat_server.requests) > heard else contained(request)

    chat_server.answers(stuck)
    command = prepared(tmp_path, chat_server.url)
    process = subprocess.Popen([sys.executable, "-m", "toolablate", *command], cwd=tmp_path)
    while len(chat_server.requests) <= heard:
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    held = False
    assert invoke(*command).exit_code == 0
    assert len(chat_server.requests) == CALLS + 1
    assert len(mapped(tmp_path)) == len(ROWS)
