"""A store with one of everything that goes out of it, hostile text among it."""

import asyncio
from pathlib import Path

from tests.traces.samples import (
    CODE,
    MODEL,
    NONE,
    PYTHON,
    QUESTIONS,
    WHEN,
    attempt,
    begun,
    run,
    score,
    trials,
)
from tests.traces.test_counterfactuals import resumed, trial_under

from toolablate.traces.records import (
    Answer,
    Artifact,
    Change,
    Diagnosis,
    Event,
    Failure,
    JudgeCall,
    Judgement,
    Label,
    Lookup,
    Marker,
    Message,
    Mismatch,
    ModelCall,
    ModelReply,
    ModelRequest,
    Rebuilt,
    Score,
    Swap,
    ToolCall,
    ToolReply,
    ToolRequest,
    Trial,
    Usage,
)
from toolablate.traces.store import Recorder

HOSTILE = '<script>alert(1)</script> \x1b[31m \x00 \u202e\u2028\u2029 "quoted"\r\n=1+1 ../../etc/passwd 🜁 ' + "x" * 200
LONG = "0123456789" * 500_000
USAGE = Usage(input_tokens=7, output_tokens=5, cached_tokens=3, cache_write_tokens=2, reasoning_tokens=1)
BARE, TOOLS, FAILED, BUDGET = trials()[:4]
"""Question 0 without tools and with, question 1 without tools and with."""


def asked(*messages: Message) -> ModelRequest:
    return ModelRequest(messages=messages, tools=(PYTHON,))


def call_events() -> list[Event]:
    """Of a trial in which everything happens."""
    system, user = Message(role="system", content="Tools are yours."), Message(role="user", content=HOSTILE)
    call = ToolRequest(id="call/0", name="web/../search", arguments='{"query": "' + "é" * 100)
    reply = Message(role="assistant", content=HOSTILE, reasoning="Hm. " * 50, tool_calls=(call, call))
    result = Message(role="tool", content=LONG, tool_call_id=call.id)
    return [
        Failure(at=0, seconds=0.5, boundary="model", code="rate_limited", message=HOSTILE, retried=True),
        ModelCall(
            at=0.5,
            seconds=1.25,
            request=asked(system, user),
            reply=ModelReply(message=reply, finish_reason="tool_calls", usage=USAGE, model="gpt-x-2026"),
            cost_usd=0.25,
        ),
        ToolCall(
            at=2,
            seconds=0.1,
            call=call,
            output=LONG,
            status="error",
            error="ValueError",
            truncated=True,
            artifacts=(Artifact(mime="image/png", data="iVBORw0KGgo="), Artifact(mime="text/html", data=HOSTILE)),
            lookup=Lookup(kind="search", key="k", miss="not_in_archive", nearest="n"),
            markers=(Marker(kind="answer_leak", where="https://a.example/", excerpt=HOSTILE),),
            changes=(Change(intervention="noise", detail="2 of 3"),),
            original=ToolReply(output="as it was"),
        ),
        ModelCall(
            at=3,
            seconds=1,
            request=asked(system, user, reply, result),
            reply=ModelReply(message=Message(role="assistant", content="Answer: B"), finish_reason="stop"),
        ),
        Answer(at=4, text="Answer: B", limit="turns"),
    ]


def judged(trial: Trial) -> Score:
    request = asked(Message(role="user", content="Is it right?"))
    reply = ModelReply(message=Message(role="assistant", content="1"), finish_reason="stop")
    call = JudgeCall(request=request, reply=reply, cost_usd=0.5)
    judgement = Judgement(model=MODEL, calls=(call,))
    return score(trial, 0.5, scorer="judge[gpt-x@00000000]").model_copy(
        update={"judgement": judgement, "explanation": HOSTILE, "metadata": {"said": HOSTILE}}
    )


def label(trial: Trial, person: str = "Ada\u202e") -> Label:
    return Label(
        trial=trial.id,
        person=person,
        at=WHEN,
        mechanism="lock_in",
        turned_at=2,
        note=HOSTILE,
        attributed="unknown",
        method="trace",
        blind=True,
        error_type="knowledge",
        inclusion_probability=0.5,
    )


def diagnosis(trial: Trial) -> Diagnosis:
    return Diagnosis(
        trial=trial.id,
        judge="reader@00000000",
        error_type="knowledge",
        distraction="misleading_adoption",
        reason=HOSTILE,
        evidence=(1, 2),
        distraction_reason="It read so.",
        distraction_evidence=(2,),
    )


async def _filled(path: Path) -> None:
    with Recorder(path) as recorder:
        called = run().model_copy(update={"baseline": "none", "scorers": ("choice",)})
        recorder.plan(called, QUESTIONS, [MODEL], [NONE, CODE], trials())
        await attempt(recorder, BARE)
        session = await begun(recorder, TOOLS)
        for event in call_events():
            session.record(event)
        parent = await session.finish("budget", 5.0, USAGE, 0.25)
        failing = await begun(recorder, FAILED)
        failing.record(Failure(at=0, boundary="sandbox", code="gone", message="no kernel", retried=False))
        await failing.finish("failed", 0.0, Usage(), None)
        await attempt(recorder, BUDGET)
        condition = resumed(parent, event=3, change=Swap(content="null", text=HOSTILE))
        replay = trial_under(condition, parent)
        recorder.resume({}, [condition], [replay])
        child = await begun(recorder, replay)
        child.record(Rebuilt(at=0, seconds=0.1, calls=1, mismatches=(Mismatch(event=2, recorded="a", now="b"),)))
        child.record(Answer(at=0.2, text="Answer: A"))
        await child.finish("answered", 0.3, Usage(), None)
        await recorder.score([score(BARE), score(TOOLS, 0.0), score(BUDGET), judged(TOOLS), score(replay)])
        await recorder.diagnose([diagnosis(TOOLS)])
        recorder.label(label(TOOLS))
        recorder.label(label(TOOLS, "Bob"))


def everything(path: Path) -> Path:
    asyncio.run(_filled(path))
    return path
