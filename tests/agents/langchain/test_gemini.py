"""The real ChatGoogleGenerativeAI against a server that speaks generateContent."""

import base64
from importlib.metadata import version
from typing import Any

import pytest
from tests.agents.langchain.conftest import DOUBLE, HI, KEY, Ask, model
from tests.browser.hostile import png
from tests.servers import gemini as api
from tests.servers.chat_server import ChatServer, Hang

from toolablate.agents import require_images
from toolablate.agents.chat import NoReplyError
from toolablate.traces.errors import InputError, ModelError
from toolablate.traces.records import Message, NumberTarget, Picture, Question, Usage

pytest.importorskip("langchain_google_genai", reason="langchain-google-genai is not installed (pip install -e .[dev])")
# A client of Google's inherits from a class of aiohttp that does not like it; and langchain-core reads a refusal of
# aiohttp's without waiting for it.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning"),
]


def gemini(server: ChatServer, **kwargs: Any) -> Any:
    # Before version 4 the class asks by gRPC if nothing else is said.
    old = {"transport": "rest"} if version("langchain-google-genai") < "4" else {}
    kwargs = {"base_url": server.address, **old, **kwargs}
    return model("langchain_google_genai:ChatGoogleGenerativeAI", "gemini-x", kwargs=kwargs, api_key_env="KEY_OF_TEST")


async def test_thoughts_come_and_the_signature_of_a_call_goes_back(chat_server: ChatServer, ask: Ask) -> None:
    chat_server.plays(
        api.content(
            api.thought("Twice 21."),
            api.call("double", {"x": 21}, api.SIGNATURE),
            thoughtsTokenCount=4,
            cachedContentTokenCount=6,
        ),
        api.content(api.text("Answer: A")),
    )
    record = gemini(chat_server, include_thoughts=True, temperature=0)
    system = Message(role="system", content="Be brief.")
    first = await ask(record, system, HI, tools=(DOUBLE,))
    assert first.message.reasoning == "Twice 21."
    assert first.finish_reason == "tool_calls"
    assert [(call.name, call.arguments) for call in first.message.tool_calls] == [("double", '{"x": 21}')]
    assert first.usage == Usage(input_tokens=10, output_tokens=9, cached_tokens=6, reasoning_tokens=4)
    assert first.model == "gemini-served"
    kept = Message.from_json(first.message.to_json())
    result = Message(role="tool", content="forty-two", tool_call_id=kept.tool_calls[0].id)
    second = await ask(record, system, HI, kept, result, tools=(DOUBLE,), tool_choice="none")
    assert (second.message.content, second.finish_reason) == ("Answer: A", "stop")

    asked, again = chat_server.requests
    assert chat_server.paths[0].endswith("/models/gemini-x:generateContent")
    assert chat_server.headers[0]["x-goog-api-key"] == KEY
    # proto3's JSON has both spellings, and clients use both.
    assert list(asked["generationConfig"]["thinkingConfig"].values()) == [True]
    assert asked["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    _, said, shown = again["contents"]
    (part,) = [part for part in said["parts"] if "functionCall" in part]
    assert (part["functionCall"]["name"], part["thoughtSignature"]) == ("double", api.SIGNATURE)
    assert shown["parts"][0]["functionResponse"] == {"name": "double", "response": {"output": "forty-two"}}
    assert "toolConfig" not in asked
    assert "functionCallingConfig" in again["toolConfig"]


@pytest.mark.parametrize(
    ("kind", "said", "code", "wait"),
    [
        ("RESOURCE_EXHAUSTED", "Quota exceeded for requests", "rate_limited", 9),
        ("UNAVAILABLE", "The model is overloaded.", "overloaded", None),
        ("INTERNAL", "An internal error has occurred", "server_error", None),
        (
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            "context_length",
            None,
        ),
        ("INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", "unauthorized", None),
        ("PERMISSION_DENIED", "The caller does not have permission", "forbidden", None),
        ("NOT_FOUND", "models/gemini-x is not found for API version v1beta", "unknown_model", None),
    ],
)
async def test_refusals(chat_server: ChatServer, ask: Ask, kind: str, said: str, code: str, wait: float | None) -> None:
    """Each is told at once: the retries of the class and those of Google's client below it are off."""
    chat_server.plays(api.error(kind, said, wait=9 if wait else None))
    with pytest.raises(ModelError) as caught:
        await ask(gemini(chat_server))
    assert (caught.value.code, caught.value.retry_after) == (code, wait)
    assert said in caught.value.message
    assert len(chat_server.requests) == 1


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (api.content(finish_reason="SAFETY"), "content_filter"),
        (api.blocked(), "content_filter"),
        (api.content(finish_reason="MALFORMED_FUNCTION_CALL"), "empty_reply"),
    ],
)
async def test_a_reply_that_is_none(chat_server: ChatServer, ask: Ask, step: Any, code: str) -> None:
    chat_server.plays(step)
    with pytest.raises(NoReplyError) as caught:
        await ask(gemini(chat_server))
    assert caught.value.code == code


