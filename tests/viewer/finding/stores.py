"""A store whose trials say, run and open what the tests look for."""

import json
from collections.abc import Sequence
from pathlib import Path

from tests.traces.samples import CODE, MODEL, NONE, begun, run

from toolablate.traces.records import (
    Answer,
    ChoiceTarget,
    Event,
    Failure,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    Outcome,
    Question,
    Score,
    ToolCall,
    ToolRequest,
    Trial,
    Usage,
)
from toolablate.traces.store import Recorder

PAGE = "The Treaty of Zurich was signed in 1859. " * 80


def question(name: str, prompt: str = "What is it?", domain: str = "") -> Question:
    return Question(id=name, prompt=prompt, choices=("yes", "no"), target=ChoiceTarget(letters=("A",)), domain=domain)


def said(text: str, reasoning: str = "") -> ModelCall:
    message = Message(role="assistant", content=text, reasoning=reasoning)
    asked = ModelRequest(messages=(Message(role="user", content="a repeated prompt"),))
    return ModelCall(at=0.0, request=asked, reply=ModelReply(message=message, finish_reason="stop"))


def called(name: str, code: str, output: str, status: str = "ok") -> ToolCall:
    request = ToolRequest(id="c", name=name, arguments=json.dumps({"code": code}))
    return ToolCall.model_validate({"at": 1.0, "call": request, "output": output, "status": status})


def answered(text: str) -> Answer:
    return Answer(at=2.0, text=text)


def failed(message: str) -> Failure:
    return Failure(at=1.0, boundary="model", code="timeout", message=message, retried=False)


def trial(asked: Question, tools: bool = False, repeat: int = 0) -> Trial:
    condition = CODE if tools else NONE
    return Trial(question=asked.identity(), model=MODEL.identity(), condition=condition.identity(), repeat=repeat)


async def recorded(
    path: Path,
    trials: Sequence[tuple[Trial, Sequence[Event], float | None]],
    questions: Sequence[Question],
    *,
    outcome: Outcome = "answered",
    identity: str = "run-1",
) -> None:
    """With these values of one scorer."""
    with Recorder(path) as recorder:
        recorder.plan(run(identity), questions, [MODEL], [NONE, CODE], [each for each, _, _ in trials])
        for each, events, value in trials:
            session = await begun(recorder, each)
            for event in events:
                session.record(event)
            await session.finish(outcome, 1.0, Usage(), None)
            if value is not None:
                verdict = "correct" if value >= 0.5 else "wrong"
                await recorder.score([Score(trial=each.id, scorer="s", value=value, verdict=verdict)])
