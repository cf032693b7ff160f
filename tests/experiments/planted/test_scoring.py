"""A small planted run from beginning to end: made, run with real kernels and a real index, replayed, scored."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli
from tests.experiments.attribution.commands import called, called_through, said
from tests.experiments.diagnosing.failures import labelled
from tests.experiments.judged import judge_at
from tests.experiments.replay.scenes import run
from tests.reports.attribution.contradictions import contradictions_of
from tests.servers.chat_server import ChatServer, reply

from toolablate.experiments.attribution.explained import explained
from toolablate.experiments.attribution.replay_rounds import attribute
from toolablate.experiments.planted import scored_against_truth
from toolablate.experiments.planted.making import LABELS, PLAN, make_planted
from toolablate.experiments.planted.scored_against_truth import Coverage, coverage, score_planted
from toolablate.experiments.planted.truth import truth_of
from toolablate.experiments.planted.view import planted_json
from toolablate.traces.errors import InputError
from toolablate.traces.records import ReplayDesign, ToolCall
from toolablate.traces.store import Store

QUESTIONS = 6

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def planted_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of which only some wrong trials are replayed."""
    folder = tmp_path_factory.mktemp("planted")
    make_planted(folder, "dev", questions=QUESTIONS, seed=1, repeats=2)
    store = run(folder / PLAN)
    design = ReplayDesign(failures=0.4, successes=0.0, samples=2, rollouts=1)
    attribute(store, design, conditions=["python", "search"])
    return folder


def store_of(folder: Path) -> Path:
    return folder / "runs" / "planted-dev.sqlite"


@pytest.mark.deep
def test_by_trace_every_wrong_trial_has_a_verdict(planted_run: Path) -> None:
    score = score_planted(store_of(planted_run), method="trace", samples=2)
    assert score.wrong + score.right == QUESTIONS * 4 * 2
    assert score.verdicts == score.wrong > 0
    assert sum(sum(row.values()) for row in score.confusion.values()) == score.verdicts
    assert score.at_best >= score.macro_f1
    assert {each.condition for each in score.shares} == {"python", "search", "python_flaky", "search_flaky"}


@pytest.mark.deep
def test_no_page_of_a_trial_contradicts_its_own_counts(planted_run: Path) -> None:
    found = contradictions_of(store_of(planted_run))
    assert len(found) == QUESTIONS * 4 * 2
    assert {trial: said for trial, said in found.items() if said} == {}


def test_by_replay_only_what_was_replayed_has_one(planted_run: Path) -> None:
    score = score_planted(store_of(planted_run), method="replay", samples=2)
    assert 0 < score.verdicts < score.wrong
    assert score.constant_step is None or score.constant_step > 0
    told = json.loads(planted_json(score))
    assert {each["what"] for each in told["figures"]} >= {
        "macro-F1 over causes",
        "step exact",
        "coverage of 90 % intervals",
    }
    assert told["confusion"].keys() <= told["f1"].keys()


def test_the_command_shows_the_figures(cli: Cli, planted_run: Path) -> None:
    shown = cli("planted", "score", store_of(planted_run), "--method", "trace", "--samples", "2")
    assert shown.returncode == 0, shown.stderr
    for words in ("SIMULATED", "macro-F1 over causes", "Who&When", "Attributed cause (across)"):
        assert words in shown.stdout


