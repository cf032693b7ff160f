"""Trials that are taken up again at their events, with real kernels and stores."""

import json
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.experiments.judged import grades, judge_at, judged_plan
from tests.experiments.replay.scenes import (
    by_turn,
    code,
    endpoint_plan,
    model_calls,
    run,
    tool_calls,
    trace_of,
    trial_of,
)
from tests.servers.chat_server import ChatServer, reply

from toolablate.experiments.replay.batch import replay
from toolablate.traces.errors import InputError
from toolablate.traces.records import Drop, Extend, Rebuilt, Repair, Say, Swap
from toolablate.traces.store import Store, verify


@pytest.mark.deep
def test_going_on_from_any_event_of_a_deterministic_trial_ends_as_it_did(scripted: Path) -> None:
    trial = trial_of(scripted)
    recorded = trace_of(scripted, trial)
    kinds = [event.kind for event in recorded.events]
    assert kinds == ["model_call", "tool_call", "model_call", "tool_call", "model_call", "answer"]
    for event in range(len(recorded.events)):
        (again,) = replay(scripted, trial, event).trials
        trace = trace_of(scripted, again)
        assert (trace.outcome, trace.answer) == (recorded.outcome, recorded.answer)
        own = [each for each in trace.events if not isinstance(each, Rebuilt)]
        assert [each.kind for each in own] == kinds[event:]
        assert [each.output for each in tool_calls(own)] == [
            each.output for each in tool_calls(recorded.events[event:])
        ]
        with Store(scripted) as opened:
            (score,) = opened.scores(again)
        assert score.verdict == "correct"
    assert trace_of(scripted, trial) == recorded
    assert verify(scripted).ok


@pytest.mark.deep
def test_a_swap_changes_what_the_model_sees_from_there_on_and_nothing_before(
    scripted: Path,
) -> None:
    trial = trial_of(scripted)
    (swapped,) = replay(scripted, trial, 3, Swap(content="text", text="7")).trials
    trace, recorded = trace_of(scripted, swapped), trace_of(scripted, trial)
    (shown,) = tool_calls(trace.events)
    assert (shown.output, shown.original and shown.original.output) == ("7", "2")
    assert trace.answer == "Answer: 7"
    (asked,), (before,) = model_calls(trace.events), model_calls(recorded.events)[-1:]
    assert asked.request.messages[:-1] == before.request.messages[:-1]
    assert asked.request.tools == before.request.tools
    with Store(scripted) as opened:
        assert opened.scores(swapped)[0].verdict == "wrong"
        assert opened.conversation(swapped)[:3] == recorded.events[:3]


@pytest.mark.deep
def test_gold_adversarial_null_and_placebo_are_shown_in_the_tools_own_form(scripted: Path) -> None:
    trial = trial_of(scripted)
    outputs = {}
    for content in ("gold", "adversarial", "null", "placebo"):
        replayed = replay(scripted, trial, 3, content)
        (shown,) = tool_calls(trace_of(scripted, replayed.trials[0]).events)
        outputs[content] = shown.output
        assert replayed.condition.resumed
        assert replayed.condition.resumed.change == Swap(content=content, text=shown.output)
    assert (outputs["gold"], outputs["null"]) == ("2", "(no output)")
    assert outputs["adversarial"] not in ("2", "")
    assert outputs["placebo"] not in ("2", "")


@pytest.mark.deep
@pytest.mark.parametrize("backend", ["forkserver", "bubblewrap"])
def test_the_state_of_the_kernel_is_there_for_a_cell_that_was_never_recorded(
    chat_server: ChatServer, tmp_path: Path, backend: str
) -> None:
    chat_server.answers(by_turn(code("x = 41"), code("print(x)"), reply("Answer: 41")))
    store = run(endpoint_plan(tmp_path, chat_server, sandbox=f"sandbox = '{backend}'"))
    chat_server.answers(by_turn(code("-"), code("print(x + 1)"), reply("Answer: 42")))
    (again,) = replay(store, trial_of(store), 2).trials
    trace = trace_of(store, again)
    (cell,) = tool_calls(trace.events)
    assert (cell.output, cell.changes) == ("42", ())
    (rebuilt,) = [event for event in trace.events if isinstance(event, Rebuilt)]
    assert (rebuilt.calls, rebuilt.mismatches) == (1, ())


