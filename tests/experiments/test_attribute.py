"""`toolablate attribute` on stores that real runs filled."""

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.conftest import Cli

PLAN = """
ladder = ["python"]
repeats = 3
[questions]
file = "builtin"
limit = 6
[[models]]
name = "trusting"
provider = "simulated"
playbook = "builtin"
"""
REPLAY = ("--replay", "--samples", "2", "--rollouts", "2")


def toolablate(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "toolablate", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=100)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a simulated model with the ladder of python, of which nothing was replayed."""
    folder = tmp_path_factory.mktemp("ran")
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    told = toolablate(folder, "run", "plan.toml", "--store", "s.sqlite")
    assert told.returncode == 0, told.stdout + told.stderr
    return folder / "s.sqlite"


@pytest.fixture(scope="module")
def replayed(ran: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The same store with replays, and what was said when they were made."""
    folder = tmp_path_factory.mktemp("replayed")
    for name in ("plan.toml", "s.sqlite"):
        shutil.copy(ran.parent / name, folder)
    told = toolablate(folder, "attribute", "s.sqlite", *REPLAY)
    assert told.returncode == 0, told.stdout + told.stderr
    return folder / "s.sqlite", told


def read(cli: Cli, store: Path, *options: str) -> dict[str, Any]:
    told = cli("attribute", store, "--json", *options)
    assert told.returncode == 0, told.stderr
    found: dict[str, Any] = json.loads(told.stdout)
    return found


def test_without_replays_it_reads_what_is_there_and_changes_nothing(cli: Cli, ran: Path) -> None:
    before = ran.read_bytes()
    told = cli("attribute", ran)
    assert told.returncode == 0, told.stderr
    page = " ".join(told.stdout.split())
    assert "trusting python against no tools (none) over 6 questions" in page
    assert "SIMULATED" in page
    assert "None of 18 trials was replayed: what only replays tell is unresolved." in page
    assert "Questions that flip between single runs" in page
    assert ran.read_bytes() == before


def test_ledgers_sum_to_the_effect_that_compare_shows(cli: Cli, ran: Path) -> None:
    (found,) = read(cli, ran)["ledgers"]
    compared = json.loads(cli("compare", ran, "--baseline", "none", "--json").stdout)["comparisons"]
    effect = next(each["delta_points"] for each in compared if each["condition"] == "python")
    assert found["effect"]["points"] == pytest.approx(effect)
    for parts in ("terms", "mechanisms"):
        assert sum(each["points"] for each in found[parts]) == pytest.approx(effect, abs=1e-9)


def test_every_form_says_the_same(cli: Cli, ran: Path, tmp_path: Path) -> None:
    table, figure = tmp_path / "tables" / "a.csv", tmp_path / "figures" / "a.svg"
    told = cli("attribute", ran, "--csv", table, "--plot", figure, "--json")
    assert told.returncode == 0, told.stderr
    (found,) = json.loads(told.stdout)["ledgers"]
    with table.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    points = {row["name"]: float(row["points"]) for row in rows if row["kind"] == "mechanism"}
    assert points == pytest.approx({each["name"]: each["points"] for each in found["mechanisms"]})
    assert figure.read_bytes().startswith(b"<?xml")


def test_a_store_is_not_overwritten(cli: Cli, ran: Path) -> None:
    for option in ("--csv", "--plot"):
        told = cli("attribute", ran, option, ran if option == "--csv" else ran.with_suffix(".txt"))
        assert told.returncode == 2
        assert f"toolablate: {option}:" in told.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--samples", "4"), "--samples says how trials are replayed, and nothing is replayed"),
        (("--model", "nobody"), "nobody"),
        (("--condition", "nothing"), "nothing"),
        (("--run", "nope"), "nope"),
        (("--judge", "nobody"), "nobody"),
    ],
)
def test_what_cannot_be_meant_is_refused(cli: Cli, ran: Path, options: tuple[str, ...], said: str) -> None:
    told = cli("attribute", ran, *options)
    assert told.returncode == 2, told.stdout
    assert said in told.stderr
    assert "Traceback" not in told.stderr


def test_replays_are_estimated_first_and_resolve_what_was_not_known(
    cli: Cli, replayed: tuple[Path, subprocess.CompletedProcess[str]]
) -> None:
    store, told = replayed
    assert "trials to be replayed" in told.stderr
    assert "chosen by lot" in told.stderr
    page = " ".join(told.stdout.split())
    assert "were replayed, chosen by lot (100 % of the wrong, 30 % of the right)" in page
    found = read(cli, store)
    (ledger,) = found["ledgers"]
    assert 0 < ledger["replayed"] <= ledger["trials"]
    assert found["design"]["samples"] == 2
    assert {"luck", "unresolved"} <= {each["name"] for each in ledger["mechanisms"]}
    wrong = [each for each in found["trials"] if each["value"] == 0]
    assert wrong
    assert {each["attribution"]["method"] for each in wrong} == {"replay"}
    assert all(each["belief"] for each in wrong)


def test_the_same_replays_are_not_made_twice(cli: Cli, replayed: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    store, _ = replayed
    before = read(cli, store)
    told = cli("attribute", store, *REPLAY)
    assert told.returncode == 0, told.stderr
    assert "0 replays for about $0" in told.stderr
    assert read(cli, store) == before


def test_trials_are_listed_when_they_are_asked_for(
    cli: Cli, replayed: tuple[Path, subprocess.CompletedProcess[str]]
) -> None:
    store, _ = replayed
    wrong = [each["trial"] for each in read(cli, store)["trials"] if each["attribution"]]
    told = cli("attribute", store, "--list")
    assert all(trial[:10] in told.stdout for trial in wrong)
