"""A small planted run from beginning to end: made, run with real kernels and a real index, replayed, scored."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.experiments.counterfactual.scenes import run

from toolablate.experiments.attribution.attributing import attribute
from toolablate.experiments.attribution.explained import explained
from toolablate.experiments.planted import scoring
from toolablate.experiments.planted.making import LABELS, PLAN, make_planted
from toolablate.experiments.planted.scoring import Coverage, coverage, score_planted
from toolablate.experiments.planted.truth import truth_of
from toolablate.experiments.planted.view import planted_json
from toolablate.traces.errors import InputError
from toolablate.traces.records import ReplayDesign
from toolablate.traces.store import Store

QUESTIONS = 6

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of which only some wrong trials are replayed."""
    folder = tmp_path_factory.mktemp("planted")
    make_planted(folder, "dev", questions=QUESTIONS, seed=1, repeats=2)
    store = run(folder / PLAN)
    design = ReplayDesign(failures=0.4, successes=0.0, samples=2, rollouts=1)
    attribute(store, design, conditions=["python", "search"])
    return folder


def store_of(folder: Path) -> Path:
    return folder / "runs" / "planted-dev.sqlite"


def test_by_trace_every_wrong_trial_has_a_verdict(made: Path) -> None:
    score = score_planted(store_of(made), method="trace", samples=2)
    assert score.wrong + score.right == QUESTIONS * 4 * 2
    assert score.verdicts == score.wrong > 0
    assert sum(sum(row.values()) for row in score.confusion.values()) == score.verdicts
    assert score.at_best >= score.macro_f1
    assert {each.condition for each in score.shares} == {"python", "search", "python_flaky", "search_flaky"}


def test_by_replay_only_what_was_replayed_has_one(made: Path) -> None:
    score = score_planted(store_of(made), method="replay", samples=2)
    assert 0 < score.verdicts < score.wrong
    assert score.constant_step is None or score.constant_step > 0
    told = json.loads(planted_json(score))
    assert {each["what"] for each in told["figures"]} >= {
        "macro-F1 over causes",
        "step exact",
        "coverage of 90 % intervals",
    }
    assert told["confusion"].keys() <= told["f1"].keys()


def test_the_command_shows_the_figures_beside_their_aims(cli: Cli, made: Path) -> None:
    shown = cli("planted", "score", store_of(made), "--method", "trace", "--samples", "2")
    assert shown.returncode == 0, shown.stderr
    for said in ("SIMULATED", "macro-F1 over causes", "Who&When", "What is said (across)"):
        assert said in shown.stdout


def test_a_folder_without_what_was_planted_is_refused(made: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        score_planted(store_of(made), folder=tmp_path)
    for name in ("scenes.jsonl", LABELS):
        shutil.copy(made / name, tmp_path / name)
    assert score_planted(store_of(made), folder=tmp_path, method="trace", samples=1).verdicts
    (tmp_path / LABELS).write_text("{}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"planted\.jsonl:1"):
        score_planted(store_of(made), folder=tmp_path)


def test_a_store_of_other_models_has_no_truth(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "conditions = ['none']\n[questions]\nfile = 'builtin'\nlimit = 1\n"
        "[[models]]\nprovider = 'simulated'\nname = 's'\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError, match="holds no trial with tools of a model that acts out scenes"):
        score_planted(run(plan))


def test_a_trial_that_was_replayed_counts_where_nothing_is_said_of_it(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = score_planted(store_of(made), method="replay", samples=1)
    silent = [
        replace(each, attribution=None, hypotheses=()) if number % 2 else each
        for number, each in enumerate(explained(store_of(made)).explained)
    ]
    gathered = replace(explained(store_of(made)), explained=tuple(silent))
    monkeypatch.setattr(scoring, "explained", lambda _: gathered)
    found = score_planted(store_of(made), method="replay", samples=1)
    assert found.verdicts == whole.verdicts
    assert sum(row.get(None, 0) for row in found.confusion.values()) > 0


def test_shares_without_an_interval_are_counted(made: Path) -> None:
    with Store(store_of(made)) as opened:
        truth = {(each.model, each.condition): each.expected for each in truth_of(opened).conditions}
    found = explained(store_of(made)).ledgers
    bare = [replace(ledger, mechanisms=()) for ledger in found]
    something = sum(abs(share) >= 0.001 for parts in truth.values() for share in parts.mechanisms.values())
    assert coverage(bare, truth) == Coverage(0, 0, 0, 0, missing=something)
    assert 0 <= coverage(found, truth).missing < something