@pytest.mark.deep
def test_a_cell_that_gives_something_else_each_time_is_reported(
    chat_server: ChatServer, tmp_path: Path, cli: Cli
) -> None:
    drawn = "import secrets; print(secrets.token_hex(16))"
    chat_server.answers(by_turn(code(drawn), code(drawn), reply("Answer: 4")))
    store = run(endpoint_plan(tmp_path, chat_server))
    trial = trial_of(store)
    first, second = tool_calls(trace_of(store, trial).events)
    done = cli("replay", store, trial[:12], "--from", "2")
    assert done.returncode == 0, done.stderr
    assert "1 recorded call gave something else" in done.stdout
    with Store(store) as opened:
        (again,) = opened.resumptions(trial)
        trace = opened.trace(again)
    rebuilt = trace.events[0]
    assert isinstance(rebuilt, Rebuilt)
    (mismatch,) = rebuilt.mismatches
    assert (mismatch.event, mismatch.recorded) == (1, first.output)
    assert len(mismatch.now) == 32
    # The second cell has the history of the recorded one, so its result is the recorded one, and says what it was now.
    (cell,) = tool_calls(trace.events)
    assert cell.output == second.output
    assert [change.intervention for change in cell.changes] == ["replay"]
    assert cell.original is not None
    assert cell.original.output not in (first.output, second.output)
    shown = cli("show", store, again)
    assert "event 1 gave something else" in shown.stdout


