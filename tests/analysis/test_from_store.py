"""`compare` by the real command line, on stores of real runs."""

import asyncio
import csv
import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli, WritePlan
from tests.experiments.plan_files import answered, endpoint_plan, right
from tests.experiments.rerun import again
from tests.servers.chat_server import ChatServer, Json, reply
from tests.viewer.keeping.reading import read_findings

from toolablate.analysis.from_store import read_paired, scorer_meant
from toolablate.analysis.ladder import read_ladders, waterfalls_of
from toolablate.traces.errors import InputError
from toolablate.traces.store import Store


@pytest.mark.deep
def test_groups_noise_and_corrections_of_a_run_with_repeats(write_plan: WritePlan, cli: Cli, store: Path) -> None:
    questions = [
        {
            "id": f"q{n}",
            "prompt": f"{n} + {n}?",
            "domain": "sums",
            "metadata": {"fields": ["of twos", f"of {n}"], "n": n, "more": {"deep": 1}, "none": None},
            "target": {"kind": "number", "value": 2 * n},
        }
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
    told = cli("compare", store, "--by", "metadata.fields", "--by", "metadata.n,kind", "--json")
    groups = [(row["group"], row["questions"]) for row in json.loads(told.stdout)["comparisons"][1:]]
    assert groups == [("of 1", 1), ("of 2", 1), ("of twos", 2), ("1 × number", 1), ("2 × number", 1)]
    with table.open(encoding="utf-8") as opened:
        assert [row["harmed_share_low"] for row in csv.DictReader(opened)] == ["0.5", "", ""]
    flips = cli("compare", store, "--flips")
    assert "scaffold 2 1.0 1.0 0.0 2" in " ".join(flips.stdout.replace("none", "").split())
    floors = json.loads(cli("compare", store, "--flips", "--json").stdout)["floors"]
    assert [floor["chance"]["noise_flips"] for floor in floors] == [0.0]
    refused = cli("compare", store, "--by", "colour")
    assert refused.returncode == 2
    assert "domain, difficulty, language, kind, metadata.KEY" in " ".join(refused.stderr.split())
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


@pytest.mark.deep
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


@pytest.mark.deep
def test_two_models_are_compared_under_each_condition(tmp_path: Path, cli: Cli) -> None:
    models = "".join(
        f"[[models]]\nprovider = 'simulated'\nname = '{name}'\nability = {ability}\n"
        for name, ability in (("off", 0.1), ("on", 1.0))
    )
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"conditions = ['none', 'scaffold']\n[questions]\nfile = 'builtin'\nlimit = 5\n{models}", encoding="utf-8"
    )
    assert cli("run", plan).returncode == 0
    store = tmp_path / "runs/plan.sqlite"
    told = cli("compare", store, "--models", "off", "on", "--json", "--csv", tmp_path / "t.csv")
    rows = json.loads(told.stdout)["comparisons"]
    assert [(row["condition"], row["baseline_model"], row["model"]) for row in rows] == [
        ("none", "off", "on"),
        ("scaffold", "off", "on"),
    ]
    assert all(row["score"] > row["baseline_score"] for row in rows)
    page = cli("compare", store, "--models", "off", "on", "--by", "kind").stdout
    assert "under scaffold  compared with off" in page
    for options, said in (
        (("--models", "off", "onn"), "did you mean 'on'?"),
        (("--models", "off", "off"), "are one"),
        (("--models", "off", "on", "--baseline", "none"), "--baseline goes without --models"),
        (("--models", "off", "on", "--ladder"), "--models goes without --ladder"),
    ):
        refused = cli("compare", store, *options)
        assert refused.returncode == 2
        assert said in " ".join(refused.stderr.split())


# A scorer may be named by as much of its name as tells it from the others.


FIRST, AGAIN = "judge[gpt-5@1a2b3c4d]", "judge[gpt-5@1a2b3c4d,again=1]"
STRANGE = "judge[an@odd,name=x]@0123abcd]"
KNOWN = ["choice", FIRST, AGAIN, "judge[m@00000000]", "judge[m@11111111]", "judge[choice@22222222]", STRANGE]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("choice", "choice"),
        (FIRST, FIRST),
        ("gpt-5", FIRST),
        ("judge[gpt-5]", FIRST),
        ("gpt-5@1a2b3c4d", FIRST),
        ("gpt-5,again=1", AGAIN),
        ("judge[gpt-5,again=1]", AGAIN),
        ("m@11111111", "judge[m@11111111]"),
        ("judge[choice]", "judge[choice@22222222]"),
        ("an@odd,name=x]", STRANGE),
        ("gpt", "gpt"),
        ("", ""),
    ],
)
def test_a_scorer_is_known_by_its_short_name(said: str, meant: str) -> None:
    assert scorer_meant(KNOWN, said) == meant


