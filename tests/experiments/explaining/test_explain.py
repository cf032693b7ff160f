"""`toolablate explain` on stores that real runs filled."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.attributing.test_attribute import alone, called_through, ran, read, replayed, said

from toolablate.traces.errors import InputError
from toolablate.traces.store import Store

__all__ = ["alone", "ran", "replayed"]

Replayed = tuple[Path, "subprocess.CompletedProcess[str]"]


def trials(store: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read(store)["trials"]
    return found


def page(store: Path, trial: str) -> str:
    text = said("explain", store, trial)
    assert max(map(len, text.splitlines())) <= 80
    return text


def test_a_replayed_trial_is_explained_with_its_beliefs(replayed: Replayed) -> None:
    store, _ = replayed
    wrong = next(each for each in trials(store) if each["attribution"] and each["belief"])
    text = page(store, wrong["trial"][:10])
    for title in ("Question", "Without tools", "What it did", "Where it turned", "What happens otherwise", "Why"):
        assert f"\n{title}" in text, title
    assert "SIMULATED" in text
    assert "right now" in text
    assert ", by replay, with a confidence of" in " ".join(text.split())
    assert f"toolablate show {store} {wrong['trial'][:10]}" in " ".join(text.split())


def test_all_evidence_is_there_as_json(replayed: Replayed) -> None:
    store, _ = replayed
    wrong = next(each for each in trials(store) if each["attribution"] and each["belief"])
    found = json.loads(said("explain", store, wrong["trial"], "--json"))
    assert found["attribution"]["mechanism"] == wrong["attribution"]["mechanism"]
    assert found["evidence"]["chain"]["replay"]["rollouts"]
    assert found["evidence"]["signals"]["trial"] == wrong["trial"]


def test_a_trial_that_was_never_replayed_is_explained_by_its_trace(ran: Path) -> None:
    wrong = next(each for each in trials(ran) if each["attribution"])
    text = " ".join(page(ran, wrong["trial"]).split())
    assert ", by trace, with a confidence of" in text
    assert "By trace or judge it is a hypothesis" in text
    assert f"toolablate attribute {ran} --replay" in text


def test_a_right_trial_is_blamed_for_nothing(ran: Path) -> None:
    right = next(each for each in trials(ran) if each["value"] == 1)
    assert "This trial is right: there is nothing to blame." in page(ran, right["trial"])


def test_a_trial_without_tools_has_nothing_to_explain(ran: Path) -> None:
    with Store(ran) as opened:
        bare = next(seen.trial for seen in opened.observations() if seen.condition == "none")
    assert "had no tools" in said("explain", ran, bare)
    assert json.loads(said("explain", ran, bare, "--json"))["reason"] == "no_tools"


def test_a_trial_that_cannot_be_set_against_any_says_so(alone: Path) -> None:
    with Store(alone) as opened:
        (only,) = (seen.trial for seen in opened.observations())
    told = said("explain", alone, only)
    assert "has no scored trial of its question without tools" in told
    assert "such as 'none'" in told
    assert json.loads(said("explain", alone, only, "--json"))["reason"] == "no_bare"


def test_a_counterfactual_points_to_the_trial_that_it_goes_on_from(replayed: Replayed) -> None:
    store, _ = replayed
    parent = next(each["trial"] for each in trials(store) if each["replayed"])
    with Store(store) as opened:
        child = next(iter(opened.resumptions(parent)))
    assert f"toolablate explain {store} {parent[:10]}" in said("explain", store, child)


@pytest.mark.parametrize("trial", ["ffffffffff", "", "../x"])
def test_a_trial_that_is_not_there_is_refused(ran: Path, trial: str) -> None:
    with pytest.raises(InputError):
        called_through("explain", ran, trial)