@pytest.mark.deep
def test_dropping_a_call_leaves_it_out_of_what_the_model_sees_and_of_the_kernel(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    chat_server.answers(by_turn(code("x = 1"), code("x = 2"), code("print(x)"), reply("Answer: 2")))
    store = run(endpoint_plan(tmp_path, chat_server))
    trial = trial_of(store)
    chat_server.answers(by_turn(code("-"), code("print(x)"), reply("Answer: 1")))
    (dropped,) = replay(store, trial, 3, Drop()).trials
    trace = trace_of(store, dropped)
    first = model_calls(trace.events)[0].request.messages
    assert [message.role for message in first] == ["system", "user", "assistant", "tool"]
    assert [each.output for each in tool_calls(trace.events)] == ["1"]


@pytest.mark.deep
def test_dropping_one_of_two_calls_keeps_the_other(chat_server: ChatServer, tmp_path: Path) -> None:
    two = reply("", ("python", {"code": "print(1)"}), ("python", {"code": "print(2)"}))
    chat_server.answers(by_turn(two, reply("Answer: 4")))
    store = run(endpoint_plan(tmp_path, chat_server))
    (dropped,) = replay(store, trial_of(store), 1, Drop()).trials
    trace = trace_of(store, dropped)
    (asked,) = model_calls(trace.events)
    calling, result = asked.request.messages[-2:]
    assert [call.arguments for call in calling.tool_calls] == ['{"code": "print(2)"}']
    assert (result.content, result.tool_call_id) == ("2", calling.tool_calls[0].id)


@pytest.mark.deep
def test_probes_ask_once_without_tools_and_start_no_kernel(chat_server: ChatServer, tmp_path: Path, cli: Cli) -> None:
    chat_server.answers(by_turn(code("print(5)"), reply("Answer: 5")))
    store = run(endpoint_plan(tmp_path, chat_server))
    trial = trial_of(store)
    asked = len(chat_server.requests)
    for option in ("--answer-now", "--ignore-tools"):
        for event in ("1", "2", "3"):
            done = cli("replay", store, trial, "--from", event, option, "--json")
            assert done.returncode == 0, done.stderr
            assert "Starting the sandbox" not in done.stderr
            (told,) = json.loads(done.stdout)["trials"]
            assert told["outcome"] == "answered"
    probes = chat_server.requests[asked:]
    assert [request["tool_choice"] for request in probes] == ["none"] * 6
    assert [request["messages"][-1]["role"] for request in probes] == ["user"] * 6
    # At event 1 the call has no result yet, and endpoints want one.
    assert "not executed" in probes[0]["messages"][-2]["content"]
    assert probes[1]["messages"][-2]["content"] == "5"
    said = {request["messages"][-1]["content"] for request in probes}
    assert len(said) == 2


@pytest.mark.deep
def test_what_is_said_comes_before_the_request(scripted: Path, chat_server: ChatServer, tmp_path: Path) -> None:
    trial = trial_of(scripted)
    (told,) = replay(scripted, trial, 4, Say(text="Check the sign.")).trials
    (asked,) = model_calls(trace_of(scripted, told).events)
    assert [message.content for message in asked.request.messages[-2:]] == ["2", "Check the sign."]
    with pytest.raises(InputError, match="wait for their results") as caught:
        replay(scripted, trial, 3, Say(text="Check the sign."))
    assert caught.value.code == "wrong_event"


@pytest.mark.deep
def test_what_led_there_counts_against_the_budget(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(by_turn(code("print(1)"), code("print(2)"), code("print(3)"), reply("Answer: 4")))
    store = run(endpoint_plan(tmp_path, chat_server, extra="budget = { turns = 3 }"))
    trial = trial_of(store)
    recorded = trace_of(store, trial)
    assert recorded.outcome == "budget"
    (again,) = replay(store, trial, 4).trials
    trace = trace_of(store, again)
    assert [each.purpose for each in model_calls(trace.events)] == ["ask", "final"]
    assert (trace.outcome, trace.usage.input_tokens) == ("budget", 20)
    last = len(recorded.events) - 2
    (again,) = replay(store, trial, last).trials
    assert [event.kind for event in trace_of(store, again).events] == ["model_call", "answer"]
    assert trace_of(store, again).outcome == "budget"
    with Store(store) as opened:
        budget = opened.condition(recorded.trial.condition).budget.model_copy(update={"turns": 9})
    (more,) = replay(store, trial, last, Extend(budget=budget)).trials
    trace = trace_of(store, more)
    assert ([each.purpose for each in model_calls(trace.events)], trace.outcome) == (["ask"], "answered")


@pytest.mark.deep
def test_calls_that_the_budget_kept_from_being_made_are_made_with_a_larger_one(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    two = reply("", ("python", {"code": "print(1)"}), ("python", {"code": "print(2)"}))
    chat_server.answers(by_turn(two, reply("Answer: 4")))
    store = run(endpoint_plan(tmp_path, chat_server, extra="budget = { tool_calls = 1 }"))
    trial = trial_of(store)
    recorded = trace_of(store, trial)
    assert (recorded.outcome, len(tool_calls(recorded.events))) == ("budget", 1)
    for event in range(len(recorded.events)):
        (again,) = replay(store, trial, event).trials
        assert trace_of(store, again).outcome == "budget"
    with Store(store) as opened:
        budget = opened.condition(recorded.trial.condition).budget.model_copy(update={"tool_calls": 2})
    (more,) = replay(store, trial, 2, Extend(budget=budget)).trials
    trace = trace_of(store, more)
    assert ([each.output for each in tool_calls(trace.events)], trace.outcome) == (["2"], "answered")


@pytest.mark.deep
def test_a_call_that_an_intervention_made_fail_is_repaired(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(by_turn(code("print(6 * 7)"), reply("Answer: 4")))
    failing = "[{ name = 'python', tools = ['python'], interventions = ['fail'] }]"
    store = run(endpoint_plan(tmp_path, chat_server, conditions=failing))
    trial = trial_of(store)
    (failed,) = tool_calls(trace_of(store, trial).events)
    assert failed.status == "error"
    (again,) = replay(store, trial, 1).trials
    assert tool_calls(trace_of(store, again).events)[0].output == failed.output
    (mended,) = replay(store, trial, 1, Repair()).trials
    (cell,) = tool_calls(trace_of(store, mended).events)
    assert (cell.output, cell.status) == ("42", "ok")
    (given,) = replay(store, trial, 1, Repair(text="43")).trials
    assert tool_calls(trace_of(store, given).events)[0].output == "43"


@pytest.mark.deep
def test_repeats_are_draws_of_their_own_and_those_that_are_there_are_kept(scripted: Path) -> None:
    trial = trial_of(scripted)
    first = replay(scripted, trial, 2, repeats=2)
    more = replay(scripted, trial, 2, repeats=3)
    assert more.trials[:2] == first.trials
    assert (more.launched.planned, more.launched.done_before) == (3, 2)
    assert trace_of(scripted, first.trials[0]).attempt == 1


@pytest.mark.deep
def test_a_replay_can_itself_be_taken_up_again(scripted: Path) -> None:
    trial = trial_of(scripted)
    (swapped,) = replay(scripted, trial, 1, Swap(content="text", text="unset")).trials
    with Store(scripted) as opened:
        whole = opened.conversation(swapped)
    event = next(place for place, each in enumerate(whole) if place > 1 and each.kind == "model_call")
    (again,) = replay(scripted, swapped, event).trials
    trace = trace_of(scripted, again)
    assert [message.content for message in model_calls(trace.events)[0].request.messages if message.role == "tool"] == [
        "unset"
    ]
    assert trace.answer == "Answer: 2"
    # The kernel is rebuilt from the cells, which the swap has left as they were.
    assert isinstance(trace.events[0], Rebuilt)
    assert trace.events[0].mismatches == ()


@pytest.mark.deep
def test_a_turn_of_which_a_call_was_dropped_is_taken_up_behind_it(chat_server: ChatServer, tmp_path: Path) -> None:
    two = reply("", ("python", {"code": "print(1)"}), ("python", {"code": "print(2)"}))
    chat_server.answers(by_turn(two, reply("Answer: 4")))
    store = run(endpoint_plan(tmp_path, chat_server))
    (dropped,) = replay(store, trial_of(store), 1, Drop()).trials
    with pytest.raises(InputError, match="drops a call"):
        replay(store, dropped, 1)
    (again,) = replay(store, dropped, 2).trials
    (asked,) = model_calls(trace_of(store, again).events)
    assert len(asked.request.messages[-2].tool_calls) == 1


def test_repeats_of_a_simulated_model_keep_its_belief_and_draw_from_it_anew(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "conditions = ['none']\n[questions]\nfile = 'builtin'\nlimit = 1\n[[models]]\nprovider = 'simulated'\n"
        "playbook = 'builtin'\nname = 's'\nconfidence = 0.5\n",
        encoding="utf-8",
    )
    store = run(plan)
    with Store(store) as opened:
        (seen,) = opened.summaries()
    first = replay(store, seen.trial, 0, repeats=30)
    answers = [trace_of(store, each).answer for each in first.trials]
    assert 1 < len(set(answers)) < 30


def test_the_plans_judge_grades_what_was_replayed(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(grades)
    store = run(judged_plan(tmp_path, judge_at(chat_server.url), count=1))
    trial, asked = trial_of(store, "none", "q0"), len(chat_server.requests)
    replayed = replay(store, trial, 0, repeats=2)
    assert replayed.launched.ungraded == 0
    assert len(chat_server.requests) == asked + 2
    with Store(store) as opened:
        assert [opened.scores(each)[0].verdict for each in replayed.trials] == ["wrong", "wrong"]
