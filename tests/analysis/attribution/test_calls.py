"""Signals of calls, budgets and endings: positive, negative, and what looks like one and is none."""

from typing import Any

import pytest
from tests.analysis.attribution.stories import (
    CONDITION,
    asked,
    ended,
    failed,
    gave,
    imported,
    opened,
    ran,
    read,
    said,
    searched,
    told,
)

from toolablate.traces.records import Budget, Change, Marker, NumberTarget, Question

FOUND = "Results for 'x':\n1. A page"


def test_tools_that_were_offered_and_never_called_are_named() -> None:
    signals = read(*ran("print(1)", "1"), *ended("Answer: A"))
    assert [(tool.tool, tool.event) for tool in signals.unused] == [("web_search", 0), ("browser_open", 0)]
    assert read(*ended("Answer: A", specs=())).unused == ()


def test_refused_calls_are_no_tool_errors() -> None:
    call = asked("python", kode="1")
    signals = read(
        *told(call, "the arguments do not fit", status="invalid", error="bad_arguments"), *ended("Answer: A")
    )
    assert [(refused.event, refused.error) for refused in signals.refused] == [(1, "bad_arguments")]
    assert signals.troubles == ()
    assert not signals.calls[0].gave


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("NameError", "exception"),
        ("timeout", "timeout"),
        ("died", "dead_kernel"),
        ("died: out of memory", "dead_kernel"),
        ("injected_failure", "injected"),
        ("out_of_time", "cut_off"),
        ("call_limit", "cut_off"),
    ],
)
def test_errors_of_a_cell_have_kinds(error: str, kind: str) -> None:
    signals = read(*ran("1/0", "it failed", status="error", error=error), *ended("Answer: A"))
    assert [(trouble.event, trouble.kind, trouble.recovered) for trouble in signals.troubles] == [(1, kind, None)]


@pytest.mark.parametrize(
    ("call", "more", "kind"),
    [
        (searched, {"output": "Error: it is down.", "status": "error", "error": "error"}, "search_failed"),
        (searched, {"output": "Error: not here.", "status": "error", "error": "not_in_archive"}, "not_recorded"),
        (searched, {"output": "No results for 'x'."}, "nothing_found"),
        (opened, {"output": "Error: gone.", "status": "error", "error": "http_404"}, "page_not_there"),
        (opened, {"output": "No match for 'x' in [1]."}, "nothing_found"),
    ],
)
def test_searches_and_pages_that_came_to_nothing_have_kinds(call: Any, more: dict[str, str], kind: str) -> None:
    signals = read(*call("x", **more), *ended("Answer: A"))
    assert [trouble.kind for trouble in signals.troubles] == [kind]
    assert not signals.calls[0].gave


def test_an_error_is_recovered_from_by_a_later_call_of_the_same_tool_alone() -> None:
    broken = ran("1/0", "ZeroDivisionError", status="error", error="ZeroDivisionError")
    other = read(*broken, *searched("x", FOUND), *ended("Answer: A"))
    assert [trouble.recovered for trouble in other.troubles] == [None]
    same = read(*broken, *searched("x", FOUND), *ran("print(1)", "1"), *ended("Answer: A"))
    assert [trouble.recovered for trouble in same.troubles] == [5]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("", "missing_package"),
        ("ImportError: Missing optional dependency 'lxml'.  Use pip or conda to install lxml.", "missing_package"),
        ("ModuleNotFoundError: No module named 'numpy.ledgers'", "exception"),
        ("ModuleNotFoundError: No module named 'nmpy'. Did you mean: 'numpy'?", "exception"),
        ("ImportError: cannot import name 'ledger' from 'math'", "exception"),
        ("KeyError: \"No module named 'ledgerkit'\"", "exception"),
    ],
)
def test_a_package_that_is_not_there_is_told_from_other_errors_by_the_last_line(error: str, kind: str) -> None:
    signals = read(*imported("ledgerkit", error=error), *ended("Answer: A"))
    assert [(trouble.event, trouble.kind) for trouble in signals.troubles] == [(1, kind)]


def test_an_error_that_a_missing_package_led_to_is_the_codes_own() -> None:
    led = "ModuleNotFoundError: No module named 'ledgerkit'\n\nDuring handling of it:\n\nNameError: no ledger"
    assert [each.kind for each in read(*imported("ledgerkit", error=led), *ended("A")).troubles] == ["exception"]


def test_a_missing_package_is_made_up_for_by_code_that_gives_something_alone() -> None:
    missing, silent = imported("ledgerkit"), ran("import math", "(no output)")
    fruitless = read(*missing, *silent, *searched("x", FOUND), *missing, *ended("Answer: A"))
    assert [(each.event, each.recovered) for each in fruitless.troubles] == [(1, None), (7, None)]
    made_up = read(*missing, *silent, *ran("print(1)", "1"), *ended("Answer: A"))
    assert [(each.event, each.recovered) for each in made_up.troubles] == [(1, 5)]
    printed = read(*missing, *imported("ledgerkit", printed="1\n"), *ended("Answer: A"))
    assert [(each.event, each.recovered) for each in printed.troubles] == [(1, 3), (3, None)]
    assert [call.gave for call in printed.calls] == [False, True]


