"""What tools give after a trial is taken up again: the record, the plan's web in replay, or nothing."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.attribution.scenes import Heard
from tests.experiments.library import Library
from tests.experiments.replay.scenes import (
    by_turn,
    double,
    endpoint_plan,
    own_tool,
    run,
    tool_calls,
    trace_of,
    trial_of,
)
from tests.servers.chat_server import ChatServer, Step, reply

from toolablate.experiments.replay.batch import replay
from toolablate.traces.errors import InputError
from toolablate.traces.records import Rebuilt, Rerun, Say, Swap, ToolCall
from toolablate.traces.store import Store

COUNTING = """
from pathlib import Path
from toolablate.tools import tool

@tool
def double(number: int) -> int:
    \"\"\"Doubles a number.\"\"\"
    calls = Path(__file__).with_name("calls.txt")
    calls.write_text(calls.read_text() + "x" if calls.exists() else "x")
    return 2 * number
"""
SLOW = """
import asyncio
from toolablate.tools import tool

@tool
async def double(number: int) -> int:
    \"\"\"Doubles a number, after others had their turn.\"\"\"
    await asyncio.sleep(0.05)
    return 2 * number
"""
SUBJECT = "water"


def search(query: str) -> Step:
    return reply("", ("web_search", {"query": query}))


def opening(**arguments: str) -> Step:
    return reply("", ("browser_open", dict(arguments)))


@pytest.fixture
def own(chat_server: ChatServer, tmp_path: Path) -> Path:
    chat_server.answers(by_turn(double(1), double(2), reply("Answer: 4")))
    return run(endpoint_plan(tmp_path, chat_server, conditions=own_tool(tmp_path, COUNTING)))


def _calls(folder: Path) -> int:
    return len((folder / "calls.txt").read_text())


def test_a_call_in_the_words_of_the_record_gets_its_result_and_is_not_made(own: Path, tmp_path: Path) -> None:
    made = _calls(tmp_path)
    (again,) = replay(own, trial_of(own, "own"), 0).trials
    assert [each.output for each in tool_calls(trace_of(own, again).events)] == ["2", "4"]
    assert _calls(tmp_path) == made


def test_what_was_not_recorded_is_a_miss_unless_the_replay_is_live(
    own: Path, chat_server: ChatServer, tmp_path: Path
) -> None:
    trial, made = trial_of(own, "own"), _calls(tmp_path)
    chat_server.answers(by_turn(double(1), double(30), reply("Answer: 60")))
    heard = Heard()
    (missed,) = replay(own, trial, 2, progress=heard).trials
    assert any("1 call of double not in the record returned an error" in said for said in heard.told)
    (call,) = tool_calls(trace_of(own, missed).events)
    assert (call.status, call.lookup and call.lookup.miss) == ("error", "not_in_archive")
    assert _calls(tmp_path) == made
    # Another message is another counterfactual; the same one would be there already.
    heard = Heard()
    (found,) = replay(own, trial, 2, Say(text="Go on."), live=True, progress=heard).trials
    assert not any("not in the record" in said for said in heard.told)
    (call,) = tool_calls(trace_of(own, found).events)
    assert (call.output, call.lookup) == ("60", None)
    assert _calls(tmp_path) == made + 1


def test_of_two_calls_in_the_same_words_each_has_its_own_result(chat_server: ChatServer, tmp_path: Path) -> None:
    counting = COUNTING.replace("2 * number", "len(calls.read_text())").replace("doubles", "counts")
    chat_server.answers(by_turn(double(1), double(1), double(1), reply("Answer: 4")))
    store = run(endpoint_plan(tmp_path, chat_server, conditions=own_tool(tmp_path, counting)))
    trial = trial_of(store, "own")
    assert [each.output for each in tool_calls(trace_of(store, trial).events)] == ["1", "2", "3"]
    (again,) = replay(store, trial, 2).trials
    assert [each.output for each in tool_calls(trace_of(store, again).events)] == ["2", "3"]


def test_of_equal_calls_made_at_once_each_keeps_its_result_where_the_later_one_ended_first(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    chat_server.answers(by_turn(reply("", *[("double", {"number": 1})] * 2), reply("Answer: 4")))
    limited = ", interventions = [{ name = 'limit', options = { calls = 1 } }]"
    store = run(endpoint_plan(tmp_path, chat_server, conditions=own_tool(tmp_path, SLOW, more=limited)))
    trial = trial_of(store, "own")
    refused, given = tool_calls(trace_of(store, trial).events)
    assert (given.output, refused.status) == ("2", "error")
    (again,) = replay(store, trial, 2).trials
    assert [each.output for each in tool_calls(trace_of(store, again).events)] == ["2"]


def test_a_corpus_answers_what_was_not_recorded(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(by_turn(search(SUBJECT), reply("Answer: 4")))
    corpus = "search = { provider = 'corpus', corpus = 'builtin' }"
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['search']", extra=corpus))
    trial = trial_of(store, "search")
    (recorded,) = tool_calls(trace_of(store, trial).events)
    chat_server.answers(by_turn(search("-"), search(f"{SUBJECT} and more"), reply("Answer: 4")))
    (swapped,) = replay(store, trial, 1, "null").trials
    nothing, found = tool_calls(trace_of(store, swapped).events)
    assert nothing.output == f"No results for {SUBJECT!r}."
    assert nothing.original is not None
    assert nothing.original.output == recorded.output
    assert (found.status, found.lookup and found.lookup.miss) == ("ok", None)
    assert "No results" not in found.output


@pytest.mark.deep
def test_what_has_moved_with_its_plan_is_looked_for_where_the_plan_lies(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "water.txt").write_text("Water boils at 100 degrees.", encoding="utf-8")
    chat_server.answers(by_turn(search("water"), reply("Answer: 4")))
    corpus = "search = { provider = 'corpus', corpus = 'docs' }"
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['search']", extra=corpus))
    (tmp_path / "docs").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="no corpus at") as caught:
        replay(store, trial_of(store, "search"), 1, Rerun(substitute="sham", tools=("browser_open",)))
    assert "--plan PLAN" in caught.value.hint


@pytest.fixture
def library() -> Iterator[Library]:
    with Library().running() as running:
        yield running


def _web(library: Library, mode: str) -> str:
    archive = "archive = 'web-archive'\n" if mode != "live" else ""
    return (
        f"[search]\nprovider = 'searxng'\nendpoint = '{library.url}'\n"
        f"[web]\nmode = '{mode}'\n{archive}allow = ['{library.host}']\ndelay_seconds = 0\n"
    )


def _browsing(library: Library, chat_server: ChatServer, folder: Path, mode: str) -> tuple[Path, ToolCall]:
    """A run that opened the first page, and that call."""
    chat_server.answers(by_turn(opening(url=library.pages[0]), reply("Answer: 4")))
    store = run(endpoint_plan(folder, chat_server, conditions="['search']", extra=_web(library, mode)))
    (opened,) = tool_calls(trace_of(store, trial_of(store, "search")).events)
    assert opened.status == "ok"
    return store, opened


def _finding(page: str) -> Step:
    return reply("", ("browser_find", {"page_id": page, "pattern": "the"}))


def _page_id(opened: ToolCall) -> str:
    return opened.output.partition("[")[2].partition("]")[0]


@pytest.mark.deep
def test_without_leave_a_live_web_is_not_asked(library: Library, chat_server: ChatServer, tmp_path: Path) -> None:
    store, opened = _browsing(library, chat_server, tmp_path, "live")
    trial, asked = trial_of(store, "search"), len(library.requests)
    chat_server.answers(by_turn(opening(url="-"), opening(url=library.pages[1]), reply("Answer: 4")))
    (again,) = replay(store, trial, 2).trials
    (call,) = tool_calls(trace_of(store, again).events)
    assert (call.status, call.lookup and call.lookup.miss) == ("error", "not_in_archive")
    # The page was open in the record; that it cannot be searched is no mistake of the model's.
    chat_server.answers(by_turn(opening(url="-"), _finding(_page_id(opened)), reply("Answer: 4")))
    (found,) = replay(store, trial, 2, Say(text="Look into it.")).trials
    (call,) = tool_calls(trace_of(store, found).events)
    assert call.lookup is not None
    assert (call.lookup.kind, call.lookup.miss) == ("page", "not_in_archive")
    chat_server.answers(by_turn(opening(url="-"), opening(url=library.pages[1]), reply("Answer: 4")))
    with pytest.raises(InputError, match="no result of 'browser_open' for another question") as caught:
        replay(store, trial, 1, "placebo")
    assert caught.value.code == "no_placebo_source"
    assert len(library.requests) == asked
    (live,) = replay(store, trial, 2, Say(text="Go on."), live=True).trials
    assert tool_calls(trace_of(store, live).events)[0].status == "ok"
    assert len(library.requests) > asked


def _of_question(number: int, library: Library) -> Step:
    """Searches for what each question is about, then opens a page of its own."""
    page = library.pages[5 * number]
    return reply("", ("web_search", {"query": page.rpartition("/")[2]}), ("browser_open", {"url": page}))


@pytest.mark.deep
@pytest.mark.parametrize("mode", ["live", "record"])
def test_placebos_of_a_web_that_is_not_asked_come_from_the_other_questions_of_the_store(
    library: Library, chat_server: ChatServer, tmp_path: Path, mode: str
) -> None:
    def decide(request: dict[str, Any]) -> Step:
        prompt = next(each["content"] for each in request["messages"] if each["role"] == "user")
        number = int(re.findall(r"subject (\d+)", prompt)[0])
        said = sum(each["role"] == "assistant" for each in request["messages"])
        further = reply("", ("web_search", {"query": "else"}), ("browser_open", {"url": f"{library.url}/no/such/page"}))
        return (_of_question(number, library), *([further] if more else []), reply("Answer: 4"))[min(said, 1 + more)]

    more = False
    chat_server.answers(decide)
    plan = endpoint_plan(tmp_path, chat_server, conditions="['search']", extra=_web(library, mode))
    asked = [
        {"id": f"q{number}", "prompt": f"Tell subject {number}", "target": {"kind": "number", "value": 4444}}
        for number in range(3)
    ]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(each) + "\n" for each in asked), encoding="utf-8")
    store = run(plan)
    made, more = len(library.requests), True
    tools = ("web_search", "browser_open", "browser_find")
    (swapped,) = replay(store, trial_of(store, "search"), 1, Rerun(substitute="placebo", tools=tools)).trials
    real = {each.call.name: each for each in tool_calls(trace_of(store, trial_of(store, "search")).events)}
    calls = tool_calls(trace_of(store, swapped).events)
    assert [each.call.name for each in calls] == ["web_search", "browser_open"] * 2
    assert len(library.requests) == made
    for each in calls:
        assert each.status == "ok", each.output
        changes = [change.intervention for change in each.changes]
        assert changes == ["replay", "placebo"]
        assert each.output != real[each.call.name].output
    assert all(each.original and each.original.output == real[each.call.name].output for each in calls[:2] if each.call.name == "web_search")  # fmt: skip
    assert [each.original for each in calls[2:]] == [None, None]
    assert calls[2].output.startswith("Results for 'else':")


@pytest.mark.deep
def test_pages_are_opened_again_from_a_sealed_archive(
    library: Library, chat_server: ChatServer, tmp_path: Path
) -> None:
    from toolablate.tools import open_archive

    store, opened = _browsing(library, chat_server, tmp_path, "record")
    trial = trial_of(store, "search")
    chat_server.answers(by_turn(opening(url="-"), _finding(_page_id(opened)), reply("Answer: 4")))
    # While it can still change, it is no record.
    (unsealed,) = replay(store, trial, 2).trials
    assert tool_calls(trace_of(store, unsealed).events)[0].status == "error"
    from toolablate.tools.archive.sealing import seal

    seal(tmp_path / "web-archive")
    with open_archive(tmp_path / "web-archive") as archive:
        assert archive.sealed
    asked = len(library.requests)
    (again,) = replay(store, trial, 2, Say(text="Look again.")).trials
    trace = trace_of(store, again)
    assert isinstance(trace.events[0], Rebuilt)
    assert (trace.events[0].calls, trace.events[0].mismatches) == (1, ())
    (found,) = tool_calls(trace.events)
    assert found.status == "ok"
    assert len(library.requests) == asked
    (swapped,) = replay(store, trial, 1, Swap(content="text", text="Nothing.")).trials
    assert tool_calls(trace_of(store, swapped).events)[0].output == "Nothing."


@pytest.mark.deep
def test_the_interventions_of_the_condition_hold_on(chat_server: ChatServer, tmp_path: Path) -> None:
    from tests.experiments.replay.scenes import code

    chat_server.answers(by_turn(code("print(1)"), reply("Answer: 4")))
    reminded = (
        "[{ name = 'python', tools = ['python'], interventions = [{ name = 'remind', options = { text = 'Mind.' } }] }]"
    )
    store = run(endpoint_plan(tmp_path, chat_server, conditions=reminded))
    trial = trial_of(store)
    chat_server.answers(by_turn(code("-"), code("print(2)"), reply("Answer: 4")))
    (again,) = replay(store, trial, 2).trials
    (cell,) = tool_calls(trace_of(store, again).events)
    assert [change.intervention for change in cell.changes] == ["remind"]
    with Store(store) as opened:
        assert opened.resumptions(trial)[again].interventions == opened.conditions()[0].interventions
