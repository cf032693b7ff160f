"""One request for a text completion, over real HTTP."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.agents.conftest import QUESTION, condition
from tests.servers.chat_server import ChatServer, Echo, Json, Raw, Status

from toolablate.agents.endpoint.text_completions import TextEndpoint
from toolablate.traces.errors import InputError, ModelError
from toolablate.traces.records import Message, ModelReply, ModelRequest, OpenAIModel, Usage

KEY = "sk-very-secret-0123456789"
Go = Callable[..., Awaitable[ModelReply]]


def written(text: Any, finish_reason: str = "length", **more: Any) -> Json:
    usage = {"prompt_tokens": 4, "completion_tokens": 9, "total_tokens": 13}
    choice = {"index": 0, "text": text, "finish_reason": finish_reason}
    return Json({"id": "cmpl-1", "model": "served-model", "choices": [choice], "usage": usage, **more})


@pytest.fixture
def go_on(chat_server: ChatServer) -> Go:
    async def go_on(text: str = "Once upon a", *, max_tokens: int = 20, **model: Any) -> ModelReply:
        record = OpenAIModel(name="base", **{"endpoint": chat_server.url, **model})
        endpoint = TextEndpoint(record)
        try:
            chat = endpoint.limited(max_tokens).session(QUESTION, condition(), 0)
            return await chat.complete(ModelRequest(messages=(Message(role="user", content=text),)), seconds=10)
        finally:
            await endpoint.close()

    return go_on


async def test_a_text_is_sent_as_it_is_and_sampled_greedily(chat_server: ChatServer, go_on: Go) -> None:
    chat_server.plays(written(" time,\n there"))
    reply = await go_on("从前有座山\n\tOnce upon a")
    assert chat_server.requests == [
        {"model": "base", "prompt": "从前有座山\n\tOnce upon a", "max_tokens": 20, "temperature": 0.0}
    ]
    assert "authorization" not in chat_server.headers[0]
    assert (reply.message.content, reply.finish_reason, reply.model) == (" time,\n there", "length", "served-model")
    assert reply.usage == Usage(input_tokens=4, output_tokens=9)


async def test_the_models_sampling_is_sent_in_its_place(chat_server: ChatServer, go_on: Go) -> None:
    chat_server.plays(written("x"))
    sampling = {"temperature": 0.7, "top_p": 0.9, "seed": 3, "extra": {"top_k": 4}}
    await go_on(model="org/base", sampling=sampling)
    sent = chat_server.requests[0]
    assert (sent["temperature"], sent["top_p"], sent["seed"], sent["top_k"]) == (0.7, 0.9, 3, 4)
    assert (sent["model"], sent["max_tokens"]) == ("org/base", 20)


async def test_a_text_that_is_at_its_end_is_a_reply(chat_server: ChatServer, go_on: Go) -> None:
    chat_server.plays(written("", "stop"))
    reply = await go_on()
    assert (reply.message.content, reply.finish_reason) == ("", "stop")


@pytest.mark.parametrize(
    ("body", "code", "retryable"),
    [
        ({"choices": []}, "bad_reply", True),
        ({"choices": [{"message": {"content": "of a chat"}}]}, "bad_reply", True),
        ({"choices": [{"text": 3}]}, "bad_reply", True),
        ({"choices": [{"text": "x", "finish_reason": "content_filter"}]}, "content_filter", False),
        ({"choices": [{"text": "x", "finish_reason": "abort"}]}, "server_error", True),
    ],
)
async def test_what_is_no_reply_is_told(
    chat_server: ChatServer, go_on: Go, body: dict[str, Any], code: str, retryable: bool
) -> None:
    chat_server.plays(Json(body))
    with pytest.raises(ModelError) as caught:
        await go_on()
    assert (caught.value.code, caught.value.retryable) == (code, retryable)


async def test_an_endpoint_without_text_completions_is_told_as_such(chat_server: ChatServer, go_on: Go) -> None:
    with pytest.raises(ModelError) as caught:
        await go_on(endpoint=f"{chat_server.url}/elsewhere")
    assert caught.value.code == "no_text_completions"
    assert f"{chat_server.url}/elsewhere serves no text completions of 'base'" in caught.value.message
    assert "vLLM, llama.cpp and SGLang do" in caught.value.hint


@pytest.mark.parametrize(
    ("status", "said", "code"),
    [
        (400, "This model only supports chat completions.", "no_text_completions"),
        (422, "messages: field required", "no_text_completions"),
        (405, "Method Not Allowed", "no_text_completions"),
        (501, "not implemented", "no_text_completions"),
        (400, "max_tokens is too large", "bad_request"),
        (500, "out of memory", "server_error"),
    ],
)
async def test_an_endpoint_that_only_chats_is_told_as_such(
    chat_server: ChatServer, go_on: Go, status: int, said: str, code: str
) -> None:
    chat_server.plays(Status(status, {"message": said}))
    with pytest.raises(ModelError) as caught:
        await go_on()
    assert caught.value.code == code
    assert said in caught.value.message


async def test_a_text_that_is_sent_back_is_no_part_of_its_continuation(chat_server: ChatServer, go_on: Go) -> None:
    chat_server.plays(written("Once upon a time"), written(" midnight, Once upon a time"))
    assert (await go_on("Once upon a")).message.content == " time"
    assert (await go_on("Once upon a")).message.content == " midnight, Once upon a time"


@pytest.mark.parametrize(
    ("name", "said", "code"),
    [
        ("base", "The model `base` does not exist.", "unknown_model"),
        ("base", "This is a chat model and not supported in the v1/completions endpoint.", "no_text_completions"),
        ("t", "Not Found", "no_text_completions"),
    ],
)
async def test_a_model_that_is_not_there_is_another_matter(
    chat_server: ChatServer, go_on: Go, name: str, said: str, code: str
) -> None:
    chat_server.plays(Status(404, {"message": said}))
    with pytest.raises(ModelError) as caught:
        await go_on(model=name)
    assert caught.value.code == code


async def test_the_key_is_sent_and_reaches_nothing_that_comes_out(
    chat_server: ChatServer, go_on: Go, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    chat_server.plays(written(f"the key is {KEY}"), Echo(404), Echo(401), Raw(f"<{KEY}>".encode()))
    assert (await go_on(api_key_env="TEST_KEY")).message.content == "the key is [key]"
    assert chat_server.headers[0]["authorization"] == f"Bearer {KEY}"
    for code in ("no_text_completions", "unauthorized", "bad_reply"):
        with pytest.raises(ModelError) as caught:
            await go_on(api_key_env="TEST_KEY")
        assert caught.value.code == code
        assert KEY not in f"{caught.value!r}{caught.value}"


@pytest.mark.parametrize(
    ("sampling", "key"),
    [
        ({"reasoning_effort": "low"}, "sampling.reasoning_effort"),
        ({"logprobs": True}, "sampling.logprobs"),
        ({"max_tokens": 5}, "sampling.max_tokens"),
        ({"extra": {"echo": True}}, "sampling.extra.echo"),
        ({"extra": {"prompt": "x"}}, "sampling.extra.prompt"),
        ({"extra": {"stream": True}}, "sampling.extra.stream"),
    ],
)
async def test_what_a_text_completion_cannot_have_is_refused(go_on: Go, sampling: dict[str, Any], key: str) -> None:
    with pytest.raises(InputError, match=key.replace(".", r"\.")):
        await go_on(sampling=sampling)


async def test_a_redirect_is_shown_as_an_endpoint_is_written(chat_server: ChatServer, go_on: Go) -> None:
    chat_server.plays(Status(307, headers={"location": "http://elsewhere/v1/completions"}))
    with pytest.raises(ModelError, match=r"it leads to http://elsewhere/v1\n"):
        await go_on()
