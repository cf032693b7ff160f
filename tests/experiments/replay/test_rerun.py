"""Trials drawn anew from an event on with substitutes, other results, another budget, and tools that work."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.experiments.replay.scenes import (
    by_turn,
    code,
    double,
    endpoint_plan,
    model_calls,
    own_tool,
    run,
    tool_calls,
    trace_of,
    trial_of,
)
from tests.servers.chat_server import ChatServer, reply

from toolablate.experiments.replay.batch import replay, replay_many
from toolablate.experiments.replay.requests import RefusedReplaysError, ReplayRequest
from toolablate.traces.errors import InputError
from toolablate.traces.records import Budget, Event, Rebuilt, Rerun, ShownResult
from toolablate.traces.store import Store

DOUBLE = """
from toolablate.tools import tool

@tool
def double(number: int) -> int:
    \"\"\"Doubles a number.\"\"\"
    return 2 * number
"""


@pytest.fixture
def computed(chat_server: ChatServer, tmp_path: Path) -> Path:
    """A trial of two cells, whose second needs the first."""
    chat_server.answers(by_turn(code("x = 5\nprint(x)"), code("print(x + 1)"), reply("Answer: 6")))
    return run(endpoint_plan(tmp_path, chat_server))


def _condition(store: Path, trial: str) -> tuple[tuple[str, object], ...]:
    with Store(store) as opened:
        condition = opened.condition(opened.trace(trial).trial.condition)
    return tuple((use.name, use.options.get("tools")) for use in condition.interventions)


def _rebuilt(events: tuple[Event, ...]) -> Rebuilt | None:
    return next((event for event in events if isinstance(event, Rebuilt)), None)


@pytest.mark.deep
def test_with_nothing_changed_it_is_drawn_anew_after_the_same_results(computed: Path) -> None:
    (again,) = replay(computed, trial_of(computed), 1, Rerun()).trials
    trace = trace_of(computed, again)
    assert [each.output for each in tool_calls(trace.events)] == ["5", "6"]
    assert trace.answer == "Answer: 6"


@pytest.mark.deep
def test_a_substitute_answers_for_its_tools_from_the_event_on(computed: Path) -> None:
    sham = Rerun(substitute="sham", tools=("python",))
    (behind,) = replay(computed, trial_of(computed), 3, sham).trials
    trace = trace_of(computed, behind)
    (cell,) = tool_calls(trace.events)
    assert (cell.output, [change.intervention for change in cell.changes]) == ("(no output)", ["sham"])
    assert [each.content for each in model_calls(trace.events)[0].request.messages[-3:]] == ["5", "", "(no output)"]
    assert _condition(computed, behind) == (("sham", ["python"]),)
    (first,) = replay(computed, trial_of(computed), 1, sham).trials
    assert [each.output for each in tool_calls(trace_of(computed, first).events)] == ["(no output)"] * 2
    # A replay of it keeps the substitute.
    (nested,) = replay(computed, first, 3).trials
    (cell,) = tool_calls(trace_of(computed, nested).events)
    assert cell.output == "(no output)"


@pytest.mark.deep
def test_a_placebo_is_made_from_what_the_tool_really_gives(computed: Path) -> None:
    (shown,) = replay(computed, trial_of(computed), 1, Rerun(substitute="placebo", tools=("python",))).trials
    cells = tool_calls(trace_of(computed, shown).events)
    assert [cell.original and cell.original.output for cell in cells] == ["5", "6"]
    assert all(cell.output not in ("5", "6") for cell in cells)


@pytest.mark.deep
def test_a_substitute_for_some_tools_leaves_the_others_their_recorded_results(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    chat_server.answers(by_turn(double(4), code("print(7)"), double(5), reply("Answer: 4")))
    conditions = own_tool(tmp_path, DOUBLE, "'python', ")
    store = run(endpoint_plan(tmp_path, chat_server, conditions=conditions))
    trial = trial_of(store, "own")
    (cells,) = replay(store, trial, 1, Rerun(substitute="sham", tools=("python",))).trials
    assert [each.output for each in tool_calls(trace_of(store, cells).events)] == ["8", "(no output)", "10"]
    for live in (False, True):
        with pytest.raises(InputError, match="no result of 'double' for another question than 'q1'") as caught:
            replay(store, trial, 1, Rerun(substitute="placebo", tools=("double",)), live=live)
        assert caught.value.code == "no_placebo_source"


@pytest.mark.deep
def test_results_that_were_seen_are_shown_otherwise_and_the_kernel_keeps_what_they_did(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    two = reply("", ("python", {"code": "x = 1\nprint(x)"}), ("python", {"code": "y = 2\nprint(y)"}))
    chat_server.answers(by_turn(two, code("print(3)"), reply("Answer: 3")))
    store = run(endpoint_plan(tmp_path, chat_server))
    trial = trial_of(store)
    chat_server.answers(by_turn(two, code("print(3)"), code("print(x + y)"), reply("Answer: 3")))
    shown = tuple(ShownResult(event=event, text=f"hidden {event}") for event in (2, 4))
    (rerun,) = replay(store, trial, 5, Rerun(shown=shown)).trials
    trace = trace_of(store, rerun)
    asked = model_calls(trace.events)[0].request.messages
    assert [each.content for each in asked if each.role == "tool"] == ["1", "hidden 2", "hidden 4"]
    # The model answers by turns: it has made two replies, and a third cell is drawn.
    (cell,) = tool_calls(trace.events)
    assert cell.output == "3"
    # Within a turn, a result that is there already.
    (within,) = replay(store, trial, 2, Rerun(shown=(ShownResult(event=1, text="hidden"),))).trials
    asked = model_calls(trace_of(store, within).events)[0].request.messages
    assert [each.content for each in asked if each.role == "tool"] == ["hidden", "2"]
    with pytest.raises(InputError, match="shows other results"):
        replay(store, within, 2)
    with pytest.raises(InputError, match="event 2 is no tool call before event 2"):
        replay(store, trial, 2, Rerun(shown=shown))


@pytest.mark.deep
def test_a_larger_budget_holds_from_an_earlier_event_on(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(by_turn(code("print(1)"), code("print(2)"), code("print(3)"), reply("Answer: 4")))
    store = run(endpoint_plan(tmp_path, chat_server, extra="budget = { turns = 2 }"))
    trial = trial_of(store)
    assert trace_of(store, trial).outcome == "budget"
    for event in (1, 4):
        (more,) = replay(store, trial, event, Rerun(budget=Budget(turns=4))).trials
        trace = trace_of(store, more)
        assert (trace.outcome, tool_calls(trace.events)[-1].output) == ("answered", "3")
    both = Rerun(budget=Budget(turns=4), substitute="sham", tools=("python",))
    (sham,) = replay(store, trial, 1, both).trials
    trace = trace_of(store, sham)
    assert (trace.outcome, [each.output for each in tool_calls(trace.events)]) == ("answered", ["(no output)"] * 3)


FAILING = (
    "[{ name = 'python', tools = ['python'], interventions = ["
    "{ name = 'fail', options = { calls = [1] } }, { name = 'remind', options = { text = 'Mind.' } }] }]"
)


@pytest.mark.deep
def test_sound_tools_are_without_what_made_them_fail(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(by_turn(code("x = 6"), code("1 / 0"), code("print(7)"), reply("Answer: 4")))
    store = run(endpoint_plan(tmp_path, chat_server, conditions=FAILING))
    trial = trial_of(store)
    recorded = tool_calls(trace_of(store, trial).events)
    assert [each.error for each in recorded] == ["injected_failure", "ZeroDivisionError", ""]
    chat_server.answers(by_turn(code("x = 6"), code("print(x)"), reply("Answer: 6")))
    (sound,) = replay(store, trial, 1, Rerun(sound=True)).trials
    cells = tool_calls(trace_of(store, sound).events)
    assert [each.output for each in cells] == ["(no output)\n\nMind.", "6\n\nMind."]
    # What only added its words to an exception of the model's own code did not make it.
    assert _condition(store, sound) == (("remind", None),)


@pytest.mark.deep
def test_draws_of_interventions_are_those_of_the_record_wherever_it_is_taken_up(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    both = reply("", ("double", {"number": 1}), ("python", {"code": "print('both')"}))
    unfit = reply("", ("double", {"bad": 1}))
    steps = [unfit, double(2), code("print('a')"), both, double(3), code("print('b')"), code("print('c')")]
    chat_server.answers(by_turn(*steps, reply("Answer: 4")))
    often = ", interventions = [{ name = 'fail', options = { rate = 0.5 } }]"
    store = run(endpoint_plan(tmp_path, chat_server, conditions=own_tool(tmp_path, DOUBLE, "'python', ", often)))
    trial = trial_of(store, "own")
    events = trace_of(store, trial).events
    recorded = [(each.call.name, each.output) for each in tool_calls(events)]
    assert 0 < sum(output.startswith("This call failed") for _, output in recorded) < len(recorded)
    batch = replay_many(store, [ReplayRequest(trial, event) for event in range(len(events))])
    for event, replayed in enumerate(batch.replayed):
        trace = trace_of(store, replayed.trials[0])
        rebuilt = _rebuilt(trace.events)
        assert rebuilt is None or rebuilt.mismatches == ()
        cells = [each for each in tool_calls(trace.events) if each.call.name == "python"]
        assert _by_reply(trace.events) == _by_reply(events[event:])
        assert all(change.intervention != "replay" for each in cells for change in each.changes)


def _by_reply(events: Sequence[Event]) -> list[list[tuple[str, str]]]:
    """What the calls of each reply gave; those of one reply run at once, and end in any order."""
    turns: list[list[tuple[str, str]]] = [[]]
    for each in events:
        if each.kind == "model_call":
            turns.append([])
        elif each.kind == "tool_call":
            turns[-1].append((each.call.name, each.output))
    return [sorted(turn) for turn in turns if turn]


@pytest.mark.deep
def test_what_does_not_fit_is_refused_with_its_trial_and_event(computed: Path) -> None:
    trial = trial_of(computed)
    content = computed.read_bytes()
    unfit = [
        (Rerun(substitute="sham"), 1, "one of them is missing"),
        (Rerun(tools=("python",)), 1, "one of them is missing"),
        (Rerun(substitute="sham", tools=("web_search",)), 1, "has no tool 'web_search'"),
        (Rerun(budget=Budget(turns=99)), 5, "has answered"),
        (Rerun(), 99, "no event 99"),
    ]
    wanted = [ReplayRequest(trial, 0), *(ReplayRequest(trial, event, change) for change, event, _ in unfit)]
    with pytest.raises(
        RefusedReplaysError, match=f"trial {trial[:12]}, event 1: .* \\(4 more are refused\\)"
    ) as caught:
        replay_many(computed, wanted)
    assert [refusal.place for refusal in caught.value.refusals] == [1, 2, 3, 4, 5]
    for refusal, (_, _, told) in zip(caught.value.refusals, unfit, strict=True):
        assert told in refusal.error.message
    assert computed.read_bytes() == content
