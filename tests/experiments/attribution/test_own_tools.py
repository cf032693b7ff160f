"""Attributions to the results of a user's own tools, by placebos from the store that is attributed, without `--live`."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.attribution.scenes import ALL
from tests.experiments.replay.scenes import PRICED, run, tool_calls, trace_of, trial_of
from tests.servers.chat_server import ChatServer, Step, reply

from toolablate.experiments.attribution.replay_rounds import Attributed, attribute
from toolablate.experiments.attribution.store_report import read_report
from toolablate.experiments.replay.batch import replay
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Rerun, ToolCall, Trace
from toolablate.traces.store import Store

BODY = """
    with open({calls!r}, "a") as calls:
        calls.write("x")
    number = int({argument}.split()[1])
    if "twice" in {argument}:
        raise ValueError("no such note")
    return f"Note {{number}}: the charge of item {{number}} is {{500 + number}} units, as measured in the year {{1900 + number}}."
"""

FUNCTION = """
from toolablate.tools import tool

@tool
def note({argument}: str) -> str:
    \"\"\"Reads a note.\"\"\"
"""

SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("notes")

@server.tool()
def note({argument}: str) -> str:
    \"\"\"Read a note.\"\"\"
{body}
server.run()
"""


def misled(argument: str, then: str = "again") -> Callable[[dict[str, Any]], Step]:
    """Believes a note on its own item, and knows the charge itself; after one on another it asks once more in words
    that no record has."""

    def decide(request: dict[str, Any]) -> Step:
        messages = request["messages"]
        item = int(re.findall(r"item (\d+)", next(each["content"] for each in messages if each["role"] == "user"))[0])
        shown = [str(each["content"]) for each in messages if each["role"] == "tool"]
        offered = request.get("tools") and request.get("tool_choice") != "none"
        if offered and not shown:
            return reply("", ("note", {argument: f"item {item}"}))
        believed = any(f"item {item} is {500 + item}" in each for each in shown)
        if offered and len(shown) == 1 and not believed:
            return reply("", ("note", {argument: f"item {item} {then}"}))
        aside = "Put aside" in messages[-1]["content"]
        return reply(f"Answer: {500 + item if believed and not aside else 100 + item}")

    return decide


def noted(
    folder: Path, server: ChatServer, kind: str, argument: str = "topic", *, questions: int = 4, cluster: bool = False
) -> Path:
    """A finished run of questions with a tool that gives a wrong note for each; the tool notes its calls."""
    body = BODY.format(calls=str(folder / "calls.txt"), argument=argument)
    asked = [
        {"id": f"q{number}", "prompt": f"What is the charge of item {number}?"}
        | {"target": {"kind": "number", "value": 100 + number}}
        | ({"cluster": "one"} if cluster else {})
        for number in range(questions)
    ]
    (folder / "questions.jsonl").write_text("".join(json.dumps(each) + "\n" for each in asked), encoding="utf-8")
    more = ""
    if kind == "mcp":
        (folder / "notes.py").write_text(SERVER.format(argument=argument, body=body), encoding="utf-8")
        more = f"[[mcp]]\nname = 'notes'\ncommand = [{json.dumps(sys.executable)}, {json.dumps(str(folder / 'notes.py'))}]\n"
        tools = "mcp:notes"
    else:
        module = f"notes_{folder.name}"
        (folder / f"{module}.py").write_text(FUNCTION.format(argument=argument) + body, encoding="utf-8")
        tools = f"{module}:note"
    plan = folder / "plan.toml"
    plan.write_text(
        f"conditions = ['none', {{ name = 'own', base = 'none', tools = ['{tools}'] }}]\nrepeats = 2\n"
        f"[questions]\nfile = 'questions.jsonl'\n{more}"
        f"[[models]]\nprovider = 'openai'\nname = 'm'\nendpoint = '{server.url}'\n{PRICED}\n",
        encoding="utf-8",
    )
    server.answers(misled(argument))
    return run(plan)


def calls_of(folder: Path) -> int:
    return len((folder / "calls.txt").read_text())


def swapped_trials(store: Path) -> list[tuple[Trace, Condition]]:
    with Store(store) as opened:
        traces = [(opened.trace(each.trial), each) for found in opened.counterfactuals().values() for each in found]
        conditions = [(trace, opened.condition(trace.trial.condition)) for trace, _ in traces]
    return [
        (trace, condition)
        for trace, condition in conditions
        if condition.resumed
        and isinstance(condition.resumed.change, Rerun)
        and condition.resumed.change.substitute == "placebo"
    ]


