"""What both APIs share on the way: headers, bounds, and a key that stays inside."""

import asyncio
import gzip
import json
import os
import socket
import ssl
from pathlib import Path

import pytest
from tests.agents.conftest import QUESTION, condition
from tests.agents.endpoint.conftest import Ask
from tests.servers.chat_server import ChatServer, Hang, Json, Raw, Slow, Status, reply
from tests.servers.responses import response, says

from toolablate.agents import connect
from toolablate.agents.endpoint.requirements import blanking
from toolablate.traces.errors import ModelError
from toolablate.traces.records import Message, ModelReply, ModelRequest, OpenAIModel

KEY = "sk-very-secret-0123456789"


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_without_a_key_no_authorization_is_sent(
    chat_server: ChatServer, ask: Ask, monkeypatch: pytest.MonkeyPatch, api: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ADMIN_KEY", KEY)
    chat_server.plays(reply("ok") if api == "chat" else response(says("ok")))
    await ask(model={"api": api})
    assert "authorization" not in chat_server.headers[0]
    assert KEY not in str(chat_server.headers)


async def test_the_headers_that_are_sent(chat_server: ChatServer, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """And none of what other programs read from the environment."""
    monkeypatch.setenv("TEST_KEY", KEY)
    for variable in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS"):
        monkeypatch.setenv(variable, "x-other: secret")
    chat_server.plays(reply("ok"))
    await ask(model={"api_key_env": "TEST_KEY"})
    (sent,) = chat_server.headers
    names = {"host", "accept", "accept-encoding", "connection", "content-type", "content-length", "user-agent"}
    assert set(sent) == {*names, "authorization"}
    assert sent["authorization"] == f"Bearer {KEY}"
    assert sent["content-type"] == sent["accept"] == "application/json"
    assert sent["user-agent"].startswith("toolablate/")


@pytest.mark.parametrize("broken", [False, True])
async def test_an_encrypted_connection(
    certificate: tuple[ssl.SSLContext, ssl.SSLContext],
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    broken: bool,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
    body = json.dumps(reply("ok").value).encode()

    def serve(listening: socket.socket) -> None:
        connection = certificate[0].wrap_socket(listening.accept()[0], server_side=True)
        with connection, socket.socket(fileno=os.dup(connection.fileno())) as bare:
            sent = b""
            # What is left unread would break the connection off when it is closed.
            while not sent.endswith(b"}]}"):
                sent += connection.recv(65_536)
            head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
            connection.sendall(head + (body[:5] if broken else body))
            if broken:
                bare.sendall(b"no record of TLS")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        served = asyncio.create_task(asyncio.to_thread(serve, listening))
        asked = ask(model={"endpoint": f"https://localhost:{listening.getsockname()[1]}/v1"})
        if broken:
            with pytest.raises(ModelError) as caught:
                await asked
            assert (caught.value.code, caught.value.retryable) == ("disconnected", True)
        else:
            assert (await asked).message.content == "ok"
        await served


@pytest.mark.parametrize("damaged", [False, True])
async def test_a_compressed_reply(chat_server: ChatServer, ask: Ask, damaged: bool) -> None:
    packed = gzip.compress(json.dumps(reply("ok").value).encode())
    chat_server.plays(Raw(packed[:10] + b"?" * 20 if damaged else packed, headers={"content-encoding": "gzip"}))
    if damaged:
        with pytest.raises(ModelError) as caught:
            await ask()
        assert (caught.value.code, caught.value.retryable) == ("disconnected", True)
    else:
        assert (await ask()).message.content == "ok"


async def test_a_connection_is_used_again_and_not_after_a_cancelled_request(chat_server: ChatServer) -> None:
    chat_server.plays(reply("one"), reply("two"), Hang(), reply("three"))
    source = connect(OpenAIModel(name="m", endpoint=chat_server.url))
    session = source.session(QUESTION, condition(), 0)
    asked = ModelRequest(messages=(Message(role="user", content="?"),))
    assert (await session.complete(asked, seconds=10)).message.content == "one"
    assert (await session.complete(asked, seconds=10)).message.content == "two"
    hanging = asyncio.create_task(session.complete(asked, seconds=30))
    while len(chat_server.requests) < 3:  # noqa: ASYNC110 - the server runs in another thread
        await asyncio.sleep(0.01)
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    assert (await session.complete(asked, seconds=10)).message.content == "three"
    await source.close()
    first, second, third, fourth = chat_server.clients
    assert first == second == third != fourth


async def test_a_key_that_comes_back_escaped_is_blanked_too(
    chat_server: ChatServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
    body = json.dumps(
        reply("your key is KEY", reasoning_details=[{"type": "reasoning.text", "text": "KEY \ud800"}]).value
    )
    chat_server.plays(Raw(body.replace("KEY", escaped).encode()))
    told = await ask(model={"api_key_env": "TEST_KEY"})
    assert told.message.content == "your key is [key]"
    assert told.message.items[0]["text"] == "[key] \ufffd"


SLASHED = "sk-abc/defghijk-0123456789"
NAMED = json.dumps(reply("A", reasoning_details=[{"type": "reasoning.text", "KEY": 1}]).value)


@pytest.mark.parametrize("written", [SLASHED.replace("/", "\\/"), SLASHED.replace("k", "\\u006B"), SLASHED])
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, json.dumps(reply("your key is KEY").value)),
        (200, json.dumps(reply(None, ("f", '{"x": "DEEPER"}')).value)),
        (200, NAMED),
        (200, '["KEY"]'),
        (200, "your key is KEY"),
        (400, '{"error": {"message": "KEY", "code": "KEY"}}'),
        (400, '["KEY'),
        (429, "your key is KEY"),
    ],
)
async def test_a_key_is_found_however_it_is_written(
    chat_server: ChatServer, ask: Ask, monkeypatch: pytest.MonkeyPatch, status: int, body: str, written: str
) -> None:
    monkeypatch.setenv("TEST_KEY", SLASHED)
    body = body.replace("DEEPER", written.replace("\\", "\\\\")).replace("KEY", written)
    chat_server.plays(Status(status, body=body))
    try:
        shown = (await ask(model={"api_key_env": "TEST_KEY"})).to_json()
    except ModelError as error:
        shown = f"{error} {error.hint}"
    assert "[key]" in shown
    assert "defghijk" not in shown
    assert "0123456789" not in shown


async def test_a_text_full_of_escapes_is_looked_through_in_time() -> None:
    blank = blanking(SLASHED)
    for text in ("\\" * 2_000_000, "s" * 2_000_000 + "\\", "\\u0073" * 300_000):
        assert blank(text) == text


@pytest.mark.parametrize("key", ["sk-abc/def+gh_ij", 'sk-a"b\\c~d', "plainletters1"])
@pytest.mark.parametrize("around", ["", "\\n", "\\u2019", "\\u00e9", "\\/", '\\"', "\\"])
def test_a_key_is_blanked_beside_any_escape(key: str, around: str) -> None:
    once = json.dumps(key)[1:-1]
    slashed, twice = once.replace("/", "\\/"), json.dumps(once)[1:-1]
    coded = "".join(f"\\u{ord(letter):04x}" for letter in key)
    partly = f"\\u{ord(key[0]):04X}{json.dumps(key[1:])[1:-1]}"
    for written in (key, once, slashed, twice, coded, json.dumps(coded)[1:-1], partly):
        shown = blanking(key)(f"a{around}{written}{around}b")
        assert shown.count("[key]") == 1
        assert key[-3:] not in shown


async def test_a_byte_order_mark_is_no_part_of_a_reply(chat_server: ChatServer, ask: Ask) -> None:
    mark = "\ufeff"
    refusal = json.dumps({"error": {"code": "insufficient_quota", "message": "pay"}})
    chat_server.plays(Raw((mark + json.dumps(reply("A").value)).encode()), Status(429, body=mark + refusal))
    assert (await ask()).message.content == "A"
    with pytest.raises(ModelError) as caught:
        await ask()
    assert caught.value.code == "insufficient_quota"


@pytest.mark.parametrize("code", ["9" * 5_000, "\u0664\u0662\u0669", "\u00b2", "999", "12"])
async def test_a_code_that_is_no_status_is_the_endpoints_own_trouble(
    chat_server: ChatServer, ask: Ask, code: str
) -> None:
    chat_server.plays(Json({"error": {"message": "x", "code": code}}))
    with pytest.raises(ModelError) as caught:
        await ask()
    assert caught.value.code == "server_error"


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_refusal_of_any_size_is_read_in_part(chat_server: ChatServer, ask: Ask, api: str) -> None:
    chat_server.plays(Status(503, body="z" * 5_000_000))
    with pytest.raises(ModelError) as caught:
        await ask(model={"api": api})
    assert (caught.value.code, caught.value.retryable) == ("overloaded", True)
    assert len(caught.value.message) < 1000


@pytest.mark.parametrize(("levels", "taken"), [(90, True), (150, False), (400, False)])
async def test_what_is_nested_too_deep_to_be_read_again_is_no_reply(
    chat_server: ChatServer, ask: Ask, levels: int, taken: bool
) -> None:
    nested: object = "hm"
    for _ in range(levels):
        nested = [nested]
    chat_server.plays(reply("A", reasoning_details=[{"type": "reasoning.text", "deep": nested}]))
    if taken:
        told = await ask()
        assert ModelReply.from_json(told.to_json()) == told
        return
    with pytest.raises(ModelError, match="nested") as caught:
        await ask()
    assert caught.value.code == "bad_reply"


async def test_geminis_lists_of_errors_are_read(chat_server: ChatServer, ask: Ask) -> None:
    said = [{"error": {"code": 400, "message": "Function call is missing a thought_signature", "status": "INVALID"}}]
    chat_server.plays(Status(400, body=json.dumps(said)))
    with pytest.raises(ModelError, match="missing a thought_signature") as caught:
        await ask()
    assert 'reasoning = "drop"' in caught.value.hint


async def test_many_requests_at_once_get_their_own_replies(chat_server: ChatServer) -> None:
    chat_server.answers(lambda body: Slow(0.05, reply(body["messages"][0]["content"])))
    source = connect(OpenAIModel(name="m", endpoint=chat_server.url))

    async def one(number: int) -> str:
        asked = ModelRequest(messages=(Message(role="user", content=str(number)),))
        return (await source.session(QUESTION, condition(), 0).complete(asked, seconds=30)).message.content

    assert await asyncio.gather(*(one(number) for number in range(50))) == [str(number) for number in range(50)]
    await source.close()


async def test_a_conversation_that_changes_is_sent_as_it_is(chat_server: ChatServer) -> None:
    chat_server.answers(lambda body: reply("ok"))
    source = connect(OpenAIModel(name="m", endpoint=chat_server.url))
    session = source.session(QUESTION, condition(), 0)
    a, b, c, d = (Message(role="user", content=text) for text in "abcd")
    for messages in ((a,), (a, b, c), (a, d), (a, d, c), (b,), (a, b)):
        await session.complete(ModelRequest(messages=messages), seconds=10)
        assert [message["content"] for message in chat_server.messages] == [message.content for message in messages]
    await source.close()
