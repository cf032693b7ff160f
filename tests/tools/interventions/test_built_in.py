"""What each built-in intervention does to a result, and what it says of it."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tools.interventions.echoing import Echoing, details, use

from toolablate.agents import session
from toolablate.tools import ToolResult, open_interventions
from toolablate.tools.interventions import Call, InterventionSetting, intervened
from toolablate.tools.interventions import built_in as delay
from toolablate.tools.interventions import built_in as limit
from toolablate.tools.interventions.built_in import truncated
from toolablate.tools.tool import PLAIN
from toolablate.traces.errors import InputError
from toolablate.traces.records import Lookup, Marker, ToolReply


@pytest.mark.parametrize("names", [("placebo", "sham"), ("sham", "sham"), ("oracle", "remind", "adversarial")])
def test_only_one_of_a_condition_answers_in_the_tools_place(names: tuple[str, ...]) -> None:
    uses = [use(name, **({"text": "x"} if name == "remind" else {})) for name in names]
    with pytest.raises(InputError, match="output can have only one") as refused:
        open_interventions(uses)
    assert repr(names[0]) in refused.value.message
    assert repr(names[-1]) in refused.value.message
    assert len(open_interventions(uses[:-1])) == len(uses) - 1


async def test_a_failure_is_an_answer_and_no_call() -> None:
    tools = Echoing([use("fail", rate=1.0, message="The kernel is busy.")])
    result = await tools("text")
    assert tools.given == []
    assert (result.output, result.status, result.error) == ("The kernel is busy.", "error", "injected_failure")
    assert details(result) == [("fail", "failed at a rate of 1")]
    assert result.original is None


@pytest.mark.parametrize(
    ("keep", "shown"),
    [
        ("head", "abcde\n[1,995 characters left out]"),
        ("tail", "[1,995 characters left out]\nvwxyz"),
        ("both", "abc\n[1,995 characters left out]\nyz"),
    ],
)
async def test_truncation_says_what_is_left_out(keep: str, shown: str) -> None:
    long = "abcdefgh" + "-" * 1984 + "stuvwxyz"
    tools = Echoing([use("truncate", chars=5, keep=keep)])
    result = await tools(long)
    assert (result.output, result.truncated) == (shown, True)
    assert details(result) == [("truncate", "kept 5 of 2,000 characters")]
    assert result.original == ToolReply(output=long)
    short = await tools("abcde")
    assert (short.output, short.truncated, short.changes) == ("abcde", False, ())


@given(st.text(min_size=2), st.data(), st.sampled_from(["head", "tail", "both"]))
def test_as_many_characters_stay_as_a_plan_says(text: str, data: st.DataObject, keep: Any) -> None:
    chars = data.draw(st.integers(1, len(text) - 1))
    line = f"[{len(text) - chars:,} characters left out]"
    shown = truncated(text, chars, keep)
    head, _, tail = shown.partition(line) if keep != "tail" else ("", "", shown.removeprefix(line))
    kept = head.removesuffix("\n") + tail.removeprefix("\n")
    assert len(shown) - len(line) - chars == (2 if keep == "both" and chars > 1 else 1)
    if line not in text and "\n" not in text:
        assert len(kept) == chars
        assert text.startswith(head.removesuffix("\n"))
        assert text.endswith(tail.removeprefix("\n"))


async def test_a_swap_calls_the_tool_and_shows_something_else() -> None:
    tools = Echoing([use("swap", text="42")])
    result = await tools("boom", "crash")
    assert tools.given == ["ValueError: boom"]
    assert (result.output, result.status, result.error) == ("42", "ok", "")
    assert details(result) == [("swap", "showed 2 characters in place of 16")]
    assert result.original == ToolReply(output="ValueError: boom", status="error", error="ValueError")


async def test_a_swap_says_also_what_was_changed_before_it() -> None:
    result = await Echoing([use("truncate", chars=1), use("swap", text="42")])("abc")
    assert [name for name, _ in details(result)] == ["truncate", "swap"]
    assert details(result)[1][1].startswith("showed 2 characters in place of")


async def test_a_swapped_result_keeps_what_was_asked_and_not_what_was_noticed() -> None:
    lookup = Lookup(kind="page", key="k", miss="not_in_archive")

    async def read() -> ToolResult:
        return ToolResult("text", lookup=lookup, markers=(Marker(kind="answer_leak"),), truncated=True)

    swapped = await intervened(open_interventions([use("swap", text="42")]), Call("echo", {}, 1, 1, PLAIN), read)
    assert (swapped.lookup, swapped.markers, swapped.truncated) == (lookup, (), False)


async def test_a_reminder_stands_behind_a_result() -> None:
    tools = Echoing([use("remind", text="Answer with one letter.")])
    result = await tools("text")
    assert result.output == "text\n\nAnswer with one letter."
    assert details(result) == [("remind", "added 23 characters")]
    failed = await tools("boom", "crash")
    assert (failed.output, failed.status) == ("ValueError: boom\n\nAnswer with one letter.", "error")


async def test_calls_beyond_a_limit_are_answered_as_an_agent_answers_them() -> None:
    tools = Echoing([use("limit", calls=2)])
    results = [await tools(text, name) for text, name in (("a", "echo"), ("b", "crash"), ("c", "echo"), ("d", "echo"))]
    assert tools.given == ["a", "ValueError: b"]
    assert [result.changes for result in results[:2]] == [(), ()]
    for result in results[2:]:
        assert (result.output, result.status, result.error) == (session.NOT_EXECUTED, "error", "call_limit")
        assert details(result) == [("limit", "not run: the limit is 2")]
    assert limit.NOT_EXECUTED == session.NOT_EXECUTED


async def test_a_limit_can_be_for_one_tool_and_be_none_at_all() -> None:
    tools = Echoing([use("limit", calls=0, tools=["crash"]), use("limit", calls=1, tools=["echo"])])
    results = [await tools("a", name) for name in ("crash", "echo", "crash", "echo")]
    assert tools.given == ["a"]
    assert [detail for result in results for _, detail in details(result)] == [
        "not run: the limit is 0",
        "not run: the limit is 0",
        "not run: the limit is 1",
    ]


async def test_a_delay_waits_behind_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    tools = Echoing([use("delay", seconds=2.5)])

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        assert tools.given == ["text"]

    # Not asyncio's own: a server that other tests have left running in this process sleeps, too.
    monkeypatch.setattr(delay, "asyncio", SimpleNamespace(sleep=sleep))
    result = await tools("text")
    assert waited == [2.5]
    assert (result.output, details(result)) == ("text", [("delay", "waited 2.5 s")])


async def test_a_delay_ends_when_its_trial_does() -> None:
    given = asyncio.Event()

    async def read() -> ToolResult:
        given.set()
        return ToolResult("text")

    delay = open_interventions([use("delay", seconds=10_000)])
    call = asyncio.create_task(intervened(delay, Call("echo", {}, 1, 1, PLAIN), read))
    await given.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("delay", {}, "seconds: Field required"),
        ("delay", {"seconds": 0}, "seconds: Input should be greater than 0, found 0"),
        ("fail", {"rate": 1.5}, "rate: Input should be less than or equal to 1"),
        ("fail", {"rate": "1"}, "rate: Input should be a valid number"),
        ("fail", {"message": ""}, "message: String should have at least 1 character"),
        ("truncate", {"chars": 0}, "chars: Input should be greater than 0"),
        ("truncate", {"chars": 5, "keep": "middle"}, "keep: Input should be 'head', 'tail' or 'both', found 'middle'"),
        ("swap", {"text": ""}, "text: String should have at least 1 character"),
        ("remind", {}, "text: Field required"),
        ("limit", {"calls": -1}, "calls: Input should be greater than or equal to 0"),
        ("limit", {"calls": [1]}, "calls: Input should be a valid integer"),
        ("noise", {"rate": 0.1, "of": "words"}, "of: Input should be 'characters', 'numbers' or 'lines'"),
        ("noise", {"of": "lines"}, "rate: Field required"),
        ("fail", {"tools": []}, "tools: List should have at least 1 item"),
        ("fail", {"calls": [0]}, "calls.0: Input should be greater than 0"),
        ("fail", {"calls": 1}, "calls: Input should be a valid array"),
        ("fail", {"calls": [True]}, "calls.0: Input should be a valid integer"),
    ],
)
def test_options_that_do_not_fit_are_refused(name: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        open_interventions([use(name, **options)], InterventionSetting(tools=("echo",)))
    assert f"options of {name!r}: {said}" in refused.value.message
    assert refused.value.hint.startswith("its options: ")
    assert "tools" in refused.value.hint
