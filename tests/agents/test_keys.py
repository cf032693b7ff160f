"""A key reaches the endpoint that it is meant for, and nothing else."""

import pytest
from pydantic import ValidationError
from tests.agents.conftest import Play
from tests.servers.chat_server import ChatServer, Echo, Status, reply

from toolablate.agents import connect
from toolablate.traces.errors import InputError
from toolablate.traces.records import OpenAIModel


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
async def test_the_key_is_nowhere(
    chat_server: ChatServer, play: Play, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    key = "sk-very-secret-0123456789"
    monkeypatch.setenv("TEST_KEY", key + "\n")
    chat_server.plays(Echo(status), reply(f"your key is {key}"))
    played = await play(model={"api_key_env": "TEST_KEY"})
    assert {headers["authorization"] for headers in chat_server.headers} == {f"Bearer {key}"}
    written = "".join(event.to_json() for event in played.events) + repr(played.events)
    assert key[:8] not in written
    assert "[key]" in written
    source = connect(OpenAIModel(name="m", endpoint=chat_server.url, api_key_env="TEST_KEY"))
    assert key not in repr(source)
    await source.close()


@pytest.mark.parametrize(
    ("status", "variable", "said"),
    [
        (401, "TEST_KEY", "in the environment variable TEST_KEY"),
        (401, "", "no API key was sent"),
        (402, "TEST_KEY", "the account behind TEST_KEY has nothing left"),
        (402, "", "the account has nothing left"),
    ],
)
async def test_a_refused_key_is_named_by_its_variable(
    chat_server: ChatServer, play: Play, monkeypatch: pytest.MonkeyPatch, status: int, variable: str, said: str
) -> None:
    monkeypatch.setenv("TEST_KEY", "sk-0123456789ab")
    chat_server.plays(Status(status))
    assert said in (await play(model={"api_key_env": variable})).events[0].message


@pytest.mark.parametrize("key", ["", " \n"])
@pytest.mark.parametrize("endpoint", ["https://api.openai.com/v1", "http://127.0.0.1:1/v1"])
def test_a_key_whose_variable_is_named_has_to_be_there(
    monkeypatch: pytest.MonkeyPatch, key: str, endpoint: str
) -> None:
    monkeypatch.setenv("TEST_KEY", key)
    with pytest.raises(InputError, match="TEST_KEY") as caught:
        connect(OpenAIModel(name="m", endpoint=endpoint, api_key_env="TEST_KEY"))
    assert caught.value.code == "missing_key"


def test_openai_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match="OPENAI_API_KEY") as caught:
        connect(OpenAIModel(name="m"))
    assert caught.value.code == "missing_key"


@pytest.mark.parametrize(
    ("endpoint", "variable"),
    [
        ("https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("https://API.OpenAI.com:443/v1/", "OPENAI_API_KEY"),
        ("http://api.openai.com/v1", ""),
        ("https://api.openai.com.example.org/v1", ""),
        ("https://example.org/api.openai.com", ""),
        ("http://127.0.0.1:8000/v1", ""),
        ("https://[", ""),
        ("", ""),
    ],
)
def test_only_openai_itself_gets_openais_key(endpoint: str, variable: str) -> None:
    assert OpenAIModel(name="m", endpoint=endpoint).key_variable == variable
    assert OpenAIModel(name="m", endpoint=endpoint, api_key_env="MINE").key_variable == "MINE"


def test_a_key_that_no_header_can_carry_is_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "sk-sécret")
    with pytest.raises(InputError) as caught:
        connect(OpenAIModel(name="m", endpoint="http://127.0.0.1:1/v1", api_key_env="TEST_KEY"))
    assert "TEST_KEY" in str(caught.value)
    assert "cret" not in str(caught.value)


async def test_another_endpoint_gets_nothing_that_is_meant_for_openai(
    chat_server: ChatServer, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Own: of-somebody-else\nAuthorization: Bearer of-somebody-else")
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_WEBHOOK_SECRET"):
        monkeypatch.setenv(name, "of-somebody-else")
    chat_server.plays(reply("Answer: A"))
    assert (await play()).result.outcome == "answered"
    assert len(chat_server.headers) == 1
    assert "somebody" not in str(chat_server.headers)
    assert not {"openai-organization", "openai-project"} & chat_server.headers[0].keys()


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://user:hunter2@127.0.0.1/v1",
        "https://hunter2@api.openai.com/v1",
        "http://user:hunter2@[::1",
        "user:hunter2@127.0.0.1",
        "//user:hunter2@127.0.0.1",
        " http://user:hunter2@127.0.0.1",
        "http:\\\\user:hunter2@127.0.0.1",
        "http://:hunter2@@127.0.0.1",
    ],
)
def test_a_secret_in_an_endpoint_is_refused_and_not_quoted(endpoint: str) -> None:
    with pytest.raises(ValidationError, match="user name or password") as caught:
        OpenAIModel(name="m", endpoint=endpoint)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1/v1?api-key=hunter2", "http://127.0.0.1/v1#hunter2", "h?hunter2"]
)
def test_an_endpoint_that_no_path_can_be_added_to_is_refused_and_not_quoted(endpoint: str) -> None:
    with pytest.raises(ValidationError, match="query or fragment") as caught:
        OpenAIModel(name="m", endpoint=endpoint)
    assert "hunter2" not in str(caught.value)
    unchecked = OpenAIModel.model_construct(name="m", endpoint=endpoint)
    with pytest.raises(InputError, match="no address") as refused:
        connect(unchecked)
    assert "hunter2" not in str(refused.value)
