"""A JSON schema for the answer: how each API is told it, what is scored, what is refused."""

from typing import Any

import pytest
from pydantic import ValidationError
from tests.agents.conftest import LocalTools, Play, condition, double
from tests.servers.chat_server import ChatServer, reply
from tests.servers.responses import response, says

from toolablate.agents import require_capabilities
from toolablate.agents.replies.recorded import asked
from toolablate.experiments.plans.conditions import ConditionEntry
from toolablate.traces.errors import InputError
from toolablate.traces.records import Budget, LangChainModel, Message, ModelRequest, OpenAIModel

LOOSE = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
STRICT = {**LOOSE, "additionalProperties": False}
SAID = '{"answer": "A"}'


@pytest.mark.parametrize("schema", [LOOSE, STRICT])
async def test_chat_completions(chat_server: ChatServer, play: Play, schema: dict[str, Any]) -> None:
    chat_server.plays(reply("", ("double", {"x": 1})), reply(SAID))
    arm = condition().model_copy(update={"answer_schema": schema})
    played = await play(LocalTools(double=double), arm)
    assert played.answer.text == f"{SAID}\n\nAnswer: A"
    form = {"name": "answer", "schema": schema, "strict": schema is STRICT}
    for body in chat_server.requests:
        assert body["response_format"] == {"type": "json_schema", "json_schema": form}
        assert body["tools"]


async def test_responses(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(response(says("no JSON")))
    played = await play(None, condition().model_copy(update={"answer_schema": LOOSE}), model={"api": "responses"})
    assert played.answer.text == "no JSON"
    assert chat_server.requests[0]["text"]["format"] == {
        "type": "json_schema",
        "name": "answer",
        "schema": LOOSE,
        "strict": False,
    }


async def test_nothing_is_sent_without_one(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(reply(SAID))
    assert (await play()).answer.text == SAID
    assert "response_format" not in chat_server.requests[0]


def test_a_recorded_reply_is_to_its_schema() -> None:
    model, plain = OpenAIModel(name="m"), ModelRequest(messages=(Message(role="user", content="Hi"),))
    formed = plain.model_copy(update={"answer_schema": LOOSE})
    assert asked(model, plain, 0).key != asked(model, formed, 0).key


def test_a_plan_has_it_for_a_condition() -> None:
    entry = ConditionEntry.model_validate({"name": "json", "base": "none", "answer_schema": LOOSE})
    resolved = entry.resolve(Budget())
    assert resolved.answer_schema == LOOSE
    none = ConditionEntry.model_validate({"name": "none"}).resolve(Budget())
    assert resolved.identity() != none.identity()
    with pytest.raises(ValidationError, match="a property `answer`"):
        ConditionEntry.model_validate({"name": "json", "answer_schema": {"type": "object", "properties": {}}})


def test_what_cannot_be_asked_so_is_refused() -> None:
    arm = condition().model_copy(update={"answer_schema": LOOSE})
    model = OpenAIModel(name="m", sampling={"extra": {"response_format": {"type": "json_object"}}})
    with pytest.raises(InputError, match="cannot stand beside answer_schema"):
        require_capabilities(model, arm)
    with pytest.raises(InputError, match="not known to take a schema"):
        require_capabilities(LangChainModel.model_validate({"name": "m", "class": "langchain_ollama:ChatOllama"}), arm)
