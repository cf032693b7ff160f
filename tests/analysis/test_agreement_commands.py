"""`toolablate agreement` on stores that a recorder wrote."""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.conftest import Cli
from tests.experiments.judged import GRADE, grades, judge_at, judged_plan
from tests.servers.chat_server import ChatServer, ChatServers, reply
from tests.traces import samples

from toolablate.analysis.agreement.report import read_graded
from toolablate.cli import group
from toolablate.traces.errors import InputError
from toolablate.traces.records import Score, Trial
from toolablate.traces.store import Recorder

JUDGE, OTHER = "judge[m@1a2b3c4d]", "judge[o@99aa88bb]"
AGAIN = "judge[m@1a2b3c4d,again=1]"

Graders = Mapping[str, Callable[[int, Trial], float | None]]
"""What each scorer makes of the trials, by their number; a scorer that gives -1 has not looked."""


def write(
    path: Path,
    graders: Graders,
    *,
    identity: str = "run-1",
    questions: int = 12,
    repeats: int = 2,
    fingerprint: Mapping[str, str] = {},
) -> None:
    """Trials of which the repeats of a question end with the same text."""

    async def fill() -> None:
        with Recorder(path) as recorder:
            asked = tuple(samples.question(number) for number in range(questions))
            planned = samples.trials(asked, repeats=repeats)
            run = samples.run(identity).model_copy(
                update={"baseline": "none", "scorers": (next(iter(graders)),), "fingerprint": dict(fingerprint)}
            )
            recorder.plan(run, asked, [samples.MODEL], [samples.NONE, samples.CODE], planned)
            for trial in planned:
                if trial.id not in recorder.finished_trials():
                    await samples.attempt(recorder, trial, turns=1, salt=trial.question)
            await recorder.score(list(_scores(planned, graders)))

    asyncio.run(fill())


def _scores(planned: list[Trial], graders: Graders) -> list[Score]:
    grades = [
        (trial, scorer, grade(number, trial))
        for scorer, grade in graders.items()
        for number, trial in enumerate(planned)
    ]
    return [samples.score(trial, value, scorer=scorer) for trial, scorer, value in grades if value != -1]


def agreement(*arguments: str | Path) -> Result:
    return CliRunner().invoke(group, ["agreement", *map(str, arguments)], catch_exceptions=False)


def figures(*arguments: str | Path) -> Any:
    found = agreement(*arguments, "--json")
    assert found.exit_code == 0, found.output
    return json.loads(found.output)


FOUR: Graders = {
    "choice": lambda number, _: float(number % 2),
    JUDGE: lambda number, _: float(number % 2 or number % 8 == 0),
    AGAIN: lambda number, _: float(number % 2),
    OTHER: lambda number, _: None if number % 4 == 0 else float(number % 2) if number % 6 else -1,
}