def test_a_name_that_stands_for_several_is_refused() -> None:
    with pytest.raises(InputError) as refused:
        scorer_meant(KNOWN, "judge[m]")
    assert (refused.value.code, "judge[m@00000000], judge[m@11111111]" in refused.value.hint) == (
        "several_scorers",
        True,
    )


# `toolablate compare --ladder` on stores that real runs filled.


PLAN = """
{conditions}
repeats = 2
[questions]
file = "builtin"
limit = 4
[[models]]
name = "trusting"
provider = "simulated"
playbook = "builtin"
"""
WHOLE = 'ladder = [{ name = "python", shapley = true }]'


def ran(cli: Cli, folder: Path, conditions: str) -> Path:
    plan = folder / "plan.toml"
    plan.write_text(PLAN.format(conditions=conditions), encoding="utf-8")
    found = cli("run", plan, "--store", folder / "s.sqlite")
    assert found.returncode == 0, found.stdout + found.stderr
    return folder / "s.sqlite"


@pytest.mark.deep
def test_a_ladder_is_read_from_a_store_in_every_form(cli: Cli, tmp_path: Path) -> None:
    store = ran(cli, tmp_path, WHOLE)
    table, figure = tmp_path / "tables" / "l.csv", tmp_path / "figures" / "new" / "l.svg"
    told = cli("compare", "--ladder", store, "--csv", table, "--plot", figure)
    assert told.returncode == 0, told.stderr
    page = " ".join(told.stdout.split())
    assert "trusting ladder of python over 4 questions" in page
    assert "SIMULATED" in page
    assert "Shapley values over 4 questions" in page
    (waterfall,) = json.loads(cli("compare", "--ladder", store, "--json").stdout)["waterfalls"]
    assert len(waterfall["arms"]) == 6
    assert [each["name"] for each in waterfall["bounds"]] == ["oracle", "adversarial"]
    assert sum(contrast["points"] for contrast in waterfall["contrasts"]) == pytest.approx(
        waterfall["total"]["points"], abs=1e-9
    )
    values = waterfall["shapley"]["values"]
    assert sum(each["points"] for each in values) == pytest.approx(waterfall["shapley"]["total"], abs=1e-9)
    with table.open(encoding="utf-8") as lines:
        assert [line["kind"] for line in csv.DictReader(lines)] == ["contrast"] * 5 + ["total", "bound", "bound"]
    assert figure.read_bytes().startswith(b"<?xml")
    summaries = read_paired(store).summaries
    assert [each.ladder for each in waterfalls_of(store, summaries)] == ["python"]
    # Labels lead to the conditions that they stand for, also where a name is shared.
    with Store(store) as opened:
        found = opened.conditions_of(summaries)
        assert {label: each.name for label, each in found.items()} == {label: label for label in found}
        assert set(found) == {seen.condition for seen in summaries}
    other = PLAN.format(conditions=f"budget.turns = 3\n{WHOLE}")
    (tmp_path / "plan.toml").write_text(other, encoding="utf-8")
    assert cli("run", tmp_path / "plan.toml", "--store", store).returncode == 0
    both = read_ladders(store, run="all")
    assert len(both.ladders) == 2
    assert {len(each.arms) for each in both.ladders} == {6}
    assert all("@" in label for each in both.ladders for label in each.arms.values())


@pytest.mark.deep
def test_run_and_ladder_show_the_same_ladders(cli: Cli, tmp_path: Path) -> None:
    """A condition with tools of which no arm was run has none, and is in no correction."""
    shouting = 'conditions = [{ name = "shouting", base = "python", prompt = "ANSWER!" }]'
    store = ran(cli, tmp_path, f'ladder = ["python"]\n{shouting}')
    found = json.loads(cli("compare", "--ladder", store, "--json").stdout)["waterfalls"]
    assert [(each["ladder"], each["comparisons"]) for each in found] == [("python", 8)]
    told = cli("compare", "--ladder", store).stdout
    ended = cli("run", tmp_path / "plan.toml", "--store", store).stdout
    assert "corrected for the 8 comparisons" in " ".join(told.split())
    assert "corrected for the 8 comparisons" in " ".join(ended.split())


@pytest.mark.deep
def test_ladders_can_be_picked(cli: Cli, tmp_path: Path) -> None:
    store = ran(cli, tmp_path, 'ladder = ["python", "search"]\nsearch = { provider = "corpus", corpus = "builtin" }')
    shown = [json.loads(cli("compare", "--ladder", store, "--json", *picked).stdout)["waterfalls"]
             for picked in ([], ["--toolset", "search"], ["--model", "trusting", "--toolset", "python"])]  # fmt: skip
    assert [[each["ladder"] for each in found] for found in shown] == [["python", "search"], ["search"], ["python"]]
    # Two share the prompt; what is not shown is not corrected for.
    assert [found[0]["comparisons"] for found in shown] == [15, 8, 8]
    for option, there in (("--toolset", "Those that are there: python, search."), ("--model", "trusting")):
        refused = cli("compare", "--ladder", store, option, "gpt-9")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"{option}: there is no ladder of 'gpt-9'" in refused.stderr
        assert there in refused.stderr


