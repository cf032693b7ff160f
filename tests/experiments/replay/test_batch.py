"""Many trials taken up in one go."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.judged import grades, judge_at, judged_plan
from tests.experiments.plan_files import wait_for
from tests.experiments.replay.scenes import (
    PRICED,
    by_turn,
    code,
    endpoint_plan,
    model_calls,
    run,
    tool_calls,
    trace_of,
    trial_of,
)
from tests.servers.chat_server import ChatServer, Hang, Json, Step, reply

from toolablate.experiments.environment import environment
from toolablate.experiments.replay.batch import ReplaySession, estimate_many, replay_many
from toolablate.experiments.replay.requests import ReplayRequest
from toolablate.sandbox import Sandbox, open_sandbox
from toolablate.traces.errors import InputError
from toolablate.traces.records import Again, AnswerNow, IgnoreTools, Say, Swap
from toolablate.traces.store import Store, verify

LAST = reply("Answer: 5")
CONDITIONS = "['none', 'python']"


@pytest.fixture
def computed(chat_server: ChatServer, tmp_path: Path) -> Path:
    """A trial of two cells, and one without tools."""
    chat_server.answers(by_turn(code("x = 5"), code("print(x)"), LAST))
    plan = endpoint_plan(tmp_path, chat_server, conditions=CONDITIONS)
    return run(plan)


def _wanted(store: Path) -> list[ReplayRequest]:
    coding, bare = trial_of(store), trial_of(store, "none")
    return [
        ReplayRequest(coding, 3, Again(), repeats=2),
        ReplayRequest(bare, 0, AnswerNow()),
        ReplayRequest(coding, 3, "null"),
        ReplayRequest(coding[:12], 2, AnswerNow(), repeats=3),
        ReplayRequest(coding, 3, Again()),
    ]


@pytest.mark.deep
def test_each_has_its_own_trials_in_the_order_of_what_was_wanted(computed: Path) -> None:
    wanted = _wanted(computed)
    estimate = estimate_many(computed, wanted)
    batch = replay_many(computed, wanted)
    assert [len(each.trials) for each in batch.replayed] == [2, 1, 1, 3, 1]
    assert (estimate.trials, estimate.missing) == (7, 7)
    assert (batch.launched.planned, batch.launched.missing, batch.estimated_usd) == (7, 0, estimate.usd)
    again, bare, null, probes, first = batch.replayed
    assert first.trials == again.trials[:1]
    assert (bare.parent, again.parent) == (trial_of(computed, "none"), trial_of(computed))
    for each in batch.replayed:
        assert each.condition.resumed
        assert each.condition.resumed.trial == each.parent
    assert [each.output for each in tool_calls(trace_of(computed, again.trials[1]).events)] == ["5"]
    assert [each.output for each in tool_calls(trace_of(computed, null.trials[0]).events)] == ["(no output)"]
    for probe in probes.trials:
        (asked,) = model_calls(trace_of(computed, probe).events)
        assert asked.request.tool_choice == "none"
    with Store(computed) as opened:
        assert opened.finished_resumptions() == {trial for each in batch.replayed for trial in each.trials}
        assert all(opened.scores(trial) for each in batch.replayed for trial in each.trials)
    assert verify(computed).ok


@pytest.mark.deep
def test_what_is_there_is_not_run_again_and_opens_nothing(
    computed: Path, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = _wanted(computed)
    before = replay_many(computed, wanted)
    asked = len(chat_server.requests)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a sandbox was opened")

    monkeypatch.setattr(environment, "open_sandbox", refuse)
    batch = replay_many(computed, wanted, max_cost=0)
    assert [each.trials for each in batch.replayed] == [each.trials for each in before.replayed]
    assert (batch.launched.done_before, batch.estimated_usd) == (7, 0.0)
    more = replay_many(computed, [*wanted, ReplayRequest(trial_of(computed), 4, AnswerNow(), repeats=2)])
    assert (more.launched.done_before, more.launched.planned) == (7, 9)
    assert len(chat_server.requests) == asked + 2


@pytest.mark.deep
def test_batches_of_a_session_share_a_sandbox_which_its_end_closes(
    computed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, closed = list[Sandbox](), list[Sandbox]()

    def counted(*given: Any, **named: Any) -> Sandbox:
        sandbox = open_sandbox(*given, **named)
        close = sandbox.close

        async def counted_close() -> None:
            await close()
            closed.append(sandbox)

        monkeypatch.setattr(sandbox, "close", counted_close)
        opened.append(sandbox)
        return sandbox

    monkeypatch.setattr(environment, "open_sandbox", counted)
    coding = trial_of(computed)
    with ReplaySession() as session:
        for repeats in (1, 2):
            batch = replay_many(computed, [ReplayRequest(coding, 3, Again(), repeats=repeats)], session=session)
            assert batch.launched.missing == 0
            last = trace_of(computed, batch.replayed[0].trials[-1])
            assert [each.output for each in tool_calls(last.events)] == ["5"]
        assert (len(opened), closed) == (1, [])
    assert closed == opened
    replay_many(computed, [ReplayRequest(coding, 3, Again(), repeats=3)])
    assert (len(opened), closed) == (2, opened)


@pytest.mark.deep
def test_nothing_that_is_wanted_is_nothing_that_is_done(computed: Path) -> None:
    content = computed.read_bytes()
    batch = replay_many(computed, [])
    assert (batch.replayed, batch.launched.planned, batch.estimated_usd) == ((), 0, 0.0)
    assert computed.read_bytes() == content


def test_trials_of_several_models_go_to_the_model_of_each(chat_server: ChatServer, tmp_path: Path) -> None:
    plan = endpoint_plan(tmp_path, chat_server, conditions="['none']")
    other = f"[[models]]\nprovider = 'openai'\nname = 'n'\nendpoint = '{chat_server.url}'\n"
    plan.write_text(plan.read_text(encoding="utf-8") + other, encoding="utf-8")
    chat_server.answers(by_turn(LAST))
    store = run(plan)
    with Store(store) as opened:
        trials = {seen.model: seen.trial for seen in opened.summaries()}
    asked = len(chat_server.requests)
    wanted = [ReplayRequest(trials["m"], 0, Say(text="m")), ReplayRequest(trials["n"], 0, Say(text="n"))]
    batch = replay_many(store, wanted)
    said = {(each["model"], each["messages"][-1]["content"]) for each in chat_server.requests[asked:]}
    assert said == {("m", "m"), ("n", "n")}
    # Of one model the price is known.
    assert batch.estimated_usd is None
    assert batch.replayed[0].estimated_usd is not None
    with pytest.raises(InputError, match="has no price"):
        replay_many(store, [ReplayRequest(trials["n"], 0)], max_cost=1.0)


@pytest.mark.deep
def test_trials_of_several_plans_of_one_store_are_run_by_their_own(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(by_turn(LAST))
    plan = endpoint_plan(tmp_path, chat_server, conditions="['none']")
    store = run(plan)
    first = trial_of(store, "none")
    second = endpoint_plan(tmp_path, chat_server, conditions="['python']")
    second.write_text(f"store = '{store}'\n" + second.read_text(encoding="utf-8").replace(PRICED, ""), "utf-8")
    run(second)
    wanted = [ReplayRequest(trial_of(store), 0), ReplayRequest(first, 0), ReplayRequest(trial_of(store), 1)]
    batch = replay_many(store, wanted)
    assert [each.parent for each in batch.replayed] == [each.trial for each in wanted]
    assert batch.launched.planned == 3
    assert [each.estimated_usd is None for each in batch.replayed] == [True, False, False]


@pytest.mark.deep
def test_a_swap_is_made_with_the_text_that_it_was_made_with_before(computed: Path) -> None:
    trial = trial_of(computed)
    first = replay_many(computed, [ReplayRequest(trial, 3, "placebo")]).replayed[0]
    second = replay_many(computed, [ReplayRequest(trial, 3, "placebo", repeats=2)]).replayed[0]
    assert second.condition == first.condition
    assert isinstance(second.condition.resumed and second.condition.resumed.change, Swap)
    assert second.trials[0] == first.trials[0]


@pytest.mark.deep
def test_what_costs_more_than_was_thought_is_not_gone_on_with(computed: Path, chat_server: ChatServer) -> None:
    bare = trial_of(computed, "none")
    with Store(computed) as opened:
        recorded = opened.trace(bare).cost_usd
    assert recorded
    wanted = [ReplayRequest(bare, 0, repeats=60)]
    assert estimate_many(computed, wanted).usd == pytest.approx(60 * recorded)
    usage = {"prompt_tokens": 10, "completion_tokens": 500, "total_tokens": 510}
    chat_server.answers(by_turn(reply("Answer: 5", usage=usage)))
    batch = replay_many(computed, wanted, max_cost=70 * recorded)
    assert batch.launched.stopped
    assert 0 < batch.launched.missing < 60
    chat_server.answers(by_turn(LAST))
    assert replay_many(computed, wanted).launched.missing == 0


@pytest.mark.deep
def test_a_probe_is_estimated_by_the_tokens_that_its_model_counts(chat_server: ChatServer, tmp_path: Path) -> None:
    def counted(request: dict[str, Any]) -> Step:
        # As for Chinese: a token for each character, and a hundred for the tools.
        read = 100 + sum(len(each["content"] or "") for each in request["messages"])
        usage = {"prompt_tokens": read, "completion_tokens": 5, "total_tokens": read + 5}
        said = by_turn(code("print('x' * 2000)"), LAST)(request)
        assert isinstance(said, Json)
        return Json({**said.value, "usage": usage})

    chat_server.answers(counted)
    store = run(endpoint_plan(tmp_path, chat_server))
    batch = replay_many(store, [ReplayRequest(trial_of(store), event, AnswerNow()) for event in (0, 2, 3)])
    assert batch.estimated_usd
    assert 0.9 * batch.spent_usd < batch.estimated_usd < 1.1 * batch.spent_usd


def test_what_judges_take_is_in_the_estimate(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(grades)
    store = run(judged_plan(tmp_path, judge_at(chat_server.url, more=PRICED), count=1))
    trial = trial_of(store, "none", "q0")
    estimate = estimate_many(store, [ReplayRequest(trial, 0, repeats=2)])
    with Store(store) as opened:
        (score,) = opened.scores(trial)
    assert score.judgement
    (call,) = score.judgement.calls
    assert call.cost_usd
    assert estimate.usd == pytest.approx(2 * call.cost_usd)


KILLED = """
import sys
from toolablate.experiments.replay.requests import ReplayRequest
from toolablate.experiments.replay.batch import replay_many
from toolablate.traces.records import AnswerNow, Rerun
store, coding, bare = sys.argv[1:]
wanted = [ReplayRequest(coding, 3, Rerun(), repeats=3), ReplayRequest(bare, 0, AnswerNow(), repeats=3)]
batch = replay_many(store, wanted)
print(batch.launched.missing)
"""


@pytest.mark.deep
def test_killed_in_the_middle_only_the_rest_is_run(computed: Path, chat_server: ChatServer) -> None:
    calls = iter(range(100))
    chat_server.answers(lambda _: LAST if next(calls) < 2 else Hang())
    command = [sys.executable, "-c", KILLED, str(computed), trial_of(computed), trial_of(computed, "none")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: len(_finished(computed)) == 2)
        os.kill(process.pid, signal.SIGKILL)
    before, asked = _finished(computed), len(chat_server.requests)
    assert verify(computed).ok
    chat_server.answers(by_turn(LAST))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
    assert len(chat_server.requests) == asked + 4
    assert before < _finished(computed)
    assert len(_finished(computed)) == 6
    assert verify(computed).ok


def _finished(store: Path) -> frozenset[str]:
    with Store(store) as opened:
        return opened.finished_resumptions()


# What is asked behind the last reply of a trial, in requests that endpoints take.


@pytest.mark.deep
def test_calls_of_a_last_reply_have_results_in_what_is_asked_behind_it(chat_server: ChatServer, tmp_path: Path) -> None:
    # Some models call a tool even where they are told that none can be called.
    chat_server.answers(by_turn(code("print(1)"), code("print(2)"), reply("Answer: 4")))
    store = run(endpoint_plan(tmp_path, chat_server, extra="budget = { turns = 1 }"))
    trial = trial_of(store)
    recorded = trace_of(store, trial)
    assert (recorded.outcome, [event.kind for event in recorded.events]) == (
        "budget",
        ["model_call", "tool_call", "model_call", "answer"],
    )
    asked = len(chat_server.requests)
    batch = replay_many(
        store, [ReplayRequest(trial, 3, change) for change in (AnswerNow(), IgnoreTools(), Say(text="And now?"))]
    )
    assert batch.launched.missing == 0
    for request in chat_server.requests[asked:]:
        messages = request["messages"]
        place = max(number for number, each in enumerate(messages) if each["role"] == "assistant")
        assert [each["role"] for each in messages[place + 1 :]][:2] == ["tool", "user"]
        assert messages[place + 1]["tool_call_id"] == messages[place]["tool_calls"][0]["id"]
        assert "not executed" in messages[place + 1]["content"]
    (again,) = replay_many(store, [ReplayRequest(trial, 3)]).replayed[0].trials
    assert trace_of(store, again).answer == recorded.answer == ""
