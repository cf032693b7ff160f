"""Stores of one plan that ran apart are joined into one."""

import asyncio
import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.traces.samples import (
    CODE,
    ENVIRONMENT,
    MODEL,
    NONE,
    QUESTIONS,
    SIMULATED,
    WHEN,
    begun,
    conversation,
    question,
    score,
    trials,
)
from tests.traces.samples import run as sample_run
from tests.traces.test_counterfactuals import resumed, trial_under
from tests.traces.test_judgements import diagnosis

from toolablate.cli import group
from toolablate.reports.terminal.problems import differing_models
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import (
    ChoiceTarget,
    Condition,
    Failure,
    Label,
    Model,
    OpenAIModel,
    Outcome,
    Question,
    Sampling,
    Trace,
    Trial,
    Usage,
)
from toolablate.traces.store import Recorder, Store, verify
from toolablate.traces.store.merging import merge

TRIALS = trials(repeats=2)
LONG = "A long text that several traces share. " * 60


async def record(
    path: Path,
    outcomes: dict[int, Outcome],
    *,
    site: str = "",
    planned: Sequence[Trial] = TRIALS,
    fingerprint: dict[str, str] | None = None,
    questions: Sequence[Question] = QUESTIONS,
    models: Sequence[Model] = (MODEL, SIMULATED),
    conditions: Sequence[Condition] = (NONE, CODE),
    plan: str = "[plan]",
) -> Path:
    """A run at a site, of trials by their numbers; the ended ones are scored. Its traces tell the site."""
    late = timedelta(seconds=len(site))
    run = sample_run(f"run of {path.stem} {site}").model_copy(
        update={
            "fingerprint": fingerprint or {"sandbox": "bubblewrap"},
            "started_at": WHEN + late,
            "scorers": ("choice",),
            "plan": plan,
        }
    )
    with Recorder(path) as recorder:
        recorder.plan(run, questions, models, conditions, planned)
        for number, outcome in outcomes.items():
            session = await recorder.begin(TRIALS[number], started_at=WHEN + late, environment=ENVIRONMENT)
            assert session is not None
            for event in conversation(salt=f"{TRIALS[number].id}{site}{LONG}"):
                session.record(event)
            if outcome == "failed":
                session.record(Failure(at=9.0, boundary="model", code=f"timeout{site}", message="late", retried=False))
            await session.finish(outcome, 12.5, Usage(input_tokens=300, output_tokens=60), 0.003)
            if outcome != "failed":
                await recorder.score([score(TRIALS[number], float(number % 3 == 0))])
    return path


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def told(path: Path) -> dict[str, object]:
    """What `compare --json` says, without what names the file and the run."""
    outcome = CliRunner().invoke(group, ["compare", str(path), "--baseline", "none", "--json"])
    assert outcome.exit_code == 0, outcome.output
    found: dict[str, object] = json.loads(outcome.stdout)
    return {name: value for name, value in found.items() if name not in ("store", "run")}


def traces_of(path: Path) -> dict[str, list[object]]:
    with Store(path) as store:
        return {trial.id: list(store.attempts(trial.id)) for trial in TRIALS}


async def test_what_sites_ran_in_parts_is_as_one_store_that_ran_all(tmp_path: Path) -> None:
    parts = (range(1, 16, 2), range(0, 16, 2))
    whole = await record(tmp_path / "whole.db", dict.fromkeys(range(16), "answered"))
    sites = [
        await record(
            tmp_path / f"site{place}.db", dict.fromkeys(part, "answered"), planned=[TRIALS[each] for each in part]
        )
        for place, part in enumerate(parts)
    ]
    before = [site.read_bytes() for site in sites]
    report = merge(sites, tmp_path / "new" / "joined.db")
    assert (report.taken, report.same, report.left_out) == ({str(site): 8 for site in sites}, 0, ())
    assert report.checked == verify(tmp_path / "new" / "joined.db")
    assert report.checked.ok
    assert report.checked.checked["traces"] == 16
    assert traces_of(tmp_path / "new" / "joined.db") == traces_of(whole)
    assert told(tmp_path / "new" / "joined.db") == told(whole)
    assert [site.read_bytes() for site in sites] == before
    assert names(tmp_path) == ["new", "site0.db", "site1.db", "whole.db"]
    assert names(tmp_path / "new") == ["joined.db"]


