"""`toolablate power`: what a plan's design can see, from assumed and from measured variances."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.conftest import Cli, WritePlan

from toolablate.analysis.power import Aim, PairedDesign
from toolablate.experiments.plans.plan import load_plan
from toolablate.experiments.power import Assumed, plan_design, plan_power
from toolablate.traces.errors import InputError

SIMULATED = """
conditions = ["none", "scaffold"]
repeats = {repeats}
store = "{store}"

[questions]
file = "builtin"

[[models]]
provider = "simulated"
playbook = "builtin"
name = "steady"
seed = 1
ability = 0.85
confidence = 3.0
"""


def questions(count: int, *, clusters: Sequence[str] = ()) -> list[dict[str, object]]:
    asked = [{"id": f"q{n}", "prompt": f"{n}?", "target": {"kind": "number", "value": n}} for n in range(count)]
    return [{**each, "cluster": cluster} for each, cluster in zip(asked, clusters or [""] * count, strict=True)]


def test_the_design_is_read_from_the_plan(write_plan: WritePlan) -> None:
    asked = questions(7, clusters=["a", "a", "a", "b", "b", "", ""])
    plan = write_plan({}, questions=asked, conditions='["none", "scaffold", "python"]', extra="repeats = 4")
    found = plan_design(load_plan(plan)[0])
    assert found == PairedDesign(questions=7, clusters=4, design_effect=15 / 7, repeats=4, comparisons=2)


def test_a_plan_of_one_condition_compares_nothing(write_plan: WritePlan) -> None:
    with pytest.raises(InputError, match="found one, 'none'; a comparison needs two"):
        plan_power(load_plan(write_plan({}, conditions='["none"]'))[0], Aim())


@pytest.mark.parametrize(
    ("aim", "assumed", "told"),
    [
        (Aim(alpha=0), Assumed(), "--alpha: found 0; allowed is between 0 and 1"),
        (Aim(alpha=math.nan), Assumed(), "--alpha: found nan"),
        (Aim(power=1), Assumed(), r"--power: found 1; allowed is between --alpha \(0.05\) and 1"),
        (Aim(power=0.01), Assumed(), "--power: found 0.01"),
        (Aim(effect_points=0), Assumed(), "--effect: found 0; allowed is from 0.01 to 100 points"),
        (Aim(effect_points=1e-300), Assumed(), "--effect: found 1e-300"),
        (Aim(effect_points=math.inf), Assumed(), "--effect: found inf"),
        (Aim(), Assumed(between=-0.1), "--between: found -0.1; allowed is from 0 to 1"),
        (Aim(), Assumed(within=0.3), "--within: found 0.3; allowed is from 0 to 0.25"),
        (Aim(), Assumed(0, 0), "found 0 for both"),
    ],
)
def test_figures_out_of_range_are_refused(write_plan: WritePlan, aim: Aim, assumed: Assumed, told: str) -> None:
    with pytest.raises(InputError, match=told):
        plan_power(load_plan(write_plan({}))[0], aim, assumed=assumed)


def test_power_runs_nothing_and_needs_no_key(cli: Cli, tmp_path: Path) -> None:
    lines = (json.dumps(each) for each in questions(430))
    (tmp_path / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "conditions = ['none', 'python']\nrepeats = 3\n[questions]\nfile = 'questions.jsonl'\n"
        "[[models]]\nprovider = 'openai'\nname = 'm'\nendpoint = 'https://models.example/v1'\n",
        encoding="utf-8",
    )
    done = cli("power", plan, "--effect", "3", env={"PATH": "/usr/bin:/bin", "COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    assert "430 questions, 3 repeats, 1 comparison with the baseline" in done.stdout
    assert "3.6" in done.stdout
    assert "To see 3 points on these questions takes 6 repeats" in done.stdout
    assert not (tmp_path / "runs").exists()
    told = json.loads(cli("power", plan, "--between", "0", "--within", "0.1", "--json").stdout)
    assert told["sights"][0]["variances"]["within"] == 0.1
    refused = cli("power", plan, "--from", "nowhere.sqlite")
    assert refused.returncode == 2
    assert "There is no store at nowhere.sqlite" in refused.stderr
    both = cli("power", plan, "--from", "nowhere.sqlite", "--within", "0.1")
    assert (both.returncode, both.stdout) == (2, "")
    assert "--from goes with neither --between nor --within" in both.stderr


def test_variances_come_from_an_earlier_store(cli: Cli, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(SIMULATED.format(repeats=3, store="earlier.sqlite"), encoding="utf-8")
    assert cli("run", plan).returncode == 0
    done = cli("power", plan, "--from", tmp_path / "earlier.sqlite", "--json")
    assert done.returncode == 0, done.stderr
    (sight,) = json.loads(done.stdout)["sights"]
    measured = sight["variances"]["measured"]
    assert (measured["questions"], measured["repeats"]) == (40, [3, 3])
    assert 0 < sight["variances"]["within"] <= 0.25
    page = cli("power", plan, "--from", tmp_path / "earlier.sqlite", env={"COLUMNS": "100"}).stdout
    assert "SIMULATED" in page
    assert "From 40 questions with 3 repeats: variance" in page


def test_an_earlier_ladder_is_a_row_for_each_comparison_and_rung(cli: Cli, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    content = SIMULATED.format(repeats=2, store="ladder.sqlite").replace(
        'file = "builtin"', 'file = "builtin"\nlimit = 8'
    )
    plan.write_text(content.replace('conditions = ["none", "scaffold"]', 'ladder = ["python"]'), encoding="utf-8")
    assert cli("run", plan).returncode == 0
    found = json.loads(cli("power", plan, "--from", tmp_path / "ladder.sqlite", "--json").stdout)
    told = [(sight["variances"]["rung"], sight["variances"]["condition"]) for sight in found["sights"]]
    arms = ["scaffold", "python:offered", "python:sham", "python:placebo", "python"]
    assert told[:7] == [("", arm) for arm in (*arms, "python:oracle", "python:adversarial")]
    assert told[7:] == list(
        zip(["availability", "calling", "irrelevant content", "real content"], arms[1:], strict=True)
    )
    page = cli("power", plan, "--from", tmp_path / "ladder.sqlite", "--effect", "20", env={"COLUMNS": "120"}).stdout
    assert len(page.splitlines()) < 45
    assert "irrelevant content" in " ".join(page.split())


def test_conditions_of_a_module_beside_the_plan_are_found(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from toolablate.traces.records import Condition\nterse = Condition(name='terse', prompt='Be terse.')\n",
        encoding="utf-8",
    )
    plan = tmp_path / "plan.toml"
    content = SIMULATED.format(repeats=2, store="s.sqlite").replace('"scaffold"', '"mine:terse"')
    plan.write_text(content, encoding="utf-8")
    done = cli("power", plan)
    assert done.returncode == 0, done.stderr