def test_scorers_of_one_store_are_set_side_by_side(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    write(store, FOUR)
    told = agreement(store)
    assert told.exit_code == 0
    page = "".join(told.output.split())
    for text in ("1choice2judge[m@1a2b3c4d]", "Effectsby1andby2", "gradedagain", "sametext", "docs/statistics.md"):
        assert text in page
    found = figures(store)
    pairs = list(dict.fromkeys((row["first"], row["second"]) for row in found["agreements"]))
    assert pairs == [("choice", JUDGE), ("choice", OTHER), (JUDGE, AGAIN), (JUDGE, OTHER)]
    total, none, python = found["agreements"][:3]
    assert (total["model"], total["condition"], none["condition"], python["condition"]) == (
        None,
        None,
        "none",
        "python",
    )
    assert (total["trials"], total["second_only"], total["first_only"], total["questions"]) == (48, 6, 0, 12)
    assert (none["second_only"], python["second_only"]) == (6, 0)
    other = next(row for row in found["agreements"] if row["second"] == OTHER)
    assert (other["trials"], other["second_unscored"], other["second_absent"]) == (32, 12, 4)
    shift = found["shifts"][0]
    assert (shift["baseline"], shift["condition"], shift["points"]) == ("none", "python", pytest.approx(-25))
    again, same, same_of_other = found["regraded"]
    assert (again["judge"], again["way"], again["answers"], again["differing"]) == (JUDGE, "again", 48, 6)
    # Four trials of each question end with one text.
    assert (same["way"], same["answers"], same["pairs"]) == ("same_text", 24, 144)
    assert same_of_other["judge"] == OTHER
    assert [row["judge"] for row in found["judge_noise"]] == [JUDGE, OTHER]


def test_named_scorers_alone_are_compared_and_any_two_of_them(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    write(store, FOUR)
    found = figures(store, "--scorer", OTHER, "--scorer", AGAIN)
    assert {(row["first"], row["second"]) for row in found["agreements"]} == {(OTHER, AGAIN)}
    for arguments, code, told in (
        (["--scorer", JUDGE], "usage", "names one scorer alone"),
        (["--scorer", JUDGE, "--scorer", JUDGE], "usage", "names one scorer alone"),
        (["--scorer", JUDGE, "--scorer", "no such"], "unknown_scorer", "There are no scores by a scorer 'no such'"),
    ):
        with pytest.raises(InputError, match=told) as caught:
            agreement(store, *arguments)
        assert caught.value.code == code
    with pytest.raises(InputError, match="--run"):
        agreement(store, "--run", "no such")


def test_disagreements_are_listed_with_ids_that_show_takes(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    write(store, FOUR)
    arguments = [store, "--disagreements", "--scorer", "choice", "--scorer", JUDGE]
    listed = figures(*arguments)["disagreements"]
    assert len(listed) == 6
    assert {(row["first_verdict"], row["second_verdict"]) for row in listed} == {("wrong", "correct")}
    page = agreement(*arguments).output
    assert f"Read one: toolablate show {store} TRIAL" in page.replace("\n", "")
    for row in listed:
        assert row["trial"][:10] in page
        shown = CliRunner().invoke(group, ["show", str(store), row["trial"][:10]], catch_exceptions=False)
        assert row["trial"] in shown.output
    assert (
        "No trial on which two scorers differ"
        in agreement(store, "--disagreements", "--scorer", "choice", "--scorer", AGAIN).output
    )


def test_a_store_of_one_scorer_is_told_how_to_get_a_second(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    write(store, {"choice": FOUR["choice"]})
    with pytest.raises(InputError, match="by one scorer alone: choice") as caught:
        agreement(store)
    assert caught.value.code == "one_scorer"
    assert "[[judges]]" in caught.value.hint
    assert "again = 1" in caught.value.hint
    write(tmp_path / "none.sqlite", {"choice": lambda *_: -1})
    with pytest.raises(InputError, match="no score yet"):
        agreement(tmp_path / "none.sqlite")
    halves: Graders = {
        "choice": lambda number, _: 1.0 if number % 2 else -1,
        JUDGE: lambda number, _: -1 if number % 2 else 1.0,
    }
    write(tmp_path / "halves.sqlite", halves)
    with pytest.raises(InputError, match="has scores by two of its scorers"):
        agreement(tmp_path / "halves.sqlite")


def test_judges_of_a_run_are_set_side_by_side_with_their_regradings(
    chat_servers: ChatServers, chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(grades)
    with chat_servers.server() as severe:
        severe.answers(lambda request: reply(GRADE % 0))
        judges = judge_at(chat_server.url) + judge_at(severe.url, "severe")
        ran = cli("run", judged_plan(tmp_path, f"{judges}[judging]\nagain = 1\n"))
        assert ran.returncode == 0, ran.stderr
    found = figures(store)
    judge, other = (found["agreements"][place][name] for place, name in ((0, "first"), (-1, "first")))
    assert judge.startswith("judge[j@")
    assert other.startswith("judge[severe@")
    pairs = dict.fromkeys((row["first"], row["second"]) for row in found["agreements"])
    assert list(pairs) == [
        (judge, judge.replace("]", ",again=1]")),
        (judge, other),
        (other, other.replace("]", ",again=1]")),
    ]
    total = next(row for row in found["agreements"] if row["second"] == other)
    assert (total["trials"], total["first_only"], total["neither"], total["kappa"]) == (8, 7, 1, 0)
    assert {row["judge"] for row in found["regraded"] if row["way"] == "again" and row["percent"] == 0} == {
        judge,
        other,
    }


def test_trials_of_other_runs_are_left_out_and_told(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    write(store, FOUR)
    write(store, FOUR, identity="run-2", questions=4)
    found = read_graded(store)
    assert (len(found.gradings["choice"]), found.left_out) == (16, 32)
    told = " ".join(agreement(store).output.split())
    assert "The store holds 32 more trials, which this run did not call for: see --run" in told
    assert len(read_graded(store, run="all").gradings["choice"]) == 48
    assert read_graded(store, run="all", with_answers=False).answers == {}


@pytest.mark.parametrize(
    ("replies", "ways"),
    [
        ("live", {"again", "same_text"}),
        ("record replies.sqlite", {"again"}),
        ("replay 569a672ad5c77637", {"again"}),
    ],
)
def test_equal_answers_say_nothing_of_noise_where_they_share_a_recorded_grade(
    tmp_path: Path, replies: str, ways: set[str]
) -> None:
    store = tmp_path / "s.sqlite"
    write(store, FOUR, fingerprint={"replies": replies})
    assert {row["way"] for row in figures(store)["regraded"]} == ways


def test_two_names_of_one_judge_are_one_scorer(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    write(store, FOUR)
    with pytest.raises(InputError, match="names one scorer alone") as caught:
        agreement(store, "--scorer", JUDGE, "--scorer", "m")
    assert caught.value.code == "usage"
