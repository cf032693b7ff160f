"""`toolablate attribute` on stores that real runs filled."""

import csv
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.experiments.attribution.commands import called, called_through, read, said
from tests.experiments.attribution.conftest import REPLAY
from tests.experiments.diagnosing.failures import failing_store, reads
from tests.servers.chat_server import ChatServer

from toolablate.analysis.attribution.report import ResultLengths
from toolablate.traces.errors import InputError


@pytest.mark.deep
def test_without_replays_it_reads_what_is_there_and_changes_nothing(ran: Path) -> None:
    before = ran.read_bytes()
    page = " ".join(said("attribute", ran).split())
    assert "trusting python against no tools (none) over 6 questions" in page
    assert "SIMULATED" in page
    assert "None of 18 trials was replayed; what needs replays is unresolved." in page
    assert "Questions that flip between single runs" in page
    assert ran.read_bytes() == before


def test_decompositions_sum_to_the_effect_that_compare_shows(ran: Path) -> None:
    (found,) = read(ran)["decompositions"]
    compared = json.loads(said("compare", ran, "--baseline", "none", "--json"))["comparisons"]
    effect = next(each["delta_points"] for each in compared if each["condition"] == "python")
    assert found["effect"]["points"] == pytest.approx(effect)
    for parts in ("terms", "mechanisms"):
        assert sum(each["points"] for each in found[parts]) == pytest.approx(effect, abs=1e-9)


def test_every_form_says_the_same(ran: Path, tmp_path: Path) -> None:
    table, figure = tmp_path / "tables" / "a.csv", tmp_path / "figures" / "a.svg"
    (found,) = read(ran, "--csv", str(table), "--plot", str(figure))["decompositions"]
    with table.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    points = {row["name"]: float(row["points"]) for row in rows if row["kind"] == "mechanism"}
    assert points == pytest.approx({each["name"]: each["points"] for each in found["mechanisms"]})
    assert figure.read_bytes().startswith(b"<?xml")


def test_lengths_of_real_results_and_of_placebos_are_told(ran: Path) -> None:
    (lengths,) = read(ran)["result_lengths"]
    assert (lengths["model"], lengths["condition"], lengths["form"]) == ("trusting", "python", "code")
    assert lengths["ratio"] == pytest.approx(lengths["real"] / lengths["placebo"])
    assert min(lengths["real_results"], lengths["placebo_results"]) > 0
    page = " ".join(said("attribute", ran).split())
    assert f"real / placebo: code output {lengths['real']:,.0f} / {lengths['placebo']:,.0f}." in page


@pytest.mark.parametrize(
    ("real", "placebo", "differs"), [(33_720, 7_689, True), (500, 1_000, True), (1_400, 1_000, False), (30, 5, False)]
)
def test_lengths_are_warned_of_where_they_fill_a_context_otherwise(real: float, placebo: float, differs: bool) -> None:
    assert ResultLengths("m", "T", "page", real, placebo, 9, 9).differs == differs


def test_a_store_is_not_overwritten(ran: Path) -> None:
    for option in ("--csv", "--plot"):
        with pytest.raises(InputError, match=f"^{option}: "):
            called_through("attribute", ran, option, ran if option == "--csv" else ran.with_suffix(".txt"))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--samples", "4"), "--samples says how trials are replayed, and nothing is replayed"),
        (("--model", "nobody"), "nobody"),
        (("--condition", "nothing"), "nothing"),
        (("--run", "nope"), "nope"),
        (("--judge", "nobody"), "the plan of these trials names none"),
    ],
)
def test_what_cannot_be_meant_is_refused(ran: Path, options: tuple[str, ...], why: str) -> None:
    with pytest.raises(InputError, match=why):
        called_through("attribute", ran, *options)


@pytest.mark.parametrize("option", ["--failures", "--successes", "--max-cost"])
def test_what_is_no_number_is_refused(ran: Path, option: str) -> None:
    told = called("attribute", ran, "--replay", option, "nan")
    assert told.exit_code == 2
    assert "nan is no number" in told.output


@pytest.mark.deep
def test_without_trials_without_tools_nothing_is_replayed(alone: Path) -> None:
    with pytest.raises(InputError, match="no scored trial without tools") as refused:
        called_through("attribute", alone, *REPLAY)
    assert "such as 'none'" in refused.value.hint
    assert "Run a plan with conditions of both kinds" in " ".join(said("attribute", alone).split())