def labels(store: Path) -> set[tuple[str, str]]:
    found = [each.attribution for each in read_report(store).explained if each.attribution is not None]
    return {(each.mechanism, each.method) for each in found}


@pytest.mark.deep
@pytest.mark.parametrize(
    ("kind", "argument", "mechanism"),
    [
        ("function", "topic", "other_results"),
        ("function", "query", "retrieval_distraction"),
        ("mcp", "topic", "other_results"),
        ("mcp", "query", "retrieval_distraction"),
    ],
)
def test_a_wrong_answer_from_ones_own_tool_is_found_by_replay_without_asking_the_tool(
    chat_server: ChatServer, tmp_path: Path, kind: str, argument: str, mechanism: str
) -> None:
    store = noted(tmp_path, chat_server, kind, argument)
    made = calls_of(tmp_path)
    done = attribute(store, ALL)
    assert (done.missing, done.refused) == (0, ())
    assert calls_of(tmp_path) == made == 8
    assert labels(store) == {(mechanism, "replay")}
    swapped = swapped_trials(store)
    assert len(swapped) == 8 * 2
    for trace, condition in swapped:
        assert condition.resumed
        recorded, further = tool_calls(trace.events)
        of_trial = trace_of(store, condition.resumed.trial)
        (real,) = tool_calls(of_trial.events)
        item = int(json.loads(real.call.arguments)[argument].split()[1])
        for call in (recorded, further):
            assert f"item {item} " not in call.output
            assert re.fullmatch(r"Note (\d): the charge of item \1 is 50\1 units, as measured in the year 190\1\.", call.output)  # fmt: skip
            told = {change.intervention: change.detail for change in call.changes}
            assert told["placebo"] == f"q{call.output[5]}"
            assert told["replay"].endswith("placebos are results for other questions in this store")
        assert recorded.original
        assert recorded.original.output == real.output
        # What it would have given nobody knows.
        assert further.original is None


@pytest.mark.deep
def test_a_store_without_another_question_is_refused_with_what_to_do(chat_server: ChatServer, tmp_path: Path) -> None:
    for number, several in enumerate(({"questions": 1}, {"questions": 3, "cluster": True})):
        folder = tmp_path / f"store{number}"
        folder.mkdir()
        done: Attributed = attribute(noted(folder, chat_server, "function", **several), ALL)  # type: ignore[arg-type]
        (refused,) = done.refused
        assert (refused.purpose, refused.reason) == ("rollout", "no_placebo_source")
        assert "no result of 'note' for another question" in refused.message
        assert "run more questions with this tool" in refused.message
        assert "[placebo]" in refused.message
        assert done.missing == 0


def test_the_same_replay_shows_the_same_placebo_and_never_an_error(chat_server: ChatServer, tmp_path: Path) -> None:
    store = noted(tmp_path, chat_server, "function")
    chat_server.answers(misled("topic", "twice"))
    trial = trial_of(store, "own", "q1")
    first, again = (shown(store, trial, repeats) for repeats in (1, 2))
    assert first == again[: len(first)]
    assert {call.status for call in again} == {"ok"}
    # A single result is swapped so as well.
    (swap,) = replay(store, trial, 1, "placebo").trials
    (call,) = tool_calls(trace_of(store, swap).events)[:1]
    assert call.output == first[0].output
    assert calls_of(tmp_path) == 8


def shown(store: Path, trial: str, repeats: int) -> list[ToolCall]:
    trials = replay(store, trial, 1, Rerun(substitute="placebo", tools=("note",)), repeats=repeats).trials
    return [
        call.model_copy(update={"at": 0.0, "seconds": 0.0})
        for each in trials
        for call in tool_calls(trace_of(store, each).events)
    ]


def test_a_tool_that_erred_under_every_other_question_is_no_source(
    chat_server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "BODY", BODY.replace('"twice" in {argument}', "number != 1"))
    store = noted(tmp_path, chat_server, "function")
    with pytest.raises(InputError, match="none that worked under other words") as caught:
        replay(store, trial_of(store, "own", "q1"), 1, Rerun(substitute="placebo", tools=("note",)))
    assert caught.value.code == "no_placebo_source"
    with pytest.raises(InputError, match="no result of 'note' for another question"):
        replay(store, trial_of(store, "own", "q1"), 1, "placebo")


@pytest.mark.deep
def test_live_asks_the_tool_and_takes_its_placebos_from_the_store_all_the_same(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    store = noted(tmp_path, chat_server, "function")
    done = attribute(store, ALL, live=True)
    assert (done.missing, done.refused) == (0, ())
    assert labels(store) == {("other_results", "replay")}
    assert calls_of(tmp_path) > 8