def test_a_store_is_never_written_over(cli: Cli, tmp_path: Path) -> None:
    store = ran(cli, tmp_path, 'ladder = ["python"]')
    (tmp_path / "s.svg").symlink_to(store)
    before = store.read_bytes()
    for option, path in (("--csv", store), ("--csv", tmp_path / "s.svg"), ("--plot", tmp_path / "s.svg")):
        refused = cli("compare", "--ladder", store, option, path)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "is a store and would be overwritten" in " ".join(refused.stderr.split())
    for option in ("--csv", "--plot"):
        refused = cli("compare", "--ladder", store, option, store / "folder" / "f.svg")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"{option}: cannot make the folder" in " ".join(refused.stderr.split())
    assert store.read_bytes() == before
    seeded = cli("compare", "--ladder", store, "--seed", "-1")
    assert (seeded.returncode, seeded.stdout) == (2, "")
    assert "Traceback" not in seeded.stderr


@pytest.mark.deep
def test_it_is_said_that_trials_ran_on_other_kernels(cli: Cli, tmp_path: Path) -> None:
    store = ran(cli, tmp_path, 'ladder = ["python"]')
    assert "Warning" not in cli("compare", "--ladder", store).stderr
    asyncio.run(again(store, numpy="1.0"))
    told = cli("compare", "--ladder", store)
    assert told.returncode == 0, told.stderr
    assert "Warning: the trials' code did not all run on the same kernel" in " ".join(told.stderr.split())


@pytest.mark.deep
@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        ('conditions = ["none", "scaffold"]', "no condition has tools that the model may call (none, scaffold)"),
        ('conditions = ["scaffold", "python"]', "no ladder of python"),
        ('conditions = ["none", "scaffold", "python"]', "no arm is between none and python to take its effect apart"),
        (
            'conditions = ["none", { name = "brief", base = "python", budget = { turns = 3 } }]',
            "with the same budget (none differs in turns)",
        ),
    ],
)
def test_a_store_without_a_ladder_says_what_to_write_into_the_plan(
    cli: Cli, tmp_path: Path, conditions: str, told: str
) -> None:
    store = ran(cli, tmp_path, conditions)
    with pytest.raises(InputError) as refused:
        read_ladders(store)
    assert told in str(refused.value)
    assert "ladder = [" in refused.value.hint
    found = cli("compare", "--ladder", store)
    assert (found.returncode, found.stdout) == (2, "")
    assert "Traceback" not in found.stderr


@pytest.mark.deep
def test_a_name_that_is_none_is_told_where_there_is_no_ladder(cli: Cli, tmp_path: Path) -> None:
    store = ran(cli, tmp_path, 'conditions = ["none", "python"]')
    for option, typed, what, known in (
        ("--toolset", "pyhton", "condition", "did you mean 'python'?"),
        ("--toolset", "gpt-9", "condition", "there are none, python"),
        ("--model", "trustign", "model", "did you mean 'trusting'?"),
    ):
        refused = cli("compare", "--ladder", store, option, typed)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"{option}: no ended trial has the {what} {typed!r}" in refused.stderr
        assert known in refused.stderr
    assert "There is no ladder of python" in cli("compare", "--ladder", store, "--toolset", "python").stderr


@pytest.mark.deep
def test_ends_of_a_ladder_that_no_model_has_both_of_are_named(cli: Cli, tmp_path: Path) -> None:
    ran(cli, tmp_path, 'conditions = ["none"]')
    other = PLAN.format(conditions='conditions = ["python:sham", "python"]').replace('"trusting"', '"another"')
    (tmp_path / "plan.toml").write_text(other, encoding="utf-8")
    assert cli("run", tmp_path / "plan.toml", "--store", tmp_path / "s.sqlite").returncode == 0
    with pytest.raises(
        InputError,
        match="No ladder is complete: no model has finished trials under both of its ends and an arm between: none and python",
    ):
        read_ladders(tmp_path / "s.sqlite", run="all")


def test_what_cannot_be_drawn_is_refused_before_anything_is_read(cli: Cli, tmp_path: Path) -> None:
    found = cli("compare", "--ladder", tmp_path / "nothing.sqlite", "--plot", "figure.bmp")
    assert found.returncode == 2
    assert "Allowed: .svg, .png, .pdf." in found.stderr
