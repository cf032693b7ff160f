"""`toolablate show --why` on stores that real runs filled."""

import asyncio
import json
import re
import shutil
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.attribution.commands import called_through, read, said, toolablate
from tests.traces.samples import attempt, plan, score
from tests.traces.samples import trials as planned

from toolablate.experiments.attribution.replay_rounds import Attributed
from toolablate.experiments.attribution.store_report import replays_told
from toolablate.traces.errors import InputError
from toolablate.traces.records import Label
from toolablate.traces.records.conditions import ReplayDesign
from toolablate.traces.store import FailureCount, Recorder, Store, verify

Replayed = tuple[Path, "subprocess.CompletedProcess[str]"]


def trials(store: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read(store)["trials"]
    return found


def page(store: Path, trial: str) -> str:
    text = said("show", "--why", store, trial)
    assert max(len(line) for line in text.splitlines() if str(store) not in line) <= 80
    return text


def test_replays_that_failed_are_told_with_the_reason() -> None:
    why = FailureCount("m", "model", "agent_diverged", "message 3 was 'a' and is 'b'", 2, "t")
    done = Attributed(ReplayDesign(), 1, 5, 3, None, 0.0, (), stopped=False, failures=(why,))
    assert list(replays_told(done))[1:] == [
        "2 replays failed (agent_diverged): message 3 was 'a' and is 'b'",
        "3 replays missing; the same command tries those that failed again, and makes the rest.",
    ]
    assert list(replays_told(replace(done, failures=())))[1:] == ["3 replays missing; the same command resumes."]


@pytest.mark.deep
def test_a_replayed_trial_is_explained_with_its_beliefs(replayed: Replayed) -> None:
    store, _ = replayed
    wrong = next(each for each in trials(store) if each["attribution"] and each["belief"])
    text = page(store, wrong["trial"][:10])
    for title in (*("Verdict", "How we know", "What speaks against it"), *("What would tell", "How sure")):
        assert f"\n{title}" in text, title
    assert "SIMULATED" in text
    assert re.search(r"[Pp]robability \.", text)
    assert "a guess" not in text
    # What a trial came to decides whether any replay would tell more of it.
    command, nothing = f"toolablate replay {store} {wrong['trial'][:10]}", "No further replay is likely to tell"
    told = " ".join(text.replace(" \\\n", " ").split())
    assert command in told or nothing in told


def test_all_evidence_is_there_as_json(replayed: Replayed) -> None:
    store, _ = replayed
    wrong = next(each for each in trials(store) if each["attribution"] and each["belief"])
    found = json.loads(said("show", "--why", store, wrong["trial"], "--json"))
    assert found["attribution"]["mechanism"] == wrong["attribution"]["mechanism"]
    assert found["evidence"]["inputs"]["replay"]["rollouts"]
    assert found["evidence"]["signals"]["trial"] == wrong["trial"]


def test_a_trial_that_was_never_replayed_is_explained_by_its_trace(ran: Path) -> None:
    wrong = next(each for each in trials(ran) if each["attribution"])
    text = " ".join(page(ran, wrong["trial"]).split())
    assert "a guess from the trace: nothing was run again." in text
    assert f"toolablate replay {ran}" in text.replace(" \\", "")


def test_a_right_trial_is_blamed_for_nothing(ran: Path) -> None:
    right = next(each for each in trials(ran) if each["value"] == 1)
    assert "The answer is right." in page(ran, right["trial"])


def test_a_trial_without_tools_has_nothing_to_explain(ran: Path) -> None:
    with Store(ran) as opened:
        no_tools = next(seen.trial for seen in opened.summaries() if seen.condition == "none")
    assert "had no tools" in said("show", "--why", ran, no_tools)
    assert json.loads(said("show", "--why", ran, no_tools, "--json"))["reason"] == "no_tools"


def test_an_arm_of_a_ladder_is_there_to_be_set_against(ran: Path) -> None:
    with Store(ran) as opened:
        sham = next(seen.trial for seen in opened.summaries() if seen.condition == "python:sham")
    assert "whose tools were only offered" in said("show", "--why", ran, sham)
    assert json.loads(said("show", "--why", ran, sham, "--json"))["reason"] == "arm"


@pytest.mark.deep
def test_a_trial_that_cannot_be_set_against_any_says_so(alone: Path) -> None:
    with Store(alone) as opened:
        (only,) = (seen.trial for seen in opened.summaries())
    told = said("show", "--why", alone, only)
    assert "has no scored trial of its question without tools" in told
    assert "such as 'none'" in told
    assert json.loads(said("show", "--why", alone, only, "--json"))["reason"] == "no_baseline"


def test_a_counterfactual_points_to_the_trial_that_it_goes_on_from(replayed: Replayed) -> None:
    store, _ = replayed
    parent = next(each["trial"] for each in trials(store) if each["replayed"])
    with Store(store) as opened:
        child = next(iter(opened.resumptions(parent)))
    assert f"toolablate show {store} {parent[:10]} --why" in said("show", "--why", store, child)


@pytest.mark.parametrize("trial", ["ffffffffff", "", "../x"])
def test_a_trial_that_is_not_there_is_refused(ran: Path, trial: str) -> None:
    with pytest.raises(InputError):
        called_through("show", "--why", ran, trial)


EVERY, LATEST = planned(repeats=2), planned()


async def _ran_twice(store: Path) -> None:
    """First with two repeats, then with one, which had been done. All trials are right, but for the first of those
    with tools by `choice`, and all of those with tools by `other`, which has not looked at the last question."""
    with Recorder(store) as recorder:
        for trial in plan(recorder, EVERY, "two"):
            with_tools = trial.condition == EVERY[-1].condition
            traced = await attempt(recorder, trial)
            await recorder.score([score(traced.trial, 0.0 if with_tools and trial.repeat == 0 else 1.0)])
            if trial.question != EVERY[-1].question:
                await recorder.score([score(traced.trial, 0.0 if with_tools else 1.0, scorer="other")])
        plan(recorder, LATEST, "one")


@pytest.fixture(scope="module")
def ran_twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("twice") / "s.sqlite"
    asyncio.run(_ran_twice(path))
    return path


def known(attribution: dict[str, Any] | None) -> tuple[Any, ...] | None:
    return attribution and tuple(attribution[name] for name in ("mechanism", "method", "confidence"))


@pytest.mark.parametrize("scorer", ["choice", "other"])
@pytest.mark.parametrize("run", ["latest", "two", "all"])
def test_it_says_what_attribute_says_of_the_same_run_and_scorer(ran_twice: Path, run: str, scorer: str) -> None:
    chosen = ("--run", run, "--scorer", scorer)
    of_list = json.loads(said("attribute", ran_twice, "--json", *chosen))["trials"]
    assert any(each["attribution"] for each in of_list)
    for each in of_list:
        found = json.loads(said("show", "--why", ran_twice, each["trial"], "--json", *chosen))
        assert known(found["attribution"]) == known(each["attribution"])
        assert found["evidence"]["score"]["value"] == each["value"]


def test_a_trial_that_the_run_did_not_call_for_is_set_against_all(ran_twice: Path) -> None:
    second = next(each.id for each in EVERY if each.repeat == 1 and each.condition == EVERY[-1].condition)
    latest, of_all = (
        said("show", "--why", ran_twice, second, "--scorer", "other", *run) for run in ((), ("--run", "all"))
    )
    assert latest == of_all


def test_a_trial_that_the_scorer_has_not_looked_at_has_no_score(ran_twice: Path) -> None:
    assert (
        json.loads(said("show", "--why", ran_twice, EVERY[-1].id, "--scorer", "other", "--json"))["reason"]
        == "unscored"
    )


@pytest.mark.parametrize("which", [0, -1])
@pytest.mark.parametrize(("option", "code"), [("--run", "unknown_run"), ("--scorer", "unknown_scorer")])
def test_what_is_not_there_is_refused_of_every_trial(ran_twice: Path, which: int, option: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        called_through("show", "--why", ran_twice, EVERY[which].id, option, "nix")
    assert caught.value.code == code


# `toolablate agreement --labels` on a store that a real run filled.


@pytest.fixture
def labelled(ran: Path, tmp_path: Path) -> tuple[Path, str]:
    """A store in which two people said something of one wrong trial, of which the trace says something as well."""
    store = Path(shutil.copy(ran, tmp_path / "own.sqlite"))
    wrong = next(each for each in read(store)["trials"] if each["attribution"])
    with Recorder(store) as recorder:
        for person, mechanism in (("Ada", wrong["attribution"]["mechanism"]), ("Grace", "other_results")):
            given = {"trial": wrong["trial"], "person": person, "at": datetime.now(UTC), "mechanism": mechanism}
            recorder.label(Label.model_validate(given))
    return store, wrong["trial"]


@pytest.mark.deep
def test_labels_are_held_against_the_attribution(labelled: tuple[Path, str], tmp_path: Path) -> None:
    store, trial = labelled
    found = json.loads(said("agreement", "--labels", store, "--json", "--csv", tmp_path / "labels.csv"))
    assert [(each["trial"], each["person"], each["agrees"]) for each in found["labels"]] == [
        (trial, "Ada", True),
        (trial, "Grace", False),
    ]
    assert {each["method"] for each in found["with_attribution"]} == {"trace"}
    assert (tmp_path / "labels.csv").read_text(encoding="utf-8").count("\n") == 3
    assert verify(store).ok


def test_the_page_names_people_and_says_that_they_are_few(labelled: tuple[Path, str]) -> None:
    store, trial = labelled
    text = said("agreement", "--labels", store)
    assert trial[:10] in text
    assert "too few to say" in " ".join(text.split())
    assert "Grace" not in said("agreement", "--labels", store, "--person", "Ada")


@pytest.mark.deep
def test_a_person_who_said_nothing_is_refused(labelled: tuple[Path, str]) -> None:
    told = toolablate(labelled[0].parent, "agreement", "--labels", labelled[0], "--person", "Eve")
    assert told.returncode == 2
    assert "no label by 'Eve'" in told.stderr
    assert "'Ada', 'Grace'" in told.stderr


def test_a_store_without_labels_says_so(ran: Path) -> None:
    assert "No labels yet" in said("agreement", "--labels", ran)
