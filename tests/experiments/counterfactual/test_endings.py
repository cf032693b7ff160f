"""What is asked behind the last reply of a trial, in requests that endpoints take."""

from pathlib import Path

from tests.experiments.counterfactual.scenes import by_turn, code, endpoint_plan, run, trace_of, trial_of
from tests.servers.chat_server import ChatServer, reply

from toolablate.experiments.replay.batch import replay_many
from toolablate.experiments.replay.requests import Wanted
from toolablate.traces.records import AnswerNow, Say, SetAside


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
    batch = replay_many(store, [Wanted(trial, 3, change) for change in (AnswerNow(), SetAside(), Say(text="And now?"))])
    assert batch.launched.missing == 0
    for request in chat_server.requests[asked:]:
        messages = request["messages"]
        place = max(number for number, each in enumerate(messages) if each["role"] == "assistant")
        assert [each["role"] for each in messages[place + 1 :]][:2] == ["tool", "user"]
        assert messages[place + 1]["tool_call_id"] == messages[place]["tool_calls"][0]["id"]
        assert "not executed" in messages[place + 1]["content"]
    (again,) = replay_many(store, [Wanted(trial, 3)]).replayed[0].trials
    assert trace_of(store, again).answer == recorded.answer == ""