@pytest.mark.deep
def test_a_folder_without_what_was_planted_is_refused(planted_run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        score_planted(store_of(planted_run), folder=tmp_path)
    for name in ("scenarios.jsonl", LABELS):
        shutil.copy(planted_run / name, tmp_path / name)
    assert score_planted(store_of(planted_run), folder=tmp_path, method="trace", samples=1).verdicts
    (tmp_path / LABELS).write_text("{}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"planted\.jsonl:1"):
        score_planted(store_of(planted_run), folder=tmp_path)


def test_a_store_of_other_models_has_no_truth(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "conditions = ['none']\n[questions]\nfile = 'builtin'\nlimit = 1\n"
        "[[models]]\nprovider = 'simulated'\nname = 's'\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError, match="holds no trial with tools of a model that acts out scenarios"):
        score_planted(run(plan))


@pytest.mark.deep
def test_a_trial_that_was_replayed_counts_where_nothing_is_said_of_it(
    planted_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = score_planted(store_of(planted_run), method="replay", samples=1)
    silent = [
        replace(each, attribution=None, hypotheses=()) if number % 2 else each
        for number, each in enumerate(explained(store_of(planted_run)).explained)
    ]
    gathered = replace(explained(store_of(planted_run)), explained=tuple(silent))
    monkeypatch.setattr(scored_against_truth, "explained", lambda _: gathered)
    found = score_planted(store_of(planted_run), method="replay", samples=1)
    assert found.verdicts == whole.verdicts
    assert sum(row.get(None, 0) for row in found.confusion.values()) > 0


@pytest.mark.deep
def test_shares_without_an_interval_are_counted(planted_run: Path) -> None:
    with Store(store_of(planted_run)) as opened:
        truth = {(each.model, each.condition): each.expected for each in truth_of(opened).conditions}
    found = explained(store_of(planted_run)).decompositions
    unexplained = [replace(decomposition, mechanisms=()) for decomposition in found]
    something = sum(abs(share) >= 0.001 for parts in truth.values() for share in parts.mechanisms.values())
    assert coverage(unexplained, truth) == Coverage(0, 0, 0, 0, missing=something)
    assert 0 <= coverage(found, truth).missing < something


# Judges that read planted trials: what their labels are worth, and what that is used for.


LABELS_SAID = ("misleading_adoption", "existence_as_norm", "over_engineering", "none")
LADDER = re.compile(r"^ladder = \[.*?^\]$", re.MULTILINE | re.DOTALL)


def reads(request: Mapping[str, Any]) -> Any:
    """A judge by rule: it takes pages for misleading wherever one was opened."""
    opened = "open_page" in str(request["messages"][-1])
    return reply(labelled("knowledge", "misleading_adoption" if opened else "none"))


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a planted run of search alone, whose wrong trials are replayed."""
    folder = tmp_path_factory.mktemp("planted")
    make_planted(folder, "dev", questions=16, seed=3, repeats=1)
    plan = folder / PLAN
    text = plan.read_text(encoding="utf-8")
    plan.write_text(LADDER.sub('conditions = ["none", "search"]', text), encoding="utf-8")
    attribute(run(plan), ReplayDesign(failures=1.0, successes=0.0, samples=1, rollouts=1))
    return folder


@pytest.fixture
def store(replayed: Path, tmp_path: Path, chat_server: ChatServer) -> Path:
    """The same, whose wrong trials a judge has read by a plan that names it."""
    shutil.copytree(replayed, tmp_path, dirs_exist_ok=True)
    found = tmp_path / "runs" / "planted-dev.sqlite"
    chat_server.answers(reads)
    judged = tmp_path / "judged.toml"
    judged.write_text((tmp_path / PLAN).read_text(encoding="utf-8") + judge_at(chat_server.url), encoding="utf-8")
    told = called("attribute", found, "--judge", "j", "--plan", judged)
    assert told.exit_code == 0, told.output
    return found


def planted_counts(store: Path) -> dict[str, Counter[str]]:
    """What the judge's rule says of wrong trials that searched, by what was planted."""
    rows = (store.parents[1] / LABELS).read_text(encoding="utf-8").splitlines()
    ways = {row["question"]: row["distraction"] for row in map(json.loads, rows)}
    found = {label: Counter[str]() for label in LABELS_SAID}
    with Store(store) as opened:
        for true in truth_of(opened).trials:
            calls = [event for event in opened.trace(true.trial).events if isinstance(event, ToolCall)]
            if true.mechanism is None or not calls:
                continue
            drawn = true.mechanism == "retrieval_distraction"
            opens = any(event.call.name == "open_page" for event in calls)
            found[ways[true.question] if drawn else "none"]["misleading_adoption" if opens else "none"] += 1
    return found


@pytest.mark.deep
def test_a_judge_is_held_against_what_was_planted_and_its_shares_are_corrected(store: Path, tmp_path: Path) -> None:
    path = tmp_path / "judges.json"
    page = said("planted", "score", store, "--method", "trace", "--samples", "1", "--judges", path)
    assert "(wording 1) says (across) of planted trials (down)" in page
    (matrix,) = json.loads(path.read_text(encoding="utf-8"))
    assert (matrix["judge"].partition("@")[0], matrix["wording"]) == ("j", 1)
    expected = planted_counts(store)
    assert sum(each.total() for each in expected.values()) > 3
    assert matrix["counts"] == {true: {kind: expected[true][kind] for kind in LABELS_SAID} for true in LABELS_SAID}

    few = json.loads(said("attribute", store, "--judge-matrix", path, "--json"))
    assert few["matrices"] == [matrix]
    assert {each["shares"]["uncorrected"].partition(" of ")[0] for each in few["judged"]} == {
        "fewer than 20 planted trials"
    }

    enough = matrix | {"counts": {true: dict.fromkeys(LABELS_SAID, 2) | {true: 50} for true in LABELS_SAID}}
    path.write_text(json.dumps([enough]), encoding="utf-8")
    page = " ".join(said("attribute", store, "--judge-matrix", path).split())
    assert "Corrected for its errors on planted trials." in page
    assert "Not corrected" in " ".join(said("attribute", store).split())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"judge": "j@00000000"}, r"it is of j@00000000 \(wording 1\); the labels here are of j@"),
        ({"wording": 2}, r"\(wording 2\); the labels here are of j@[0-9a-f]{8} \(wording 1\)"),
        ({"counts": {"none": {"none": 3}}}, r"matrix 1: .*name each of misleading_adoption"),
        ({"colour": "red"}, "matrix 1: colour: unknown key"),
        ({"judge": None}, "matrix 1: judge"),
    ],
)
def test_a_matrix_of_another_judge_or_none_at_all_is_refused(
    store: Path, tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    path = tmp_path / "judges.json"
    said("planted", "score", store, "--method", "trace", "--samples", "1", "--judges", path)
    (matrix,) = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps([matrix | changed]), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        called_through("attribute", store, "--judge-matrix", path)


def test_without_labels_there_is_nothing_to_write_or_to_correct(replayed: Path, store: Path, tmp_path: Path) -> None:
    path = tmp_path / "judges.json"
    said("planted", "score", store, "--method", "trace", "--samples", "1", "--judges", path)
    unread = replayed / "runs" / "planted-dev.sqlite"
    with pytest.raises(InputError, match="--judges: no judge has read a wrong trial"):
        called_through("planted", "score", unread, "--method", "trace", "--samples", "1", "--judges", path)
    with pytest.raises(InputError, match="--judge-matrix: no judge has read a trial"):
        called_through("attribute", unread, "--judge-matrix", path)
    for text, message in (("{", "is no JSON"), ("[]", "should hold"), ("[" * 100_000, "is no JSON")):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            called_through("attribute", store, "--judge-matrix", path)