async def test_a_finished_trial_wins_over_a_failed_one_whose_attempts_come_along(tmp_path: Path) -> None:
    failed = await record(tmp_path / "failed.db", {0: "failed", 1: "failed"})
    await record(failed, {0: "failed"}, site="again")
    other = await record(tmp_path / "other.db", {0: "answered", 1: "failed"}, site="other")
    with Recorder(other) as recorder:
        session = await begun(recorder, TRIALS[2])
        session.record(conversation()[0])
    report = merge([failed, other], tmp_path / "joined.db")
    assert (report.taken[str(other)], report.checked.ok) == (1, True)
    assert (report.checked.finished, report.checked.failed, report.checked.unfinished) == (1, 1, 1)
    with Store(tmp_path / "joined.db") as store:
        assert [trace.outcome for trace in store.attempts(TRIALS[0].id)] == ["answered", "failed", "failed"]
        assert [trace.outcome for trace in store.attempts(TRIALS[1].id)] == ["failed", "failed"]
        assert store.trace(TRIALS[0].id).attempt == 1
        assert [each.value for each in store.scores(TRIALS[0].id)] == [1.0]
    with Recorder(tmp_path / "joined.db") as recorder:
        assert recorder.finished_trials() == {TRIALS[0].id}
        assert (await begun(recorder, TRIALS[1])) is not None


async def test_a_copy_that_went_on_adds_what_is_new_and_nothing_twice(tmp_path: Path) -> None:
    one = await record(tmp_path / "one.db", {0: "answered", 1: "failed"})
    with Recorder(one) as recorder:
        session = await begun(recorder, TRIALS[2])
        session.record(conversation()[0])
        await session.finish("answered", 1.0)
        await _resume(recorder, await _trace(one, 0))
        await recorder.diagnose([diagnosis(TRIALS[0])])
        recorder.label(_label("ada", 1))
    other = Path(shutil.copy(one, tmp_path / "other.db"))
    await record(one, {4: "answered"}, site="a")
    with Recorder(other) as recorder:
        session = await begun(recorder, TRIALS[1])
        session.record(conversation()[-1])
        await session.finish("answered", 1.0)
        await _resume(recorder, await _trace(other, 2))
        await recorder.score([score(TRIALS[2])])
        recorder.label(_label("ben", 0))
    report = merge([one, other], tmp_path / "joined.db")
    assert (list(report.taken.values()), report.same, report.left_out) == ([4, 2], 3, ())
    assert report.checked.ok
    with Store(tmp_path / "joined.db") as store:
        assert [trace.outcome for trace in store.attempts(TRIALS[1].id)] == ["failed", "answered"]
        assert [len(store.resumptions(TRIALS[number].id)) for number in (0, 2)] == [1, 1]
        assert len(store.finished_resumptions()) == 2
        assert store.diagnoses(TRIALS[0].id) == (diagnosis(TRIALS[0]),)
        assert [label.person for label in store.labels()] == ["ben", "ada"]
        assert set(store.scores_of(each.id for each in TRIALS)) == {
            TRIALS[0].id,
            TRIALS[2].id,
            TRIALS[4].id,
        }


async def test_two_records_of_a_trial_are_named_and_the_first_is_kept_where_that_is_said(tmp_path: Path) -> None:
    one = await record(tmp_path / "one.db", {0: "answered", 1: "answered"}, site="one")
    other = await record(tmp_path / "other.db", {1: "answered", 2: "answered"}, site="two")
    with Recorder(other) as recorder:
        await _resume(recorder, await _trace(other, 1))
        await _resume(recorder, await _trace(other, 2))
    with pytest.raises(InputError, match=f"trial {TRIALS[1].id[:12]} finished in {one} and {other}") as refused:
        merge([one, other], tmp_path / "joined.db")
    assert (refused.value.code, "--keep first" in str(refused.value.hint)) == ("conflict", True)
    assert names(tmp_path) == ["one.db", "other.db"]
    report = merge([one, other], tmp_path / "joined.db", keep_first=True)
    assert (len(report.left_out), report.checked.ok) == (1, True)
    with Store(tmp_path / "joined.db") as store, Store(one) as first:
        assert store.trace(TRIALS[1].id) == first.trace(TRIALS[1].id)
        # What goes on from a record that is left out would go on from another.
        assert [len(store.resumptions(TRIALS[number].id)) for number in (1, 2)] == [0, 1]
        assert len(store.finished_resumptions()) == 1


