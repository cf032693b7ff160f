"""What all rooms' tests share: no network but this machine's own, and a chat endpoint that fails on command."""

import shutil
import signal
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

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


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context for `pages.test` and localhost, and a client's that trusts it, as SSL_CERT_FILE=server.pem does."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed, which makes the test's certificate")
    path = tmp_path / "server.pem"
    subject = ("-subj", "/CN=pages.test", "-addext", "subjectAltName=DNS:pages.test,DNS:localhost")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", path.with_suffix(".key"))
    command = ("openssl", "req", "-x509", *key, "-out", path, "-days", "2", *subject)
    subprocess.run(command, check=True, capture_output=True)
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(path, path.with_suffix(".key"))
    return served, ssl.create_default_context(cafile=str(path))
