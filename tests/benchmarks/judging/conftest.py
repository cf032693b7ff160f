"""Questions to be judged, and a judge behind a real HTTP endpoint."""

import itertools
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.servers.chat_server import ChatServer

from toolablate.agents import RetryPolicy, ask, connect
from toolablate.benchmarks.judging.answers import Ask
from toolablate.traces.records import (
    Condition,
    JudgeCall,
    JudgePrompt,
    ModelRequest,
    OpenAIModel,
    Price,
    Question,
    ReferenceTarget,
    Rubric,
)

J0, J1 = '{"answer_score": 0}', '{"answer_score": 1}'
PROMPT = JudgePrompt(system="Be strict.", before="Measure: 12 V\nAnswer: ", after="\nIs it right?")


def question(**fields: Any) -> Question:
    """A question with a reference answer; `points`, `reference` and `row` (its prompt for judges) make its rubric."""
    rubric = {key: fields.pop(key) for key in ("points", "reference") if key in fields}
    if "row" in fields:
        rubric["prompt"] = fields.pop("row")
    defaults = {"id": "q1", "prompt": "What is the voltage?", "target": ReferenceTarget(answer="12 V")}
    return Question(**{**defaults, "rubric": Rubric(**rubric) if rubric else None, **fields})


@pytest.fixture
def judge_model(chat_server: ChatServer) -> OpenAIModel:
    return OpenAIModel(name="strict", endpoint=chat_server.url, price=Price(input=1.0, output=2.0))


@pytest.fixture
async def asking(judge_model: OpenAIModel) -> AsyncIterator[Ask]:
    """Asks the judge as a run does."""
    source = connect(judge_model)
    quick = RetryPolicy(base_seconds=0.001, cap_seconds=0.002)

    async def asking(request: ModelRequest) -> JudgeCall:
        chat = source.session(question(), Condition(name="judging"), 0)
        asked = await ask(
            chat,
            request,
            retry=quick,
            seconds=judge_model.timeout_seconds,
            price=judge_model.price,
            rng=random.Random(0),
            clock=itertools.count().__next__,
        )
        return JudgeCall(request=request, reply=asked.reply, cost_usd=asked.cost_usd)

    yield asking
    await source.close()