async def test_scores_by_an_answer_key_that_does_not_count_are_left_out(tmp_path: Path) -> None:
    mended = (QUESTIONS[0].model_copy(update={"target": ChoiceTarget(letters=("B",))}), *QUESTIONS[1:])
    one = await record(tmp_path / "one.db", {0: "answered"}, questions=mended)
    other = await record(tmp_path / "other.db", {1: "answered", 5: "answered"}, questions=(*QUESTIONS,))
    with Recorder(other) as recorder:
        await recorder.score([score(TRIALS[1]).model_copy(update={"target": QUESTIONS[0].key_identity()})])
    with pytest.raises(InputError, match="answer key of question 'q0'"):
        merge([one, other], tmp_path / "joined.db")
    assert merge([one, other], tmp_path / "joined.db", keep_first=True).checked.ok
    with Store(tmp_path / "joined.db") as store:
        assert set(store.scores_of(each.id for each in TRIALS)) == {TRIALS[0].id, TRIALS[5].id}


async def test_stores_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    one = await record(tmp_path / "one.db", {0: "answered"})
    docker = await record(tmp_path / "docker.db", {1: "answered"}, fingerprint={"sandbox": "docker", "search": "x"})
    with pytest.raises(InputError, match="sandbox = 'bubblewrap' and 'docker'"):
        merge([one, docker], tmp_path / "joined.db")
    with pytest.raises(InputError, match="named twice"):
        merge([one, one], tmp_path / "joined.db")
    with pytest.raises(StoreError, match="There is a file at"):
        merge([one, docker], docker)
    with Recorder(tmp_path / "none.db"):
        pass
    with pytest.raises(InputError, match="no question and no condition and no model in common"):
        merge([one, tmp_path / "none.db"], tmp_path / "joined.db")
    damaged = Path(shutil.copy(one, tmp_path / "damaged.db"))
    with closing(sqlite3.connect(damaged)) as connection, connection:
        connection.execute("DELETE FROM texts WHERE key = (SELECT max(key) FROM texts)")
    await record(tmp_path / "two.db", {1: "answered"})
    with pytest.raises(StoreError, match=f"{damaged}.*damaged"):
        merge([tmp_path / "two.db", damaged], tmp_path / "joined.db")
    assert "joined.db" not in names(tmp_path)


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (
            {"questions": [QUESTIONS[0].model_copy(update={"prompt": QUESTIONS[0].prompt + "And why?"})]},
            r"two questions named 'q0': prompt = \.\.\..*dolor\. ' and \.\.\..*And why\?'",
        ),
        (
            {"conditions": [NONE, CODE.model_copy(update={"prompt": "Run code."})]},
            "two conditions named 'python': prompt = .* and 'Run code.'",
        ),
        ({"models": [MODEL.model_copy(update={"endpoint": "http://e/v1"})]}, "two models named 'gpt-x': endpoint = "),
        # One condition in common is what any two plans have.
        (
            {"questions": [question(7)], "models": [OpenAIModel(name="another")]},
            "are of different plans: they have no question and no model in common",
        ),
    ],
)
async def test_a_store_of_another_plan_is_refused(tmp_path: Path, other: dict[str, Any], told: str) -> None:
    one = await record(tmp_path / "one.db", {0: "answered"})
    two = await record(tmp_path / "two.db", {}, planned=(), plan="[another]", **other)
    with pytest.raises(InputError) as refused:
        merge([one, two], tmp_path / "joined.db")
    assert re.search(told, refused.value.message), refused.value.message
    assert (refused.value.code, names(tmp_path)) == ("other_plan", ["one.db", "two.db"])


async def test_parts_that_ran_with_other_values_are_refused_by_the_key_that_was_set(tmp_path: Path) -> None:
    warm = MODEL.model_copy(update={"sampling": Sampling(temperature=1.0)})
    plan = "[[models]]\nname = 'gpt-x'\n[models.sampling]\ntemperature = 0.5\n"
    values = {"models": [{"name": "gpt-x", "sampling": {"temperature": 1.0}}], "runner": {"retries": 2}}
    one = await record(tmp_path / "one.db", {0: "answered"}, plan=plan)
    two = await record(tmp_path / "two.db", {}, planned=(), models=[warm], plan=json.dumps(values))
    apart = await record(
        tmp_path / "apart.db", {}, planned=(), models=[warm.model_copy(update={"name": "b"})], questions=[question(7)],
        plan=json.dumps(values)
    )  # fmt: skip
    for other, told in ((two, "two models named 'gpt-x'"), (apart, "no question and no model in common")):
        with pytest.raises(InputError, match=told) as refused:
            merge([one, other], tmp_path / "joined.db")
        assert "differ in models.0.sampling.temperature = 0.5 and 1.0; runner.retries = nothing and 2" in str(refused)
        assert "with the plan and the --set values of the other" in refused.value.hint


