"""What all rooms' tests share: no network but this machine's own, a chat endpoint that fails on command, and plans with
scripted models, run by the real command line in a process of its own."""

import gc
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from http.server import HTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from tests.experiments.commands import Commands
from tests.experiments.library import Library
from tests.experiments.plan_files import KERNELS, answered, call
from tests.servers.chat_server import ChatServer, ChatServers


def _load_benchmarks() -> None:
    """As `bench`, with the examples that one of them converts data by: neither is installed, and the project's root on
    `sys.path` would uncover every room."""
    for name in ("bench", "examples"):
        package = ModuleType(name)
        package.__path__ = [str(Path(__file__).parents[1] / name)]
        sys.modules[name] = package


_load_benchmarks()

# As real servers have: of more connections at once than the five by default, some break on a busy machine.
HTTPServer.request_queue_size = 128

# A busy machine is no failure: a test that never ends has its own limit. Nor is luck: the same code is given the same
# examples, and `--hypothesis-profile searching` looks for others.
settings.register_profile("searching", deadline=None)
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")
# Hypothesis also tries constants of all modules of ours that have been imported: other ones by which tests a process ran
# before, so that luck chose the examples, and it reads hundreds of modules for them. Nothing official turns it off; a
# version without this name fails here.
pytest.MonkeyPatch().setattr(providers, "_get_local_constants", lambda: providers._local_constants)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # pytest-socket reads these options when it is configured itself. `--force-enable-socket` lifts the ban.
    if config.getoption("allow_hosts", None) is None:
        config.option.allow_hosts = "127.0.0.1,::1"
    config.option.allow_unix_socket = True
    # A shell's background jobs ignore Ctrl-C, and so would the programs that they start to send it to.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_DEEP = {"bench", "browser", "compatible", "examples"}
"""Folders whose tests are all deep, but for those that are marked `first`."""
_DEEP_FIXTURES = {"acted", "planted_run", "replayed"}
"""Fixtures that run hundreds of trials or replays: what uses one is deep as well, and may have to wait for it."""
_LONG_SECONDS = 400
"""Of tests with such a fixture and of those of `bench`, whose runs end with the test and have no limit of their own."""
_FIRST_TIER_SECONDS = 2.0
"""CPU time of a test and its child processes. Above it, a test of the first tier is named at the end. It does not fail:
how busy a machine is makes CPU time longer as well."""
_CPU_SECONDS = "CPU seconds"
_FIRST_IMPORTS = 100
"""A test that is the first to import a large library does not pay for it."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        slow = folder in _DEEP and not item.get_closest_marker("first")
        long = _DEEP_FIXTURES.intersection(getattr(item, "fixturenames", ()))
        if slow or item.get_closest_marker("docker") or long:
            item.add_marker("deep")
        if (long or folder == "bench") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(_LONG_SECONDS))


def pytest_collection_finish() -> None:
    """Ten thousand tests and what they import are not looked through for garbage at every turn: an eighth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    modules, before = len(sys.modules), os.times()
    yield
    used = sum(os.times()[:4]) - sum(before[:4])
    if (
        used > _FIRST_TIER_SECONDS
        and len(sys.modules) - modules <= _FIRST_IMPORTS
        and not item.get_closest_marker("deep")
    ):
        item.user_properties.append((_CPU_SECONDS, used))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    slow = [
        (value, each.nodeid)
        for each in terminalreporter.getreports("passed")
        for name, value in each.user_properties
        if name == _CPU_SECONDS
    ]
    if slow:
        terminalreporter.section(f"over {_FIRST_TIER_SECONDS:g} s of CPU time: make it quicker, or mark it deep")
        for seconds, name in sorted(slow, reverse=True):
            terminalreporter.line(f"{seconds:.1f} s  {name}")


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


Cli = Callable[..., subprocess.CompletedProcess[str]]
WritePlan = Callable[..., Path]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes of documents are kept among the tests' files, one for all tests of a process."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def library() -> Iterator[Library]:
    """A site with a search server in front of it, on this machine."""
    with Library().running() as running:
        yield running


@pytest.fixture(scope="session")
def commands() -> Iterator[Commands]:
    opened = Commands()
    yield opened
    opened.close()


@pytest.fixture
def cli(commands: Commands, tmp_path: Path) -> Cli:
    """The command line, in a process of its own that need not import everything first."""

    def run(*arguments: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return commands.run([*map(str, arguments)], tmp_path, dict(os.environ) if env is None else env)

    return run


@pytest.fixture
def cold_cli(tmp_path: Path) -> Cli:
    """The command line as a user starts it, from nothing."""

    def run(*arguments: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "toolablate", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=100,
            env=env,
        )

    return run


@pytest.fixture
def write_plan(tmp_path: Path) -> Callable[..., Path]:
    """Writes a plan with questions 2 + 2, 3 + 3 ... and a script of replies by question and condition."""

    def write(
        replies: dict[tuple[str, str], Sequence[dict[str, Any]]],
        *,
        conditions: str = '["none", "python"]',
        questions: Sequence[dict[str, Any]] | None = None,
        extra: str = "",
        sandbox: str = KERNELS,
    ) -> Path:
        asked = questions or [
            {"id": f"q{n}", "prompt": f"What is {n} + {n}?", "target": {"kind": "number", "value": 2 * n}}
            for n in (1, 2)
        ]
        _write_lines(tmp_path / "questions.jsonl", asked)
        _write_lines(
            tmp_path / "script.jsonl",
            [
                {"question": question, "condition": condition, "replies": list(given)}
                for (question, condition), given in replies.items()
            ],
        )
        plan = tmp_path / "plan.toml"
        plan.write_text(
            f"conditions = {conditions}\n{sandbox}\n{extra}\n[questions]\nfile = 'questions.jsonl'\n"
            "[[models]]\nprovider = 'scripted'\nname = 'recorded'\nscript = 'script.jsonl'\n",
            encoding="utf-8",
        )
        return plan

    return write


def _write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "runs/plan.sqlite"


GOOD = {
    ("q1", "none"): answered("Answer: 3"),
    ("q2", "none"): answered("Answer: 4"),
    ("q1", "python"): [call("x = 1"), call("print(x + 1)"), {"content": "Answer: {{last_tool_output}}"}],
    ("q2", "python"): [call("print(5)"), {"content": "Answer: {{last_tool_output}}"}],
}


@pytest.fixture
def good_plan(write_plan: WritePlan) -> Path:
    return write_plan(GOOD)


@pytest.fixture
def usual_plan(write_plan: WritePlan) -> Path:
    """As most write it, who say nothing of the sandbox."""
    return write_plan(GOOD, sandbox="")
