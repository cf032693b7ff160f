"""`toolablate ladder` on stores that real runs filled."""

import asyncio
import csv
import json
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.experiments.rerun import again

from toolablate.analysis.from_store import read_ladders, read_paired, waterfalls_of
from toolablate.traces.errors import InputError
from toolablate.traces.store import Store

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


def test_a_ladder_is_read_from_a_store_in_every_form(cli: Cli, tmp_path: Path) -> None:
    store = ran(cli, tmp_path, WHOLE)
    table, figure = tmp_path / "tables" / "l.csv", tmp_path / "figures" / "new" / "l.svg"
    told = cli("ladder", store, "--csv", table, "--plot", figure)
    assert told.returncode == 0, told.stderr
    page = " ".join(told.stdout.split())
    assert "trusting ladder of python over 4 questions" in page
    assert "SIMULATED" in page
    assert "Shapley values over 4 questions" in page
    (waterfall,) = json.loads(cli("ladder", store, "--json").stdout)["waterfalls"]
    assert len(waterfall["arms"]) == 6
    assert [each["name"] for each in waterfall["bounds"]] == ["oracle", "adversarial"]
    assert sum(rung["points"] for rung in waterfall["rungs"]) == pytest.approx(waterfall["total"]["points"], abs=1e-9)
    values = waterfall["shapley"]["values"]
    assert sum(each["points"] for each in values) == pytest.approx(waterfall["shapley"]["total"], abs=1e-9)
    with table.open(encoding="utf-8") as lines:
        assert [line["kind"] for line in csv.DictReader(lines)] == ["rung"] * 5 + ["total", "bound", "bound"]
    assert figure.read_bytes().startswith(b"<?xml")
    observations = read_paired(store).observations
    assert [each.toolset for each in waterfalls_of(store, observations)] == ["python"]
    # Labels lead to the conditions that they stand for, also where a name is shared.
    with Store(store) as opened:
        found = opened.conditions_of(observations)
        assert {label: each.name for label, each in found.items()} == {label: label for label in found}
        assert set(found) == {seen.condition for seen in observations}
    other = PLAN.format(conditions=f"budget.turns = 3\n{WHOLE}")
    (tmp_path / "plan.toml").write_text(other, encoding="utf-8")
    assert cli("run", tmp_path / "plan.toml", "--store", store).returncode == 0
    both = read_ladders(store, run="all")
    assert len(both.ladders) == 2
    assert {len(each.arms) for each in both.ladders} == {6}
    assert all("@" in label for each in both.ladders for label in each.arms.values())


def test_run_and_ladder_show_the_same_ladders(cli: Cli, tmp_path: Path) -> None:
    """A condition with tools of which no arm was run has none, and is in no correction."""
    shouting = 'conditions = [{ name = "shouting", base = "python", prompt = "ANSWER!" }]'
    store = ran(cli, tmp_path, f'ladder = ["python"]\n{shouting}')
    found = json.loads(cli("ladder", store, "--json").stdout)["waterfalls"]
    assert [(each["ladder"], each["comparisons"]) for each in found] == [("python", 8)]
    told = cli("ladder", store).stdout
    ended = cli("run", tmp_path / "plan.toml", "--store", store).stdout
    assert "corrected for the 8 comparisons" in " ".join(told.split())
    assert "corrected for the 8 comparisons" in " ".join(ended.split())


def test_ladders_can_be_picked(cli: Cli, tmp_path: Path) -> None:
    store = ran(cli, tmp_path, 'ladder = ["python", "search"]\nsearch = { provider = "corpus", corpus = "builtin" }')
    shown = [json.loads(cli("ladder", store, "--json", *picked).stdout)["waterfalls"]
             for picked in ([], ["--toolset", "search"], ["--model", "trusting", "--toolset", "python"])]  # fmt: skip
    assert [[each["ladder"] for each in found] for found in shown] == [["python", "search"], ["search"], ["python"]]
    # Two share the prompt; what is not shown is not corrected for.
    assert [found[0]["comparisons"] for found in shown] == [15, 8, 8]
    for option, there in (("--toolset", "Those that are there: python, search."), ("--model", "trusting")):
        refused = cli("ladder", store, option, "gpt-9")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"{option}: there is no ladder of 'gpt-9'" in refused.stderr
        assert there in refused.stderr


def test_a_store_is_never_written_over(cli: Cli, tmp_path: Path) -> None:
    store = ran(cli, tmp_path, 'ladder = ["python"]')
    (tmp_path / "s.svg").symlink_to(store)
    before = store.read_bytes()
    for option, path in (("--csv", store), ("--csv", tmp_path / "s.svg"), ("--plot", tmp_path / "s.svg")):
        refused = cli("ladder", store, option, path)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "is a store and would be overwritten" in " ".join(refused.stderr.split())
    for option in ("--csv", "--plot"):
        refused = cli("ladder", store, option, store / "folder" / "f.svg")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"{option}: cannot make the folder" in " ".join(refused.stderr.split())
    assert store.read_bytes() == before
    seeded = cli("ladder", store, "--seed", "-1")
    assert (seeded.returncode, seeded.stdout) == (2, "")
    assert "Traceback" not in seeded.stderr


def test_it_is_said_that_trials_ran_on_other_kernels(cli: Cli, tmp_path: Path) -> None:
    store = ran(cli, tmp_path, 'ladder = ["python"]')
    assert "Warning" not in cli("ladder", store).stderr
    asyncio.run(again(store, numpy="1.0"))
    told = cli("ladder", store)
    assert told.returncode == 0, told.stderr
    assert "Warning: the trials' code did not all run on the same kernel" in " ".join(told.stderr.split())


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
    found = cli("ladder", store)
    assert (found.returncode, found.stdout) == (2, "")
    assert "Traceback" not in found.stderr


def test_a_name_that_is_none_is_told_where_there_is_no_ladder(cli: Cli, tmp_path: Path) -> None:
    store = ran(cli, tmp_path, 'conditions = ["none", "python"]')
    for option, typed, what, known in (
        ("--toolset", "pyhton", "condition", "did you mean 'python'?"),
        ("--toolset", "gpt-9", "condition", "there are none, python"),
        ("--model", "trustign", "model", "did you mean 'trusting'?"),
    ):
        refused = cli("ladder", store, option, typed)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"{option}: no ended trial has the {what} {typed!r}" in refused.stderr
        assert known in refused.stderr
    assert "There is no ladder of python" in cli("ladder", store, "--toolset", "python").stderr


def test_ends_of_a_ladder_that_no_model_has_both_of_are_named(cli: Cli, tmp_path: Path) -> None:
    ran(cli, tmp_path, 'conditions = ["none"]')
    other = PLAN.format(conditions='conditions = ["python:sham", "python"]').replace('"trusting"', '"another"')
    (tmp_path / "plan.toml").write_text(other, encoding="utf-8")
    assert cli("run", tmp_path / "plan.toml", "--store", tmp_path / "s.sqlite").returncode == 0
    with pytest.raises(
        InputError, match="No model has ended trials under both ends of a ladder, and an arm between: none and python"
    ):
        read_ladders(tmp_path / "s.sqlite", run="all")


def test_what_cannot_be_drawn_is_refused_before_anything_is_read(cli: Cli, tmp_path: Path) -> None:
    found = cli("ladder", tmp_path / "nothing.sqlite", "--plot", "figure.bmp")
    assert found.returncode == 2
    assert "Allowed: .svg, .png, .pdf." in found.stderr