@pytest.mark.deep
def test_a_mistake_is_a_sentence(cli: Cli, ran: Path) -> None:
    told = cli("attribute", ran, "--model", "nobody")
    assert told.returncode == 2
    assert told.stderr.startswith("toolablate: --model: no trial with tools to attribute of 'nobody'")


@pytest.mark.deep
def test_replays_are_estimated_first_and_resolve_what_was_not_known(
    replayed: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    store, told = replayed
    assert "trials to be replayed" in told.stderr
    assert "sampled" in told.stderr
    page = " ".join(told.stdout.split())
    assert "were replayed, a random sample (100 % of the wrong, 30 % of the right)" in page
    found = read(store)
    (decomposition,) = found["decompositions"]
    assert 0 < decomposition["replayed"] <= decomposition["trials"]
    assert found["design"]["samples"] == 2
    assert {"sampling_noise", "unresolved"} <= {each["name"] for each in decomposition["mechanisms"]}
    wrong = [each for each in found["trials"] if each["value"] == 0]
    assert wrong
    assert {each["attribution"]["method"] for each in wrong} == {"replay"}
    assert all(each["belief"] for each in wrong)


def test_the_same_replays_are_not_made_twice(cli: Cli, replayed: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    store, _ = replayed
    before = read(store)
    told = called("attribute", store, *REPLAY)
    assert told.exit_code == 0, told.output
    assert "0 replays for about $0" in told.stderr
    assert read(store) == before


def test_the_page_is_of_the_design_that_was_asked_for_last(
    replayed: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    store, _ = replayed
    for name in ("plan.toml", "s.sqlite"):
        shutil.copy(store.parent / name, tmp_path)
    mine = tmp_path / "s.sqlite"
    (before,) = read(mine)["decompositions"]
    (fewer,) = read(mine, *REPLAY, "--failures", "0", "--successes", "0")["decompositions"]
    assert fewer["replayed"] == 0 < before["replayed"]
    assert read(mine, *REPLAY)["decompositions"] == [before]
    assert read(mine)["decompositions"] == [before]


def test_trials_are_listed_when_they_are_asked_for(replayed: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    store, _ = replayed
    wrong = [each["trial"] for each in read(store)["trials"] if each["attribution"]]
    page = said("attribute", store, "--list")
    assert all(trial[:10] in page for trial in wrong)


# `toolablate attribute` on wrong trials that a judge reads, and on those of a scripted model.


@pytest.mark.deep
def test_a_judge_reads_wrong_trials_and_its_labels_are_shown(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(reads)
    store = failing_store(tmp_path, chat_server)
    told = called("attribute", store, "--judge", "j")
    assert told.exit_code == 0, told.output
    assert "Judge j: 3 failures labelled" in told.stderr
    found = json.loads(said("attribute", store, "--json"))["trials"]
    labels = {each["question"]: [read["error_type"] for read in each["diagnoses"]] for each in found}
    assert not any("calls" in read for each in found for read in each["diagnoses"])
    assert labels == {"q0": ["reasoning"], "q1": ["calculation"], "q2": ["reasoning"], "q3": []}
    wrong = next(each["trial"] for each in found if each["question"] == "q0")
    assert ": reasoning (event 1), a hypothesis" in " ".join(said("show", "--why", store, wrong).split())
    asked = len(chat_server.requests)
    assert called("attribute", store, "--judge", "j").exit_code == 0
    assert len(chat_server.requests) == asked


@pytest.mark.deep
def test_what_judges_may_cost_is_refused_before_they_are_asked(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(reads)
    store = failing_store(tmp_path, chat_server)
    with pytest.raises(InputError, match="--max-cost"):
        called_through("attribute", store, "--judge", "j", "--max-cost", "0")
    assert not chat_server.requests


@pytest.mark.deep
def test_a_scripted_model_is_not_replayed(chat_server: ChatServer, tmp_path: Path) -> None:
    store = failing_store(tmp_path, chat_server)
    with pytest.raises(InputError, match="is scripted: its replies never change"):
        called_through("attribute", store, "--replay")
    page = " ".join(
        said("show", "--why", store, json.loads(said("attribute", store, "--json"))["trials"][0]["trial"]).split()
    )
    assert "its replies are recordings, so nothing can be run again" in page