async def test_parts_of_a_plan_may_differ_in_two_ways_where_a_third_or_their_plan_joins_them(tmp_path: Path) -> None:
    parts = ([question(0)], [NONE]), ([question(1)], [NONE, CODE]), ([question(1)], [CODE])
    a, b, c = [
        await record(
            tmp_path / f"{name}.db",
            {},
            planned=trials(tuple(questions), (MODEL,), tuple(conditions)),
            questions=questions,
            conditions=conditions,
            models=[MODEL],
            plan=f"--condition of {name}",
        )
        for name, (questions, conditions) in zip("abc", parts, strict=True)
    ]
    with pytest.raises(InputError, match="no question and no condition in common"):
        merge([a, c], tmp_path / "joined.db")
    report = merge([a, c, b], tmp_path / "joined.db")
    assert report.parts[str(b)] == {"questions": 1, "conditions": 2, "models": 1}
    one, two = [
        await record(
            tmp_path / f"{model.name}.db", {}, planned=(), questions=[asked], conditions=[condition], models=[model]
        )
        for asked, condition, model in ((question(0), NONE, MODEL), (question(1), CODE, SIMULATED))
    ]
    assert merge([one, two], tmp_path / "same-plan.db").checked.ok


def test_a_merge_that_is_killed_leaves_nothing_at_its_place_and_the_next_one_works(tmp_path: Path) -> None:
    one = asyncio.run(record(tmp_path / "one.db", dict.fromkeys(range(4), "answered")))
    other = asyncio.run(record(tmp_path / "other.db", dict.fromkeys(range(4, 8), "answered"), site="b"))
    program = (
        "import os, signal, sys; from toolablate.traces.store.merging import merge\n"
        "merge(sys.argv[1:3], sys.argv[3], tell=lambda done, of: done < 6 or os.kill(os.getpid(), signal.SIGKILL))"
    )
    killed = subprocess.run([sys.executable, "-c", program, one, other, tmp_path / "joined.db"], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert "joined.db" not in names(tmp_path)
    assert merge([one, other], tmp_path / "joined.db").checked.finished == 8
    assert names(tmp_path) == ["joined.db", "one.db", "other.db"]


async def test_the_command_tells_what_it_took_and_what_to_do(tmp_path: Path) -> None:
    one = await record(tmp_path / "one.db", {0: "answered", 1: "answered"})
    other = await record(tmp_path / "other.db", {1: "answered", 2: "failed"}, site="b")
    words = ["merge", str(one), str(other), "-o", str(tmp_path / "joined.db")]
    refused = CliRunner().invoke(group, words)
    assert isinstance(refused.exception, InputError)
    outcome = CliRunner().invoke(group, [*words, "--keep", "first"])
    assert outcome.exit_code == 0, outcome.output
    for told in (
        "one.db: 2 finished trials, of 4 questions, 2 conditions, 2 models",
        "other.db: 0",
        f"left out: trial {TRIALS[1].id[:12]}",
        "Nothing is damaged",
    ):
        assert told in outcome.output
    again = CliRunner().invoke(group, [*words[:-1], str(tmp_path / "again.db"), "--keep", "first", "--json"])
    assert json.loads(again.stdout)["taken"] == {str(one): 2, str(other): 0}
    assert CliRunner().invoke(group, ["merge", str(one), "-o", str(tmp_path / "x.db")]).exit_code == 2


def test_models_that_share_a_name_are_named_with_what_differs() -> None:
    one = OpenAIModel(name="m", endpoint="http://e/v1")
    other = one.model_copy(update={"endpoint": "http://f/v1"})
    assert list(differing_models([one, OpenAIModel(name="n", endpoint="http://e/v1")])) == []
    assert "2 models are named m, which differ in endpoint" in next(differing_models([one, other]))
    # What only a later one has is named as well.
    assert "ability" in next(differing_models([one, SIMULATED.model_copy(update={"name": "m"})]))


async def _trace(path: Path, number: int) -> Trace:
    with Store(path) as store:
        return store.trace(TRIALS[number].id)


async def _resume(recorder: Recorder, parent: Trace) -> None:
    condition = resumed(parent)
    trial = trial_under(condition, parent)
    recorder.resume({"sandbox": "bubblewrap"}, [condition], [trial])
    session = await begun(recorder, trial)
    session.record(conversation(1)[-1])
    await session.finish("answered", 1.0)


def _label(person: str, second: int) -> Label:
    return Label(trial=TRIALS[0].id, person=person, at=WHEN + timedelta(seconds=second), mechanism=None)