async def test_a_reply_that_is_cut_and_one_that_never_comes(chat_server: ChatServer, ask: Ask) -> None:
    chat_server.plays(api.content(api.text("cut"), finish_reason="MAX_TOKENS"), Hang())
    assert (await ask(gemini(chat_server))).finish_reason == "length"
    with pytest.raises(ModelError) as caught:
        await ask(gemini(chat_server), seconds=0.3)
    assert (caught.value.code, caught.value.retryable) == ("timeout", True)


@pytest.mark.skipif(version("langchain-google-genai") < "4", reason="not before version 4")
async def test_the_form_of_an_answer(chat_server: ChatServer, ask: Ask) -> None:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    chat_server.plays(api.content(api.text('{"answer": "A"}')))
    await ask(gemini(chat_server), HI, answer_schema=schema)
    assert chat_server.requests[0]["generationConfig"]["responseJsonSchema"] == schema


async def test_pictures_stand_in_questions_and_behind_results(chat_server: ChatServer, ask: Ask) -> None:
    picture = Picture.of(base64.b64decode(png()))
    chat_server.plays(api.content(api.call("double", {"x": 1}, api.SIGNATURE)), api.content(api.text("ok")))
    asked = Message(role="user", content="See <image 1> now", images=(picture,))
    reply = await ask(gemini(chat_server), asked, tools=(DOUBLE,))
    (call,) = reply.message.tool_calls
    drawn = Message(role="tool", content="drawn", tool_call_id=call.id, images=(picture,))
    await ask(gemini(chat_server), asked, reply.message, drawn, tools=(DOUBLE,))
    question, _, *behind = chat_server.requests[1]["contents"]
    parts = [part for content in behind for part in content["parts"]]
    assert [set(part) for part in question["parts"]] == [{"text"}, {"inlineData"}, {"text"}]
    data = question["parts"][1]["inlineData"]
    assert base64.b64decode(data["data"], altchars=b"-_") == picture.content
    assert "image/png" in data.values()
    assert "functionResponse" in parts[0]
    assert parts[0]["functionResponse"]["response"] == {"output": "drawn"}
    assert parts[1]["text"] == f"Images of the result of call {call.id}:"
    assert parts[2]["inlineData"] == data


def test_a_class_whose_profile_has_no_images_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_TEST", KEY)
    picture = Picture.of(base64.b64decode(png()))
    plain = Question(id="plain", prompt="p", target=NumberTarget(value=1))
    seen = plain.model_copy(update={"id": "seen", "images": (picture,)})

    def record(**profile: Any) -> Any:
        path = "langchain_google_genai:ChatGoogleGenerativeAI"
        return model(path, "gemini-x", kwargs={"profile": profile}, api_key_env="KEY_OF_TEST")

    for allowed in (record(), record(image_inputs=True)):
        require_images(allowed, [plain, seen])
    require_images(record(image_inputs=False), [plain])
    with pytest.raises(InputError, match="question 'seen' has images, but by the profile of its class"):
        require_images(record(image_inputs=False), [plain, seen])
