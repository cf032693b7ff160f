"""The guide's tool, search provider and model provider, installed as they stand there: a plan uses each."""

import json
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.project.pages import ROOT, blocks
from tests.servers.chat_server import ChatServer, reply

from toolablate.agents import connect
from toolablate.cli import group
from toolablate.experiments.plans.plan import load_plan
from toolablate.tools import user_code
from toolablate.tools.registry import Resources, expanded_uses, open_toolset
from toolablate.tools.search import open_provider, provider_identity
from toolablate.traces.errors import InputError
from toolablate.traces.records import RegisteredModel, ToolUse, Trace
from toolablate.traces.store import Store

PAGE = "docs/extending.md"
Install = Callable[[str], str]


def section(heading: str, language: str) -> list[str]:
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    (found,) = [part for part in page.split("\n## ") if part.startswith(f"{heading}\n")]
    return [body for body in blocks(PAGE, language) if body in found]


def write_points(folder: Path, package: str, group_: str, points: dict[str, str]) -> None:
    about = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (about / "entry_points.txt").write_text("\n".join([f"[{group_}]", *lines]), encoding="utf-8")
    user_code.registered.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a section's package into the test's folder, and gives the text of its plan."""
    modules = []
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.chdir(tmp_path)

    def install_section(heading: str) -> str:
        about, plan = section(heading, "toml")
        package = tomllib.loads(about)
        (code,) = section(heading, "python")
        modules.append(package["tool"]["setuptools"]["py-modules"][0])
        (tmp_path / f"{modules[-1]}.py").write_text(code, encoding="utf-8")
        ((group_, points),) = package["project"]["entry-points"].items()
        write_points(tmp_path, package["project"]["name"], group_, points)
        return plan

    yield install_section
    user_code.registered.cache_clear()
    for name in modules:
        sys.modules.pop(name, None)


def run(plan: str) -> dict[str, Trace]:
    question = {"id": "q", "prompt": "Say 7", "answer": "7"}
    Path("questions.jsonl").write_text(json.dumps(question), encoding="utf-8")
    Path("plan.toml").write_text(plan, encoding="utf-8")
    ran = CliRunner().invoke(group, ["run", "plan.toml"], catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    with Store(Path("runs/plan.sqlite")) as store:
        names = {condition.identity(): condition.name for condition in store.conditions()}
        return {names[trace.trial.condition]: trace for trace in store.traces()}


def outputs(trace: Trace) -> list[str]:
    return [event.output for event in trace.events if event.kind == "tool_call"]


def calling(server: ChatServer, tool: str, **arguments: object) -> None:
    """The model calls the tool once where it is offered, and then answers."""

    def said(body: dict[str, object]) -> object:
        asked = body.get("tools") and "tool" not in [message["role"] for message in body["messages"]]  # type: ignore[attr-defined]
        call = {"id": "1", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
        return reply("", tool_calls=[call]) if asked else reply("Answer: 7")

    server.answers(said)  # type: ignore[arg-type]


def test_the_tool_of_the_guide_is_called(install: Install, chat_server: ChatServer) -> None:
    calling(chat_server, "morse", text="SOS!")
    traces = run(install("Add a tool").replace("http://localhost:8000/v1", chat_server.url))
    assert {name: outputs(trace) for name, trace in traces.items()} == {
        "none": [],
        "morse": ["... --- ..."],
        "wide": ["... / --- / ..."],
    }


def test_the_search_provider_of_the_guide_is_asked(
    install: Install, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    class Service(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append((self.path, self.headers["X-Api-Key"]))
            hit = {"url": "https://attic.example/seven", "title": "Seven", "body": "It is 7."}
            body = json.dumps({"hits": [hit]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...

    monkeypatch.setenv("ATTIC_API_KEY", "the-key-of-the-attic")
    calling(chat_server, "web_search", query="seven")
    plan = install("Add a search provider").replace("http://localhost:8000/v1", chat_server.url)
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            traces = run(plan.replace("http://localhost:8080", f"http://127.0.0.1:{server.server_port}"))
        finally:
            server.shutdown()
            thread.join()
    assert seen == [("/search?q=seven&limit=10", "the-key-of-the-attic")]
    (shown,) = outputs(traces["web_search"])
    assert "https://attic.example/seven" in shown
    assert "It is 7." in shown


def test_the_model_provider_of_the_guide_is_run(install: Install) -> None:
    (trace,) = run(install("Add a model provider")).values()
    assert trace.answer == "Answer: 7"
    with Store(Path("runs/plan.sqlite")) as store:
        (model,) = store.models()
    assert (model.provider, getattr(model, "package", "")) == ("parrot", "toolablate-parrot 1.0")


@pytest.mark.parametrize(("key", "name"), [("tools", "python"), ("search_providers", "brave"), ("providers", "openai")])
def test_two_packages_that_claim_one_name_are_both_named(
    install: Install, tmp_path: Path, key: user_code.Key, name: str
) -> None:
    write_points(tmp_path, "rival-package", f"toolablate.{key}", {name: "rival:thing"})
    with pytest.raises(InputError, match="rival-package and toolablate") as refused:
        user_code.load_own(name, key)
    assert refused.value.code == "claimed_twice"


@pytest.mark.parametrize("key", ["tools", "search_providers", "providers"])
def test_what_cannot_be_loaded_is_told_with_its_package(install: Install, tmp_path: Path, key: user_code.Key) -> None:
    (tmp_path / "broken_for_test.py").write_text("raise RuntimeError('no luck')")
    write_points(tmp_path, "broken-package", f"toolablate.{key}", {"broken": "broken_for_test:thing"})
    with pytest.raises(InputError, match=r"of the package broken-package: cannot import .*no luck"):
        user_code.load_own("broken", key)


CANNOT_OPEN = [
    ("lambda: None", "TypeError: "),
    ("lambda given: {}['no luck']", "KeyError: 'no luck'"),
    ("lambda given: 3", "is expected, found 3"),
]


@pytest.mark.parametrize(("opening", "told"), [*CANNOT_OPEN, ("3", "TypeError: 'int' object is not callable")])
def test_a_model_provider_that_opens_no_model_is_told_with_its_package(
    install: Install, tmp_path: Path, opening: str, told: str
) -> None:
    write_opening(tmp_path, "providers", opening)
    with pytest.raises(InputError, match=r"providers: 'broken' of the package broken-package cannot be") as refused:
        connect(RegisteredModel(provider="broken", name="m"))
    assert told in refused.value.message


@pytest.mark.parametrize(("opening", "told"), CANNOT_OPEN)
def test_a_tool_kind_that_opens_no_tool_is_told_with_its_package(
    install: Install, tmp_path: Path, opening: str, told: str
) -> None:
    write_opening(tmp_path, "tools", f"ToolKind('sandbox', {opening})")
    with pytest.raises(InputError, match=r"tools: 'broken' of the package broken-package cannot be") as refused:
        open_toolset([ToolUse(name="broken")], Resources())
    assert told in refused.value.message


def write_opening(folder: Path, key: str, opening: str) -> None:
    code = f"from toolablate.tools.registry import ToolKind\nthing = {opening}\n"
    (folder / "opening_for_test.py").write_text(code, encoding="utf-8")
    sys.modules.pop("opening_for_test", None)
    write_points(folder, "broken-package", f"toolablate.{key}", {"broken": "opening_for_test:thing"})


def test_without_any_provider_the_plan_says_what_to_do(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("plan.toml").write_text(install("Add a model provider"), encoding="utf-8")
    monkeypatch.setattr("toolablate.experiments.plans.plan.registered", lambda key: {})
    with pytest.raises(InputError, match=r"no provider is registered: .* \(pip install -e \.\)"):
        load_plan(Path("plan.toml"))


def test_a_toolset_s_name_is_not_for_a_package(install: Install, tmp_path: Path) -> None:
    write_points(tmp_path, "rival-package", "toolablate.tools", {"search": "rival:thing"})
    with pytest.raises(
        InputError, match="tools: 'search' is claimed by several packages: rival-package and toolablate"
    ):
        expanded_uses([ToolUse(name="search")])


@pytest.mark.parametrize(
    ("code", "asked", "told"),
    [
        ("open=lambda *_: 1 / 0, identity=lambda _: ('a', {})", open_provider, "cannot be opened: ZeroDivisionError"),
        ("open=lambda *_: 3, identity=lambda _: ('a', {})", open_provider, "cannot be opened: a SearchProvider is exp"),
        ("open=None, identity=lambda _: 1 / 0", provider_identity, "does not say its name and parameters: ZeroDiv"),
        ("open=None, identity=lambda _: 'a'", provider_identity, "a name and a mapping is expected, found 'a'"),
    ],
)
def test_a_search_provider_that_fails_is_named_with_its_package(
    install: Install, tmp_path: Path, code: str, asked: Callable[[str], object], told: str
) -> None:
    (tmp_path / "odd_for_test.py").write_text(
        f"from toolablate.tools.search.provider import ProviderKind\nODD = ProviderKind({code})"
    )
    write_points(tmp_path, "odd-package", "toolablate.search_providers", {"odd": "odd_for_test:ODD"})
    try:
        with pytest.raises(InputError) as refused:
            asked("odd")
    finally:
        sys.modules.pop("odd_for_test", None)
    assert refused.value.message.startswith("search_providers: 'odd' of the package odd-package ")
    assert told in refused.value.message
