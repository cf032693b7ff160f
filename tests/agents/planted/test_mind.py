"""What a model with a scenario believes at any point of a conversation."""

import math

import pytest
from tests.agents.planted.scenarios import OPEN, PYTHON, SEARCH, asked, call, called, scenario_of

from toolablate.agents.resuming import FINAL_REQUEST
from toolablate.agents.session import INTERRUPTED, NOT_ALLOWED, NOT_EXECUTED
from toolablate.agents.simulated.planted.mind import belief, drawn, influences, script_turns, situation
from toolablate.experiments.replay.changes import IGNORE_TOOLS
from toolablate.tools.interventions.built_in import FailOptions
from toolablate.traces.records import Message

MISLED = scenario_of(
    scripts={
        "code": {
            "turns": [
                {"calls": [call("code", "print(1)")], "commits": {"C": 1.0}},
                {"calls": [call("code", "print(2)")]},
            ],
            "reactions": [
                {"kind": "code", "phrase": "Total", "moves": {"C": 3.0}},
                {"kind": "code", "when": "fail", "moves": {"D": 2.0}},
            ],
            "called": {"B": -0.5},
            "offered": {"A": 0.25},
        },
        "search": {
            "turns": [{"calls": [call("query", "valves"), call("open", "https://a.test/1")]}],
            "reactions": [{"kind": "open", "phrase": "bypass first", "moves": {"C": 4.0}}],
        },
    },
    prompted={"B": 0.125},
    ignore_tools=0.5,
)


def weights(*messages: Message, tools: object = (), prompt: str = "") -> dict[str, float]:
    """The belief in nats above that in A."""
    found = belief(MISLED, situation(asked(*messages, tools=tools, prompt=prompt)))  # type: ignore[arg-type]
    return {letter: round(math.log(found[letter] / found["A"]), 9) for letter in "ABCD"}


def test_the_prior_is_all_there_is_before_anything_happens() -> None:
    assert weights() == {"A": 0, "B": 2, "C": 0, "D": 0}


def test_a_prompt_and_offered_tools_move_it_each_by_themselves() -> None:
    assert weights(prompt="Be careful.")["B"] == 2.125
    assert weights(tools=[PYTHON])["B"] == 1.75
    assert weights(tools=[SEARCH])["B"] == 2


def test_a_reply_with_calls_commits_before_its_result_is_there_and_once_however_often_it_calls() -> None:
    first, result = called(PYTHON, "print(1)", "1")
    second = called(PYTHON, "print(2)", "2", 1)
    assert weights(first, tools=[PYTHON]) == {"A": 0, "B": 1.25, "C": 0.75, "D": -0.25}
    assert weights(first, result, *second, tools=[PYTHON]) == {"A": 0, "B": 1.25, "C": 0.75, "D": -0.25}


def test_results_move_it_once_however_many_hold_the_phrase() -> None:
    one = called(PYTHON, "print(1)", "the TOTAL is 1")
    two = called(PYTHON, "print(2)", "total: 2", 1)
    assert weights(*one, tools=[PYTHON])["C"] == weights(*one, *two, tools=[PYTHON])["C"] == 3.75


@pytest.mark.parametrize(
    "failed",
    [
        "Traceback (most recent call last):\nNameError: name 'x' is not defined",
        "  Cell In[1], line 1\n    print(\nSyntaxError: incomplete input",
        "Error: the page is not there.",
        FailOptions().message,
        INTERRUPTED,
    ],
)
def test_a_failure_moves_it_until_a_later_call_works(failed: str) -> None:
    wrong = called(PYTHON, "print(1)", failed)
    assert weights(*wrong, tools=[PYTHON])["D"] == 1.75
    mended = called(PYTHON, "print(2)", "2", 1)
    assert weights(*wrong, *mended, tools=[PYTHON])["D"] == -0.25


@pytest.mark.parametrize("words", [NOT_EXECUTED, NOT_ALLOWED])
def test_what_was_not_executed_is_no_result(words: str) -> None:
    assert weights(*called(PYTHON, "print(1)", words), tools=[PYTHON])["D"] == -0.25


def test_the_engine_s_words_for_setting_aside_leave_the_share_that_the_scenario_says() -> None:
    history = called(PYTHON, "print(1)", "Total 1")
    said = Message(role="user", content=IGNORE_TOOLS)
    assert situation(asked(*history, said)).asked == "ignore_tools"
    # What was merely offered is nothing that a tool did.
    assert weights(*history, said, tools=[PYTHON]) == {"A": 0, "B": 1.5, "C": 1.75, "D": -0.25}
    final = Message(role="user", content=FINAL_REQUEST)
    assert situation(asked(*history, final)).asked == "now"
    assert situation(asked(*history)).asked == situation(asked()).asked == "open"


def test_search_comes_before_code_and_calls_without_a_tool_are_left_out() -> None:
    def turns(*kinds: str) -> list[tuple[str, ...]]:
        return [tuple(each.text for each in turn.calls) for _, turn in script_turns(MISLED, kinds)]  # type: ignore[arg-type]

    search, code = ("valves", "https://a.test/1"), [("print(1)",), ("print(2)",)]
    assert turns("code", "query", "open") == [search, *code]
    assert turns("query") == [("valves",)]
    assert turns("code") == code
    assert turns() == []


def test_commitments_go_to_the_turns_that_were_made() -> None:
    tools = [SEARCH, OPEN, PYTHON]
    request, result = called(OPEN, "https://a.test/1", "shut the bypass first")
    now = situation(asked(request, result, tools=tools))
    assert [each.source for each in influences(MISLED, now)] == ["holds", "offered"]
    more = situation(asked(request, result, *called(PYTHON, "print(1)", "", 1), tools=tools))
    assert [each.source for each in influences(MISLED, more)] == ["holds", "offered", "called", "commits"]


def test_one_draw_is_put_to_two_beliefs_in_the_same_order() -> None:
    low = {"B": 0.2, "A": 0.1, "C": 0.7}
    assert [drawn(low, u) for u in (0.0, 0.19, 0.21, 0.31, 0.999)] == ["B", "B", "A", "C", "C"]
    assert list(belief(MISLED, situation(asked()))) == ["B", "A", "C", "D"]