def test_an_error_after_a_call_that_worked_is_not_recovered_from() -> None:
    signals = read(*ran("print(1)", "1"), *ran("1/0", "", status="error", error="ZeroDivisionError"), *ended("A"))
    assert [(trouble.event, trouble.recovered) for trouble in signals.troubles] == [(3, None)]


def test_infrastructure_that_failed_is_told_apart_and_that_of_the_model_is_none() -> None:
    call = asked("web_search", query="x")
    signals = read(said("", call), failed("tool"), gave(call, FOUND), failed("model"), *ended("Answer: A"))
    assert [(each.event, each.kind, each.recovered) for each in signals.troubles] == [(1, "infrastructure", 2)]


def test_a_call_gives_nothing_where_a_substitute_answers_for_the_tool() -> None:
    substituted = ran("print(1)", "7", changes=(Change(intervention="placebo", detail="other"),))
    changed = ran("print(1)", "7", changes=(Change(intervention="truncate"),))
    signals = read(*substituted, *changed, *ran("x = 1", "(no output)"), *ended("Answer: A"))
    assert [call.gave for call in signals.calls] == [False, True, False]
    assert [(each.event, each.intervention) for each in signals.interventions] == [(1, "placebo"), (3, "truncate")]


def test_a_budget_stop_names_what_ran_out_and_the_calls_that_were_not_run() -> None:
    two = asked("python", code="1"), asked("python", code="2")
    signals = read(said("", *two), gave(two[0], "1"), *ended("Answer: A", "tool_calls"))
    assert (signals.budget.stopped, signals.budget.event) == ("tool_calls", 3)
    assert signals.budget.not_run == (0,)
    assert signals.budget.near == ()


def test_a_success_near_its_budget_is_near_and_not_stopped() -> None:
    condition = CONDITION.model_copy(update={"budget": Budget(turns=2, tool_calls=10, tokens=100, seconds=100)})
    signals = read(*ran("print(1)", "1"), *ended("Answer: A"), condition=condition, tokens=79)
    assert signals.budget.stopped is None
    assert signals.budget.event is None
    assert signals.budget.near == ("turns",)
    assert signals.budget.used == {"turns": 1.0, "seconds": 0.01, "tool_calls": 0.1, "tokens": 0.79}


def test_the_last_request_is_no_turn() -> None:
    condition = CONDITION.model_copy(update={"budget": Budget(turns=1)})
    signals = read(*ran("print(1)", "1"), *ended("Answer: A", "turns", purpose="final"), condition=condition)
    assert signals.budget.used["turns"] == 1.0


@pytest.mark.parametrize(
    ("reply", "silent"),
    [("Answer: A", False), ("It is carbon dioxide.", False), ("I am sure of my conclusion.", True), ("", True)],
)
def test_a_reply_is_silent_where_nothing_can_be_an_answer(reply: str, silent: bool) -> None:
    assert read(*ended(reply)).ending.silent is silent


def test_a_reply_of_a_number_question_is_silent_without_digits() -> None:
    question = Question(id="n", prompt="How many?", target=NumberTarget(value=3))
    assert read(*ended("quite a few"), question=question).ending.silent
    assert not read(*ended("about 3"), question=question).ending.silent


def test_a_reply_that_broke_off_is_cut_off() -> None:
    assert read(*ended("It all comes down to", finish="length")).ending.cut_off
    again = read(said("It all", finish="length"), *ended("Answer: A", "reply_length", purpose="final"))
    assert not again.ending.cut_off
    assert again.budget.stopped == "reply_length"


def test_a_long_reply_that_stops_in_a_sentence_is_open() -> None:
    text = "The work is the change of energy, as the force is constant. " * 8
    assert read(*ended(text + "So we have, with the mass of")).ending.open
    assert not read(*ended(text)).ending.open
    assert not read(*ended("So we have, with the mass of")).ending.open


def test_searches_repeated_pages_opened_and_leaks_are_told() -> None:
    leak = (Marker(kind="answer_leak", where="u"),)
    signals = read(
        *searched("green plants gas", FOUND),
        *searched("Gas, green plants", FOUND, markers=leak),
        *searched("other words", FOUND, markers=(Marker(kind="instruction_like"),)),
        *opened("https://a.example", "[1] A page"),
        *opened("https://b.example", "Error", status="error", error="http_404"),
        *ended("Answer: A"),
    )
    assert signals.reading.searches == (1, 3, 5)
    assert [(each.event, each.earlier) for each in signals.reading.repeated] == [(3, 1)]
    assert signals.reading.pages == (7,)
    assert signals.reading.leaks == (3,)


def test_effort_counts_lines_that_say_something() -> None:
    signals = read(*ran("# why\nx = 1\n\nprint(x)", "1"), *ran("print(2)", "2"), *ended("Answer: A"))
    assert signals.effort.cells == (1, 3)
    assert signals.effort.lines == 3


def test_names_of_tools_of_other_makers_are_known_by_their_arguments() -> None:
    calls = (asked("browser.search", query="x"), asked("lookup", query="x"), asked("run", code="1"), asked("odd", a=1))
    events = [event for call in calls for event in told(call, "something")]
    assert [call.form for call in read(*events, *ended("A")).calls] == ["search", "search", "code", "other"]
