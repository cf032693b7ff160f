"""A failed trial to be read, and a judge behind a real HTTP endpoint."""

import itertools
import json
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.servers.chat_server import ChatServer

from toolablate.agents import RetryPolicy, ask, connect
from toolablate.benchmarks.judging.answers import Ask
from toolablate.traces.records import (
    Answer,
    ChoiceTarget,
    Condition,
    Event,
    JudgeCall,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    OpenAIModel,
    Price,
    Question,
    ToolCall,
    ToolRequest,
)

FOUND = "Most boilers are set to 60 degrees."
FINAL = "The page says 60.\nAnswer: B"


def labels(error: str = "knowledge", drawn: str = "none", at: Any = (), drawn_at: Any = ()) -> str:
    """The object that a judge ends its reply with."""
    content = {"error_type": error, "error_steps": list(at), "drawn_by": drawn, "drawn_steps": list(drawn_at)}
    return json.dumps(content, ensure_ascii=False)


def said(error: str = "knowledge", drawn: str = "none", at: Any = (), drawn_at: Any = ()) -> str:
    """A whole reply of a judge."""
    return f"Error: it lacks a rule.\nDrawn: nothing was adopted.\n{labels(error, drawn, at, drawn_at)}"


def question(**fields: Any) -> Question:
    defaults = {
        "id": "q1",
        "prompt": "At what temperature does water boil on the mountain?",
        "choices": ("90 degrees", "60 degrees"),
        "target": ChoiceTarget(letters=("A",)),
    }
    return Question(**{**defaults, **fields})


def wrote(content: str = "", *, reasoning: str = "", system: str = "Answer well.") -> ModelCall:
    request = ModelRequest(messages=(Message(role="system", content=system), Message(role="user", content="Boil?")))
    message = Message(role="assistant", content=content, reasoning=reasoning)
    return ModelCall(at=0.0, request=request, reply=ModelReply(message=message, finish_reason="stop"))


def called(output: str = FOUND, *, name: str = "web_search", arguments: str = '{"query": "boiler"}') -> ToolCall:
    return ToolCall(at=0.0, call=ToolRequest(id="c1", name=name, arguments=arguments), output=output)


def events(*, result: str = FOUND, final: str = FINAL, reasoning: str = "I look it up.") -> list[Event]:
    """Event 0 thinks, 1 searches, 2 and 3 answer."""
    return [wrote(reasoning=reasoning), called(result), wrote(final), Answer(at=0.0, text=final)]


@pytest.fixture
def judge_model(chat_server: ChatServer) -> OpenAIModel:
    return OpenAIModel(name="reader", endpoint=chat_server.url, price=Price(input=1.0, output=2.0))


@pytest.fixture
async def asking(judge_model: OpenAIModel) -> AsyncIterator[Ask]:
    """Asks the judge as a run does."""
    source = connect(judge_model)
    quick = RetryPolicy(base_seconds=0.001, cap_seconds=0.002)

    async def asking(request: ModelRequest) -> JudgeCall:
        chat = source.session(question(), Condition(name="reading"), 0)
        clock = map(float, itertools.count())
        asked = await ask(
            chat,
            request,
            retry=quick,
            seconds=30.0,
            price=judge_model.price,
            rng=random.Random(1),
            clock=lambda: next(clock),
        )
        return JudgeCall(request=request, reply=asked.reply, cost_usd=asked.cost_usd)

    yield asking
    await source.close()
