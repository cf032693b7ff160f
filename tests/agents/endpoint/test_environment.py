"""Proxies and certificates that the environment names, and cannot be used, are told before anything is asked."""

from pathlib import Path

import pytest
from tests.agents.endpoint.conftest import Ask
from tests.servers.chat_server import ChatServer, reply

from toolablate.traces.errors import InputError


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("http_proxy", "junk://hunter2"),
        ("HTTPS_PROXY", "junk://hunter2"),
        ("all_proxy", "http://user:hunter2@[::1"),
        ("HTTP_PROXY", "http://user:hunter2@h:port"),
        ("ALL_PROXY", "socks5://user:hunter2@127.0.0.1:1"),
    ],
)
async def test_a_proxy_that_is_none_is_named_by_its_variable(
    chat_server: ChatServer, ask: Ask, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setattr("toolablate.agents.endpoint.transport.find_spec", lambda package: None)
    monkeypatch.setenv(variable, value)
    with pytest.raises(InputError, match=f"variable {variable} ") as caught:
        await ask()
    assert caught.value.code == "bad_proxy"
    assert "hunter2" not in str(caught.value)
    assert chat_server.requests == []


@pytest.mark.parametrize("content", [None, "no certificate"])
async def test_certificates_that_are_none_are_named_by_their_variable(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "certificates.pem"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with pytest.raises(InputError, match="SSL_CERT_FILE") as caught:
        await ask()
    assert caught.value.code == "bad_certificates"


async def test_what_is_no_clients_proxy_is_left_alone(
    chat_server: ChatServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ftp_proxy", "junk://x")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("http_proxy", "")
    monkeypatch.setenv("https_proxy", "somewhere:8080")
    chat_server.plays(reply("A"))
    assert (await ask()).message.content == "A"
