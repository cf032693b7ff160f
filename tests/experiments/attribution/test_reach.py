"""What `attribute` says that a store's own design can tell, before any money is spent."""

import re
import subprocess
from pathlib import Path

import pytest
from tests.experiments.attribution.commands import read, run, said
from tests.experiments.attribution.conftest import PLAN
from tests.experiments.attribution.test_own_tools import noted
from tests.servers.chat_server import ChatServer

from toolablate.experiments.attribution.store_report import read_reach

HEADING = "What this design can tell apart"


def told(store: Path) -> dict[str, str]:
    return {each.mechanism: each.told_by for each in read_reach(store).mechanisms}


def test_a_ladder_with_repeats_tells_all_and_the_page_begins_with_it(ran: Path) -> None:
    page = said("attribute", ran)
    above, _, below = page.partition(HEADING)
    assert not above.strip()
    lines = below.partition("Smallest effect")[0].splitlines()
    assert len(lines) <= 14
    assert "not told" not in below.partition("flip")[0]
    found = read(ran)["identified"]
    assert {each["mechanism"]: each["told_by"] for each in found["mechanisms"]} == told(ran) == {
        **dict.fromkeys(("lock_in", "volume", "use"), "replays"),
        **dict.fromkeys(("calling", "availability", "prompt"), "arms"),
        **dict.fromkeys(("budget", "tool_fault", "format", "sampling_noise", "own_error"), "replays"),
    }  # fmt: skip
    wrong = sum(each["value"] < 1 for each in read(ran)["trials"])
    assert found["wrong_trials"] == wrong
    (smallest,) = found["smallest_effects"]
    assert (smallest["condition"], smallest["questions"]) == ("python", 6)
    # Said once: the notes no longer say which arms are missing.
    assert not any("no arm" in note for note in read(ran)["notes"])


@pytest.mark.deep
def test_without_a_ladder_and_with_one_repeat_it_says_what_to_add(tmp_path: Path) -> None:
    plan = PLAN.replace('ladder = ["python"]\nrepeats = 3', 'conditions = ["none", "python"]').replace("= 6", "= 3")
    store = run(tmp_path, plan)
    assert {mechanism for mechanism, by in told(store).items() if by == "nothing"} == {
        "use", "calling", "availability", "prompt", "own_error"
    }  # fmt: skip
    page = " ".join(said("attribute", store).split())
    for add in ("ladder arms sham, offered", "ladder arms offered, scaffold", "repeats = 2 or more"):
        assert f"add {add}" in page
    assert "Smallest effect that 3 questions show: not known" in page


@pytest.mark.deep
def test_ones_own_tool_of_a_single_question_needs_a_second_one(chat_server: ChatServer, tmp_path: Path) -> None:
    for number, (questions, by) in enumerate(((1, "nothing"), (2, "replays"))):
        folder = tmp_path / f"store{number}"
        folder.mkdir()
        store = noted(folder, chat_server, "function", questions=questions)
        (of_content,) = (each for each in read_reach(store).mechanisms if each.mechanism == "other_results")
        assert (of_content.told_by, of_content.conditions) == (by, ("own",))
        assert of_content.add == ("" if number else "results of the tool for a second question, or [placebo] store")


@pytest.mark.deep
def test_it_is_told_before_the_first_replay(replayed: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    _, asked = replayed
    before, _, after = re.sub(r"\s+", " ", asked.stderr).partition("to be replayed")
    assert HEADING in before
    assert HEADING not in after + asked.stdout
