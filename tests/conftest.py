"""What all rooms' tests share: no network but this machine's own, and a chat endpoint that fails on command."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings
from tests.servers.chat_server import ChatServer, ChatServers

# A busy machine is no failure: a test that never ends has its own limit.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # pytest-socket reads these options when it is configured itself. `--force-enable-socket` lifts the ban.
    if config.getoption("allow_hosts", None) is None:
        config.option.allow_hosts = "127.0.0.1,::1"
    config.option.allow_unix_socket = True
    # A shell's background jobs ignore Ctrl-C, and so would the programs that they start to send it to.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the machine's must not stand between a test and its own server."""
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture(scope="session")
def chat_servers() -> Iterator[ChatServers]:
    with ChatServers().running() as servers:
        yield servers


@pytest.fixture
def chat_server(chat_servers: ChatServers) -> Iterator[ChatServer]:
    """An OpenAI-compatible endpoint of this test's own; see `tests.servers.chat_server` for what it can do."""
    with chat_servers.server() as server:
        yield server
