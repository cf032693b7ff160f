"""Judges that read planted trials: what their labels are worth, and what that is used for."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.attributing.test_attribute import called, called_through, said
from tests.experiments.counterfactual.scenes import run
from tests.experiments.diagnosing.failures import labelled
from tests.experiments.judged import judge_at
from tests.servers.chat_server import ChatServer, reply

from toolablate.experiments.attribution.attributing import attribute
from toolablate.experiments.planted.making import LABELS, PLAN, make_planted
from toolablate.experiments.planted.truth import truth_of
from toolablate.traces.errors import InputError
from toolablate.traces.records import ReplayDesign, ToolCall
from toolablate.traces.store import Store

pytestmark = pytest.mark.timeout(240)

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
