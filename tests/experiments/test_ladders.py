"""`toolablate ladder` on stores that real runs filled."""

import csv
import json
from pathlib import Path

import pytest
from tests.experiments.conftest import Cli

from toolablate.experiments.comparing import read_paired
from toolablate.experiments.ladders import ladder_view, read_ladders
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
    told = cli("ladder", store, "--csv", tmp_path / "l.csv", "--plot", tmp_path / "l.svg")
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
    with (tmp_path / "l.csv").open(encoding="utf-8") as lines:
        assert [line["kind"] for line in csv.DictReader(lines)] == ["rung"] * 5 + ["total", "bound", "bound"]
    assert (tmp_path / "l.svg").read_bytes().startswith(b"<?xml")
    observations = read_paired(store).observations
    assert ladder_view(store, observations) is not None
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


def test_conditions_without_a_ladder_show_one_rung_and_none_at_the_end_of_a_run(cli: Cli, tmp_path: Path) -> None:
    store = ran(cli, tmp_path, 'conditions = ["none", "scaffold", "python"]')
    (waterfall,) = json.loads(cli("ladder", store, "--json").stdout)["waterfalls"]
    rungs = [rung["name"] for rung in waterfall["rungs"]]
    assert rungs == ["prompt", "availability + calling + irrelevant content + real content"]
    told = " ".join(cli("ladder", store).stdout.split())
    assert 'ladder = ["python"] in a plan runs the arms that are missing.' in told
    assert ladder_view(store, read_paired(store).observations) is None


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        ('conditions = ["none", "scaffold"]', "no condition has tools that the model may call (none, scaffold)"),
        ('conditions = ["scaffold", "python"]', "no ladder of python"),
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


def test_ends_of_a_ladder_that_no_model_has_both_of_are_named(cli: Cli, tmp_path: Path) -> None:
    ran(cli, tmp_path, 'conditions = ["none"]')
    other = PLAN.format(conditions='conditions = ["python"]').replace('"trusting"', '"another"')
    (tmp_path / "plan.toml").write_text(other, encoding="utf-8")
    assert cli("run", tmp_path / "plan.toml", "--store", tmp_path / "s.sqlite").returncode == 0
    with pytest.raises(InputError, match="No model has ended trials under both ends of a ladder: none and python"):
        read_ladders(tmp_path / "s.sqlite", run="all")


def test_what_cannot_be_drawn_is_refused_before_anything_is_read(cli: Cli, tmp_path: Path) -> None:
    found = cli("ladder", tmp_path / "nothing.sqlite", "--plot", "figure.bmp")
    assert found.returncode == 2
    assert "Allowed: .svg, .png, .pdf." in found.stderr
