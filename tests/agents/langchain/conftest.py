"""A model of LangChain against a server of the test, or without one."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from tests.agents.conftest import QUESTION

from toolablate.agents import ModelSource, connect
from toolablate.traces.records import Condition, LangChainModel, Message, ModelReply, ModelRequest, ToolSpec

KEY = "sk-of-the-test-0123456789"
DOUBLE = ToolSpec(
    name="double", description="Double it.", parameters={"type": "object", "properties": {"x": {"type": "integer"}}}
)
HI = Message(role="user", content="Hi")

Ask = Callable[..., Awaitable[ModelReply]]


def model(class_path: str, name: str = "m", **fields: Any) -> LangChainModel:
    return LangChainModel.model_validate({"name": name, "class": class_path, **fields})


@pytest.fixture
async def ask(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ask]:
    """Asks a model, which is opened once for a test."""
    monkeypatch.setenv("KEY_OF_TEST", KEY)
    opened: dict[str, ModelSource] = {}

    async def ask(record: LangChainModel, *messages: Message, seconds: float = 30, **request: Any) -> ModelReply:
        if record.name not in opened:
            opened[record.name] = connect(record)
        chat = opened[record.name].session(QUESTION, Condition(name="c"), 0)
        return await chat.complete(ModelRequest(messages=messages or (HI,), **request), seconds=seconds)

    yield ask
    for source in opened.values():
        await source.close()
