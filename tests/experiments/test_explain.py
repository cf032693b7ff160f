"""`toolablate explain` on stores that real runs filled."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.conftest import Cli
from tests.experiments.test_attribute import ran, replayed

from toolablate.traces.store import Store

__all__ = ["ran", "replayed"]

Replayed = tuple[Path, "subprocess.CompletedProcess[str]"]


def trials(cli: Cli, store: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(cli("attribute", store, "--json").stdout)["trials"]
    return found


def page(cli: Cli, store: Path, trial: str) -> str:
    told = cli("explain", store, trial)
    assert told.returncode == 0, told.stderr
    assert max(map(len, told.stdout.splitlines())) <= 80
    return told.stdout


def test_a_replayed_trial_is_explained_with_its_beliefs(cli: Cli, replayed: Replayed) -> None:
    store, _ = replayed
    wrong = next(each for each in trials(cli, store) if each["attribution"] and each["belief"])
    text = page(cli, store, wrong["trial"][:10])
    for title in ("Question", "Without tools", "What it did", "Where it turned", "What happens otherwise", "Why"):
        assert f"\n{title}" in text, title
    assert "SIMULATED" in text
    assert "right now" in text
    assert ", by replay, with a confidence of" in " ".join(text.split())
    assert f"toolablate show {store} {wrong['trial'][:10]}" in " ".join(text.split())


def test_all_evidence_is_there_as_json(cli: Cli, replayed: Replayed) -> None:
    store, _ = replayed
    wrong = next(each for each in trials(cli, store) if each["attribution"] and each["belief"])
    found = json.loads(cli("explain", store, wrong["trial"], "--json").stdout)
    assert found["attribution"]["mechanism"] == wrong["attribution"]["mechanism"]
    assert found["evidence"]["chain"]["replay"]["rollouts"]
    assert found["evidence"]["signals"]["trial"] == wrong["trial"]


def test_a_trial_that_was_never_replayed_is_explained_by_its_trace(cli: Cli, ran: Path) -> None:
    wrong = next(each for each in trials(cli, ran) if each["attribution"])
    text = " ".join(page(cli, ran, wrong["trial"]).split())
    assert ", by trace, with a confidence of" in text
    assert "By trace or judge it is a hypothesis" in text
    assert f"toolablate attribute {ran} --replay" in text


def test_a_right_trial_is_blamed_for_nothing(cli: Cli, ran: Path) -> None:
    right = next(each for each in trials(cli, ran) if each["value"] == 1)
    assert "This trial is right: there is nothing to blame." in page(cli, ran, right["trial"])


def test_a_trial_without_tools_has_nothing_to_explain(cli: Cli, ran: Path) -> None:
    with Store(ran) as opened:
        bare = next(seen.trial for seen in opened.observations() if seen.condition == "none")
    told = cli("explain", ran, bare)
    assert told.returncode == 0
    assert "had no tools" in told.stdout
    assert json.loads(cli("explain", ran, bare, "--json").stdout)["reason"] == "no_tools"


def test_a_counterfactual_points_to_the_trial_that_it_goes_on_from(cli: Cli, replayed: Replayed) -> None:
    store, _ = replayed
    parent = next(each["trial"] for each in trials(cli, store) if each["replayed"])
    with Store(store) as opened:
        child = next(iter(opened.resumptions(parent)))
    told = cli("explain", store, child)
    assert told.returncode == 0
    assert f"toolablate explain {store} {parent[:10]}" in told.stdout


@pytest.mark.parametrize("trial", ["ffffffffff", "", "../x"])
def test_a_trial_that_is_not_there_is_refused(cli: Cli, ran: Path, trial: str) -> None:
    told = cli("explain", ran, trial)
    assert told.returncode == 2
    assert "Traceback" not in told.stderr
