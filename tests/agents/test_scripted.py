"""Recorded replies are said exactly, in their order, and a script that does not fit says where."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agents.conftest import QUESTION, LocalTools, Played, condition, double, play_with

from toolablate.agents import connect
from toolablate.agents.scripted import Script, fill, literal
from toolablate.tools.tool import ToolResult
from toolablate.traces.errors import InputError
from toolablate.traces.records import Message, ModelRequest, ScriptedModel

CALL = {"tool_calls": [{"name": "double", "arguments": {"x": 21}}]}


def script(path: Path, *lines: Any) -> Script:
    file = path / "script.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    file.write_text("\n".join(texts), encoding="utf-8")
    source = connect(ScriptedModel(name="s", script=str(file)))
    assert isinstance(source, Script)
    return source


def line(*replies: Any, **keys: Any) -> dict[str, Any]:
    return {"question": "q1", "replies": [{"content": r} if isinstance(r, str) else r for r in replies], **keys}


async def say(source: Script, tools: Any = None, name: str = "test", repeat: int = 0) -> Played:
    arm = condition().model_copy(update={"name": name})
    return await play_with(source.session(QUESTION, arm, repeat), tools, arm)


async def test_a_recorded_trial_is_played_with_real_tools(tmp_path: Path) -> None:
    source = script(tmp_path, line(CALL, "Answer: {{last_tool_output}}"))
    played = await say(source, LocalTools(double=double))
    assert played.kinds == ["model_call", "tool_call", "model_call", "answer"]
    assert played.answer.text == "Answer: 42"
    assert [event.reply.finish_reason for event in played.of("model_call")] == ["tool_calls", "stop"]
    assert played.of("model_call")[0].reply.model == "scripted/s"


async def test_a_trial_goes_on_though_all_threads_of_the_pool_are_taken(tmp_path: Path) -> None:
    source = script(tmp_path, line(CALL, "Answer: {{last_tool_output}}"))
    release = threading.Event()
    with ThreadPoolExecutor(max_workers=1) as pool:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(pool)
        stuck = loop.run_in_executor(None, release.wait)
        try:
            async with asyncio.timeout(30):
                played = await say(source, LocalTools(double=double))
            assert not stuck.done()
        finally:
            release.set()
        await stuck
    assert played.answer.text == "Answer: 42"


async def test_the_most_particular_line_is_played(tmp_path: Path) -> None:
    source = script(
        tmp_path,
        line("any"),
        line("arm", condition="python"),
        line("second time", repeat=1),
        line("arm, second time", condition="python", repeat=1),
    )
    said = {
        (name, repeat): (await say(source, name=name, repeat=repeat)).answer.text
        for name in ("none", "python")
        for repeat in (0, 1)
    }
    assert said == {
        ("none", 0): "any",
        ("none", 1): "second time",
        ("python", 0): "arm",
        ("python", 1): "arm, second time",
    }


async def test_an_output_is_filled_into_arguments_without_breaking_them(tmp_path: Path) -> None:
    tricky = 'a "quote"\n\\ {{last_tool_output}} {{!last_tool_output}} \\1 \\g<0>'

    async def echo(text: str = "") -> ToolResult:
        return ToolResult(text or tricky)

    nested = {"name": "echo", "arguments": {"text": "<{{last_tool_output}}>"}}
    source = script(
        tmp_path, line({"tool_calls": [{"name": "echo"}]}, {"tool_calls": [nested]}, "{{last_tool_output}}")
    )
    played = await say(source, LocalTools(echo=echo))
    assert played.answer.text == f"<{tricky}>"


async def test_arguments_that_are_text_stay_as_they_were_written(tmp_path: Path) -> None:
    raw = '{"x": 21,, }'
    source = script(tmp_path, line({"tool_calls": [{"name": "double", "arguments": raw}]}, "sorry"))
    (called,) = (await say(source, LocalTools(double=double))).of("tool_call")
    assert (called.call.arguments, called.status) == (raw, "invalid")


PIECES = st.sampled_from(["{", "{{", "}}", "!", "last_tool_output", "{{last_tool_output}}", "x", "\n"])


@given(st.lists(PIECES).map("".join) | st.text())
def test_any_text_can_be_said_literally(text: str) -> None:
    assert fill(literal(text), "OUTPUT") == text


@pytest.mark.parametrize(
    ("replies", "code"),
    [
        ([CALL], "script_exhausted"),
        (["{{last_tool_output}}"], "script_without_output"),
    ],
)
async def test_a_script_that_does_not_fit_fails_the_trial(tmp_path: Path, replies: list[Any], code: str) -> None:
    played = await say(script(tmp_path, line(*replies)), LocalTools(double=double))
    assert played.result.outcome == "failed"
    failure = played.events[-1]
    assert (failure.kind, failure.code, failure.retried) == ("failure", code, False)
    assert "'q1'" in failure.message


@pytest.mark.parametrize("lines", [[], [line("x", condition="other")], [{**line("x"), "question": "q2"}]])
async def test_a_question_that_is_not_in_the_script(tmp_path: Path, lines: list[Any]) -> None:
    played = await say(script(tmp_path, *lines))
    assert [event.code for event in played.of("failure")] == ["script_exhausted"]
    assert "no replies" in played.events[0].message


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("{", "JSON"),
        ("[]", "object"),
        ('{"question": "q2"}', "replies"),
        ('{"question": "q2", "replies": []}', "replies"),
        ('{"question": "q2", "replies": [{"contents": "x"}]}', "replies.0.contents"),
        ('{"question": "q2", "replies": [{"tool_calls": [{"arguments": {}}]}]}', "tool_calls.0.name"),
        ('{"question": "q2", "replies": [{"content": "\\ud800"}]}', "hex escape"),
        (line("again"), "on line 1 already"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, bad: Any, said: str) -> None:
    with pytest.raises(InputError, match=r"script\.jsonl:3: ") as caught:
        script(tmp_path, line("first"), "", bad)
    assert said in caught.value.message


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.jsonl"):
        connect(ScriptedModel(name="s", script=str(tmp_path / "nowhere.jsonl")))
    with pytest.raises(InputError, match="cannot read"):
        connect(ScriptedModel(name="s", script=str(tmp_path)))


async def test_a_conversation_is_taken_up_in_its_middle(tmp_path: Path) -> None:
    session = script(tmp_path, line("one", "two", "three")).session(QUESTION, condition(), 0)
    history = (Message(role="user", content="?"), Message(role="assistant", content="whatever"))
    reply = await session.complete(ModelRequest(messages=history), seconds=1)
    assert reply.message.content == "two"
