"""What an overview and a report are made of, held against the functions of the commands that show the same."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from tests.conftest import Cli, WritePlan
from tests.experiments.plan_files import answered
from tests.traces.samples import CODE, MODEL, NONE, QUESTIONS, attempt, filled, run, score, trials
from tests.viewer.keeping.reading import read_findings

from toolablate.analysis.findings import Findings
from toolablate.analysis.from_store import read_paired
from toolablate.analysis.ladder import read_ladders
from toolablate.experiments.attribution.store_report import read_report
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import Condition
from toolablate.traces.store import Recorder, Store
from toolablate.viewer.keeping.shown_trials import attributions_of

NEVER = Condition(name="never", prompt="Think.")


@pytest.mark.deep
def test_findings_are_those_of_the_commands(ran: Path) -> None:
    found, paired = read_findings(ran), read_paired(ran)
    assert (found.baseline, found.models, found.simulated) == ("none", ("trusting",), {"trusting"})
    assert found.conditions[:6] == ("none", "scaffold", "python:offered", "python:sham", "python:placebo", "python")
    assert found.conditions == paired.order
    assert list(found.comparisons) == paired.compare()
    assert list(found.floors) == paired.floors()
    assert list(found.by_domain) == [row for row in paired.compare(by=("domain",), harm=False) if row.by == "domain"]
    assert list(found.waterfalls) == read_ladders(ran).waterfalls()
    report = read_report(ran)
    assert found.why is not None
    assert (found.why.decompositions, found.why.floors, found.why.unreplayed) == (
        report.decompositions,
        report.floors,
        0,
    )
    counts = Counter((each.mechanism, each.method) for each in attributions_of(report))
    assert {(each.mechanism, each.method) for each in found.why.attributed} == set(counts)
    assert sum(each.trials for each in found.why.attributed) == counts.total() > 0
    assert not found.imported
    assert {each.trial for each in attributions_of(report)} == {
        each.inputs.trial
        for each in (explained.evidence for explained in report.explained)
        if each.score.verdict != "correct"
    }


def test_scores_and_flips_add_up(ran: Path) -> None:
    found = read_findings(ran, why=False)
    assert found.why is None
    scores = {arm.condition: arm.accuracy for arm in found.arms}
    for row in found.comparisons:
        assert scores[row.condition].percent == pytest.approx(row.score)
        assert scores["none"].percent == pytest.approx(row.baseline_score)
    for row, turns in zip(found.comparisons, found.flips, strict=True):
        assert (row.condition, row.right_to_wrong, row.wrong_to_right) == (
            *(turns.condition, turns.right_to_wrong),
            turns.wrong_to_right,
        )
        assert turns.both_right + turns.right_to_wrong + turns.wrong_to_right + turns.both_wrong == row.questions
    assert (scores["none"].questions, found.notes) == (6, ())


def test_another_baseline_and_seed_are_taken_as_compare_takes_them(ran: Path) -> None:
    found = read_findings(ran, baseline="scaffold", seed=7, why=False)
    assert list(found.comparisons) == read_paired(ran, baseline="scaffold").compare(seed=7)
    assert found.flips[0].baseline == "scaffold"


def test_what_is_not_there_is_refused(ran: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--baseline: there is no condition 'nowhere'(.|\n)*python:sham"):
        read_findings(ran, baseline="nowhere")
    with pytest.raises(InputError, match="is not one run of"):
        read_findings(ran, run="ffff")
    with pytest.raises(InputError, match="nobody"):
        read_findings(ran, scorer="nobody")
    with pytest.raises(StoreError, match="There is no store"):
        read_findings(tmp_path / "none.sqlite")


def _nothing_compared(found: Findings) -> None:
    assert (found.comparisons, found.by_domain, found.floors, found.flips, found.waterfalls) == ((), (), (), (), ())


def test_a_store_whose_run_has_not_begun(tmp_path: Path) -> None:
    with Recorder(tmp_path / "s.sqlite"):
        pass
    found = read_findings(tmp_path / "s.sqlite")
    _nothing_compared(found)
    assert (found.models, found.arms, found.why, found.notes) == ((), (), None, ("The store holds no run yet.",))


def _planned(path: Path, ending: dict[str, int], *, scored: bool = True) -> Path:
    """A run under `none`, `python` and `never` of which the first so many trials of each have ended."""

    async def end(recorder: Recorder) -> None:
        for condition in (NONE, CODE, NEVER):
            for trial in trials(conditions=(condition,))[: ending.get(condition.name, 0)]:
                await attempt(recorder, trial)
                if scored:
                    await recorder.score([score(trial)])

    with Recorder(path) as recorder:
        called_for = trials(conditions=(NONE, CODE, NEVER))
        begun = run().model_copy(update={"baseline": "none"})
        recorder.plan(begun, QUESTIONS, [MODEL], [NONE, CODE, NEVER], called_for)
        asyncio.run(end(recorder))
    return path


def test_a_run_whose_trials_have_not_ended(tmp_path: Path) -> None:
    found = read_findings(_planned(tmp_path / "s.sqlite", {}))
    _nothing_compared(found)
    assert (found.baseline, found.notes, found.why) == ("none", ("No trial has ended yet.",), None)


def test_a_run_whose_baseline_has_not_ended(tmp_path: Path) -> None:
    path = _planned(tmp_path / "s.sqlite", {"python": 3})
    found = read_findings(path)
    _nothing_compared(found)
    assert [(arm.condition, arm.accuracy.percent) for arm in found.arms] == [("python", 100.0)]
    assert found.notes == ("No trial of the baseline, none, has ended yet: nothing can be compared.",)
    assert found.why is not None
    assert found.why.decompositions == ()
    assert read_findings(path, baseline="never").baseline == "never"


def test_a_run_of_one_condition(tmp_path: Path) -> None:
    found = read_findings(_planned(tmp_path / "s.sqlite", {"none": 3}))
    _nothing_compared(found)
    assert found.notes == ("All trials are of none: there is no condition to compare it with.",)


async def test_a_run_that_names_no_baseline(tmp_path: Path) -> None:
    await filled(tmp_path / "s.sqlite")
    found = read_findings(tmp_path / "s.sqlite")
    _nothing_compared(found)
    told = "The run names no baseline: nothing is compared until --baseline says one of none, python."
    assert found.notes == (told,)


def test_trials_that_nobody_has_scored(tmp_path: Path) -> None:
    found = read_findings(_planned(tmp_path / "s.sqlite", {"none": 2, "python": 2}, scored=False))
    assert found.notes == ("No trial has a score yet.",)
    assert [row.score for row in found.comparisons] == [None]


def test_of_several_scorers_the_first_counts_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"

    async def judged() -> None:
        written = await filled(path)
        with Recorder(path) as recorder:
            await recorder.score([score(trace.trial, 0.0, scorer="judge") for trace in written])

    asyncio.run(judged())
    with Store(path) as store:
        assert store.scorers() == ("choice", "judge")
    first, second = read_findings(path, baseline="none"), read_findings(path, baseline="none", scorer="judge")
    assert [row.score for row in first.comparisons] == [100.0]
    assert [row.score for row in second.comparisons] == [0.0]
    assert first.notes == ("Scores are those of choice; others are there, see --scorer: judge.",)


def test_trials_that_the_run_left_out_are_told(good_plan: Path, cli: Cli, store: Path) -> None:
    assert cli("run", good_plan).returncode == 0
    assert cli("run", good_plan, "--limit", "1").returncode == 0
    assert read_findings(store).notes == ("The store holds 2 more trials, which this run did not call for: see --run.",)
    assert read_findings(store, run="all").notes == ()
    assert [arm.accuracy.questions for arm in read_findings(store, run="all").arms] == [2, 2]


def test_a_condition_that_was_edited_is_shown_beside_the_old_one(write_plan: WritePlan, cli: Cli, store: Path) -> None:
    replies = {(name, condition): answered() for name in ("q1", "q2") for condition in ("none", "cot")}
    for prompt in ("Think.", "Think twice."):
        plan = write_plan(replies, conditions=f"['none', {{ name = 'cot', prompt = '{prompt}' }}]")
        assert cli("run", plan).returncode == 0
    found = read_findings(store, run="all")
    assert found.conditions[0] == "none"
    assert [name.partition("@")[0] for name in found.conditions[1:]] == ["cot", "cot"]
    assert [row.condition for row in found.comparisons] == list(found.conditions[1:])
