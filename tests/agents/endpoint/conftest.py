"""One request to an endpoint, without the loop."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.agents.conftest import QUESTION, condition
from tests.servers.chat_server import ChatServer

from toolablate.agents import connect
from toolablate.traces.records import Message, ModelReply, ModelRequest, OpenAIModel, ToolSpec

DOUBLE = ToolSpec(name="double", description="Doubles x.", parameters={"type": "object", "properties": {}})

Ask = Callable[..., Awaitable[ModelReply]]


@pytest.fixture
def ask(chat_server: ChatServer) -> Ask:
    """Asks `chat_server` once. `model` holds fields of the model's record; the others are those of the request."""

    async def ask(*messages: Message, model: Any = None, **request: Any) -> ModelReply:
        source = connect(OpenAIModel(name="m", **{"endpoint": chat_server.url, **(model or {})}))
        try:
            asked = ModelRequest(messages=messages or (Message(role="user", content="Why?"),), **request)
            return await source.session(QUESTION, condition(), 0).complete(asked, seconds=10)
        finally:
            await source.close()

    return ask
