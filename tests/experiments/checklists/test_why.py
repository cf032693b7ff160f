"""Why items flipped: by replays that the store has, and by the tool results that an item's text is from."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.benchmarks.clear.judging import judged
from tests.experiments.judged import judge_at
from tests.servers.chat_server import ChatServer, reply

from toolablate.analysis.checklist_attribution import (
    FlippedItem,
    ReplayedItem,
    change_name,
    flipped_items,
    restored_shares,
    source_of,
)
from toolablate.analysis.checklist_flips import CheckedTrial
from toolablate.cli import group
from toolablate.traces.records import Again, ItemScore, Rerun, Swap
from toolablate.traces.store import Store

WRONG = "a moss that grows on old stone walls"
TEXT = f"Notes. It is said to come from {WRONG} in the north."


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(group, [*map(str, arguments)])


def answers(request: dict[str, Any]) -> Any:
    """j judges; m is right by itself, believes what it finds, and is right again where it finds nothing."""
    messages = request["messages"]
    if request["model"] == "j":
        return reply(judged(messages))
    results = [str(message["content"]) for message in messages if message["role"] == "tool"]
    if request.get("tools") and not results:
        return reply(None, ("document_search", {"query": "moss walls"}))
    believed = any(WRONG in result for result in results)
    return reply(f"Origin: {WRONG if believed else 'a fungus'}\nUse: kills mites")


@pytest.fixture
def store(chat_server: ChatServer, tmp_path: Path) -> Path:
    chat_server.answers(answers)
    (tmp_path / "notes.txt").write_text(TEXT, encoding="utf-8")
    items = [{"name": "Origin", "reference": "a fungus"}, {"name": "Use", "reference": "kills mites"}]
    rows = [
        {"id": f"q{n}", "prompt": f"Describe substance {n}.", "as_is": True, "documents": ["notes.txt"],
         "target": {"kind": "checklist", "items": items}}
        for n in range(2)
    ]  # fmt: skip
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"store = '{tmp_path / 'store.sqlite'}'\nconditions = ['none', {{ name = 'search', tools = ['documents'] }}]\n"
        f"[questions]\nfile = 'questions.jsonl'\n"
        f"[[models]]\nprovider = 'openai'\nname = 'm'\nendpoint = '{chat_server.url}'\n{judge_at(chat_server.url)}",
        encoding="utf-8",
    )
    ran = invoke("run", plan)
    assert ran.exit_code == 0, ran.output
    return tmp_path / "store.sqlite"


@pytest.mark.deep
def test_a_falsified_item_is_from_a_result_and_comes_back_without_it(store: Path, tmp_path: Path) -> None:
    with Store(store) as opened:
        trials = {(seen.question, seen.condition): seen.trial for seen in opened.summaries()}
    for change in (("--swap", "null"), ()):
        for question in ("q0", "q1"):
            replayed = invoke("replay", store, trials[question, "search"], "--from", "1", *change)
            assert replayed.exit_code == 0, replayed.output
    shown = invoke("clear", "flips", store, "--why", "--json")
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    assert [(each["question"], each["item"], each["event"]) for each in found["flipped"]] == [
        ("q0", "Origin", "falsified"), ("q1", "Origin", "falsified"),
    ]  # fmt: skip
    assert {each["source"] for each in found["flipped"]} == {1}
    shares = {each["change"]: each["restored"]["value"] for each in found["restored"]}
    assert shares == {"one result replaced (null)": 1, "sampled again": 0}
    assert next(each["beyond_again"]["value"] for each in found["restored"] if "null" in each["change"]) == 1
    table = invoke("clear", "flips", store, "--why")
    assert "event 1 (100 %)" in table.output
    assert "flipped" not in json.loads(invoke("clear", "flips", store, "--json").stdout)


def test_an_item_has_one_event_and_most_runs_of_the_baseline_decide() -> None:
    def trial(condition: str, mapped: str, *, right: bool) -> CheckedTrial:
        item = ItemScore(item="A", expected=True, mapped=mapped, precision=right, recall=right)
        return CheckedTrial("m", condition, "q", "q", (item,), condition)

    right, wrong, silent = (trial("none", text, right=text == "x") for text in ("x", "y", ""))
    assert [each[1] for each in flipped_items([right, right, wrong], trial("search", "y", right=False))] == [
        "falsified"
    ]
    assert [each[1] for each in flipped_items([right], trial("search", "", right=False))] == ["newly_silent"]
    assert flipped_items([right, silent, silent], trial("search", "", right=False)) == []
    assert flipped_items([right], trial("search", "x", right=True)) == []


def test_what_comes_back_is_told_beside_what_comes_back_by_chance() -> None:
    def item(number: int, swapped: int, again: int) -> FlippedItem:
        replays = (ReplayedItem("swap", swapped, 2), ReplayedItem("sampled again", again, 4))
        return FlippedItem("t", "m", "search", f"q{number}", number, "A", "lost", "", 1.0, replays)

    swap, again = restored_shares([item(n, 1 + n % 2, n % 3) for n in range(12)])
    assert (swap.change, swap.items, swap.replays, again.replays) == ("swap", 12, 24, 48)
    assert swap.restored.value == pytest.approx(0.75)
    assert swap.beyond_again.value == pytest.approx(0.5)
    assert swap.beyond_again.ci95 is not None
    assert swap.beyond_again.ci95[0] > 0
    assert again.beyond_again.value is None


def test_a_text_is_from_the_result_that_holds_what_is_new_in_it() -> None:
    text = ["it", "kills", "mites", "on", "old", "stone", "walls"]
    results = {3: ["found", "on", "old", "stone", "walls"], 5: ["it", "kills", "mites", "on", "old", "stone", "walls"]}
    assert source_of(text, [["it", "kills", "mites", "on"]], results) == (5, 1.0)
    assert source_of(text, [["it", "kills", "mites", "on"]], {3: results[3]}) == (3, pytest.approx(2 / 3))
    assert source_of(text, [], {3: results[3]}) is None
    assert source_of(text, [text], results) is None
    assert source_of(["two", "words"], [], results) is None


def test_changes_have_names() -> None:
    assert change_name(Again()) == change_name(Rerun()) == "sampled again"
    assert change_name(Rerun(substitute="placebo", tools=("web_search",))) == "placebo in place of web_search"
    assert change_name(Swap(content="null", text="")) == "one result replaced (null)"
