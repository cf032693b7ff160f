"""A store in which everything that is foreign tries to be more than text."""

import asyncio
import base64
import struct
import zlib
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from tests.traces.samples import ENVIRONMENT, WHEN, run, score

from toolablate.traces.records import (
    Answer,
    Artifact,
    Change,
    ChoiceTarget,
    Condition,
    Event,
    Failure,
    Lookup,
    Marker,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    OpenAIModel,
    Question,
    ToolCall,
    ToolReply,
    ToolRequest,
    ToolUse,
    Trial,
    Usage,
)
from toolablate.traces.store import Recorder

R = TypeVar("R")

SCRIPT = (
    "<script>window.ran=1</script><img src=x onerror='window.ran=1'>\"'><svg onload=window.ran=1>"
    "</pre></textarea></title><a href='javascript:window.ran=1'>javascript:window.ran=1</a>"
    "{{ 7 * 7 }}{% raw %} ${window.ran=1} <!-- ]]>"
)
UNSEEN = "abc\u202edlrow\u202c zero\u200b\u200b\u200bwidth \x1b]0;title\x07\x1b[2J \x00 \u2028 \U000e0041 \ufeff end"
TRACEBACK = "\x1b[0;31mValueError\x1b[0m: \x1b[1mred\x1b[0m"
LONG_LINE = "x" * 2_500_000 + "needle" + "y" * 2_500_000
NESTED = '{"a":' + "[" * 10_000 + "]" * 10_000 + "}"
CALLS = 100_000


def png(width: int = 3, height: int = 2, *, says: tuple[int, int] | None = None) -> str:
    """In base64; `says` is the size that its head pretends to."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", *(says or (width, height)), 8, 2, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\x00" + b"\xff\x00\x00" * width for _ in range(height)))
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return base64.b64encode(data).decode()


ARTIFACTS = (
    Artifact(mime="image/png", data=png()),
    Artifact(mime="image/png", data=png(says=(60_000, 60_000))),
    Artifact(mime="image/png", data=base64.b64encode(b"GIF89a" + b"\x00" * 20).decode()),
    Artifact(mime="image/png", data="!!! no base64 !!!"),
    Artifact(
        mime="image/svg+xml", data=f"<svg xmlns='http://www.w3.org/2000/svg' onload='window.ran=1'>{SCRIPT}</svg>"
    ),
    Artifact(mime="text/html", data=SCRIPT),
    Artifact(mime=f"image/png;{SCRIPT}", data=SCRIPT),
    Artifact(mime=SCRIPT, data=SCRIPT),
)

QUESTION = Question(
    id=f"q {SCRIPT} {UNSEEN}",
    prompt=f"What? {SCRIPT} {UNSEEN}",
    choices=(SCRIPT, "no"),
    target=ChoiceTarget(letters=("A",)),
    domain=f"domain {SCRIPT} {UNSEEN}",
    difficulty=SCRIPT,
)
MODEL = OpenAIModel(name=f"model {SCRIPT} {UNSEEN}")
CONDITION = Condition(name=f"tools {SCRIPT} {UNSEEN}", tools=(ToolUse(name="python"),))
BARE = Condition(name="none")


def _asks(message: Message, *history: Message, at: float = 0.0) -> ModelCall:
    return ModelCall(
        at=at,
        seconds=0.5,
        request=ModelRequest(messages=history),
        reply=ModelReply(
            message=message,
            finish_reason="tool_calls" if message.tool_calls else "stop",
            usage=Usage(input_tokens=10, output_tokens=5),
        ),
    )


def hostile_events() -> list[Event]:
    call = ToolRequest(id="1", name=f"python {SCRIPT}", arguments=f'{{"code": "print(1)  # {SCRIPT[:60]}"}}')
    nested = ToolRequest(id="2", name="python", arguments=NESTED)
    user = Message(role="user", content=QUESTION.prompt)
    first = Message(role="assistant", content=f"{SCRIPT} {UNSEEN}", reasoning=SCRIPT * 30, tool_calls=(call, nested))
    final = Message(role="assistant", content=f"{SCRIPT}\nAnswer: B {SCRIPT}")
    crowd = Message(
        role="assistant",
        tool_calls=tuple(ToolRequest(id=str(place), name="python", arguments="{}") for place in range(CALLS)),
    )
    return [
        _asks(first, Message(role="system", content=SCRIPT * 10), user),
        ToolCall(
            at=1.0,
            call=call,
            output=f"{SCRIPT} {UNSEEN}",
            status="error",
            error=SCRIPT,
            artifacts=ARTIFACTS,
            lookup=Lookup(kind="page", key="k", miss="not_in_archive", nearest=SCRIPT, reason=SCRIPT),
            markers=(Marker(kind="instruction_like", where=f"javascript:{SCRIPT}", excerpt=SCRIPT),),
            changes=(Change(intervention=SCRIPT, detail=SCRIPT),),
            original=ToolReply(output=SCRIPT, artifacts=ARTIFACTS[:1]),
        ),
        ToolCall(at=2.0, call=nested, output=f"{LONG_LINE}", truncated=True),
        ToolCall(at=2.5, call=nested, output=TRACEBACK, status="error", error="ValueError"),
        ToolCall(
            at=2.7,
            call=nested,
            output=f"Results for '{SCRIPT}':\n1. {SCRIPT}\n    javascript:alert(1)\n2. Title\n    https://evil.example/{SCRIPT}",
        ),
        _asks(crowd, user, at=3.0),
        Failure(at=4.0, boundary="model", code=SCRIPT[:60], message=f"{SCRIPT} {UNSEEN}", retried=True),
        _asks(final, user, at=5.0),
        Answer(at=6.0, text=final.content),
    ]


async def hostile(path: Path) -> str:
    """Writes the store; the id of its trial with tools, which is wrong."""
    planned = [
        Trial(question=QUESTION.identity(), model=MODEL.identity(), condition=each.identity())
        for each in (BARE, CONDITION)
    ]
    with Recorder(path) as recorder:
        recorder.plan(run(), (QUESTION,), [MODEL], [BARE, CONDITION], planned)
        for trial, events, value in (
            (planned[0], hostile_events()[-2:], 1.0),
            (planned[1], hostile_events(), 0.0),
        ):
            session = await recorder.begin(trial, started_at=WHEN, environment=ENVIRONMENT)
            assert session is not None
            for event in events:
                session.record(event)
            trace = await session.finish("answered", 7.0, Usage(input_tokens=20, output_tokens=10), 0.001)
            read = score(trace.trial, value).model_copy(
                update={"extracted": (f"B {SCRIPT} {UNSEEN}",), "reason": SCRIPT}
            )
            await recorder.score([read])
    return planned[1].id


def done(work: Coroutine[Any, Any, R]) -> R:
    """What is to be awaited, in a thread of its own: in a test's, Playwright has a loop that runs."""
    with ThreadPoolExecutor(1) as other:
        return other.submit(asyncio.run, work).result()
