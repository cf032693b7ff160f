"""A request goes to the plan's address and to no other, and takes nothing along but itself."""

import pytest
from tests.agents.conftest import QUESTION, condition
from tests.agents.endpoint.conftest import Ask
from tests.servers.chat_server import ChatServer, Endless, Status, reply

from toolablate.agents import connect
from toolablate.agents.endpoint.refusals import refused
from toolablate.traces.errors import ModelError
from toolablate.traces.records import Message, ModelRequest, OpenAIModel

KEY = "sk-very-secret-0123456789"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed_and_told(
    chat_server: ChatServer, ask: Ask, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    other = chat_server.url.replace("127.0.0.1", "localhost")
    location = other.replace("//", "//user:hunter2@") + f"/chat/completions?token={KEY}#hunter2"
    chat_server.plays(Status(status, headers={"location": location})).answers(lambda body: reply("from elsewhere"))
    with pytest.raises(ModelError) as caught:
        await ask(model={"api_key_env": "TEST_KEY"})
    assert (caught.value.code, caught.value.retryable) == ("redirected", False)
    assert caught.value.message == f"the endpoint answered {status}: it leads to {other}"
    assert "as the model's endpoint" in caught.value.hint
    assert len(chat_server.requests) == 1


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("/v2/responses", ": it leads to http://h:1/v2"),
        ("//other/v1/", ": it leads to http://other/v1/"),
        ("https://h/v1/chat/completions/", ": it leads to https://h/v1"),
        ("http://[::1", ""),
        ("file:///etc/passwd", ""),
        ("http://h/" + "x" * 5_000, ": it leads to http://h/" + "x" * 491 + " ..."),
    ],
)
def test_where_it_leads_is_shown_as_an_endpoint_is_written(location: str, said: str) -> None:
    error = refused(307, {"location": location}, None, key_variable="", endpoint="http://h:1/v1")
    assert (error.code, error.message) == ("redirected", f"the endpoint answered 307{said}")


@pytest.mark.parametrize("status", [300, 304])
async def test_a_redirect_to_nowhere(chat_server: ChatServer, ask: Ask, status: int) -> None:
    chat_server.plays(Status(status, body=""))
    with pytest.raises(ModelError) as caught:
        await ask()
    assert caught.value.code == "redirected"


@pytest.mark.parametrize(("status", "code"), [(307, "redirected"), (503, "overloaded"), (400, "bad_request")])
async def test_a_refusal_without_end_is_read_in_part(chat_server: ChatServer, ask: Ask, status: int, code: str) -> None:
    chat_server.plays(Endless(status, {"location": "/elsewhere"}))
    with pytest.raises(ModelError) as caught:
        await ask(model={"timeout_seconds": 2})
    assert caught.value.code == code
    assert len(chat_server.requests) == 1


async def test_no_cookie_is_kept(chat_server: ChatServer) -> None:
    chat_server.plays(Status(429, headers={"set-cookie": "sid=1; Path=/"}), reply("one"))
    chat_server.answers(lambda body: reply("two"))
    source = connect(OpenAIModel(name="m", endpoint=chat_server.url))
    asked = ModelRequest(messages=(Message(role="user", content="?"),))
    with pytest.raises(ModelError):
        await source.session(QUESTION, condition(), 0).complete(asked, seconds=10)
    await source.session(QUESTION, condition(), 0).complete(asked, seconds=10)
    await source.close()
    assert len(chat_server.headers) == 2
    assert not any("cookie" in headers for headers in chat_server.headers)
