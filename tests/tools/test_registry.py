"""What a plan can name, and what is missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import JsonValue
from tests.tools.conftest import Caller

from toolablate.sandbox import open_sandbox
from toolablate.tools import (
    CorpusPages,
    CorpusSearch,
    LeakGuard,
    LiveSearch,
    McpServer,
    Resources,
    StdioAddress,
    mcp_servers_needed,
    open_corpus,
    open_toolset,
    resources_needed,
    tool_names,
)
from toolablate.tools.mcp.server import LISTING, ListedTool
from toolablate.traces.errors import InputError
from toolablate.traces.records import Lookup, ToolReply, ToolSpec, ToolUse

WEB = ["web_search", "browser_open", "browser_find"]
GPT_OSS = ["browser.search", "browser.open", "browser.find"]


@dataclass
class Recorded:
    """A recording of a server with these tools, each of which says its name and its arguments."""

    names: Sequence[str]
    asked: list[str] = field(default_factory=list)

    async def tools(self, server: str, live: object) -> bytes:
        specs = (ToolSpec(name=name, description="", parameters={"type": "object"}) for name in self.names)
        return LISTING.dump_json(tuple(ListedTool(own_name=spec.name, spec=spec) for spec in specs))

    async def call(
        self, server: str, tool: str, arguments: Mapping[str, JsonValue], live: object
    ) -> tuple[bytes | None, Lookup]:
        self.asked.append(tool)
        reply = ToolReply(output=f"{tool}: {arguments.get('text')}")
        return reply.to_json().encode(), Lookup(kind="mcp", key=tool)


async def server(*tools: str, name: str = "files") -> McpServer:
    server = McpServer(name, StdioAddress(("server",)), Recorded(tools))
    await server.list()
    return server


@pytest.fixture
async def resources(corpus_file: Path, tmp_path: Path) -> Resources:
    corpus = open_corpus(corpus_file, cache=tmp_path / "cache")
    return Resources(
        sandbox=open_sandbox("none"),
        search=LiveSearch(CorpusSearch(corpus)),
        pages=CorpusPages(corpus),
        mcp={"files": await server("read", "write", "list"), "other": await server("read", name="other")},
    )


def uses(*names: str) -> list[ToolUse]:
    return [ToolUse(name=name) for name in names]


@pytest.mark.parametrize(
    ("named", "opened", "needs"),
    [
        ((), [], set()),
        (("python",), ["python"], {"sandbox"}),
        (("search",), WEB, {"search", "pages"}),
        (("all",), ["python", *WEB], {"sandbox", "search", "pages"}),
        (("gpt-oss",), GPT_OSS, {"search", "pages"}),
        (("browser_find", "python"), ["browser_find", "python"], {"sandbox", "pages"}),
        (("browser.search", "browser_open"), ["browser.search", "browser_open"], {"search", "pages"}),
        (("mcp:files",), ["read", "write", "list"], {"mcp"}),
        (("mcp:files/list", "python", "mcp:files/read"), ["list", "python", "read"], {"mcp", "sandbox"}),
        (("mcp:files/write", "mcp:other"), ["write", "read"], {"mcp"}),
    ],
)
def test_names_and_toolsets(resources: Resources, named: tuple[str, ...], opened: list[str], needs: set[str]) -> None:
    assert [spec.name for spec in open_toolset(uses(*named), resources).specs] == opened
    assert resources_needed(uses(*named)) == needs


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ([ToolUse(name="pyhton")], "there is no tool 'pyhton'"),
        ([ToolUse(name="python", options={"timeout": 3})], "'python' has no option 'timeout'"),
        ([ToolUse(name="all", options={"x": 3})], "'all' has no option 'x'"),
        ([ToolUse(name="mcp:files", options={"x": 3})], "'mcp:files' has no option 'x'"),
        (uses("all", "python"), "'python' is named twice"),
        (uses("search", "search"), "'web_search' is named twice"),
        (uses("mcp:files/read", "mcp:files/read"), "is named twice"),
        (uses("mcp:"), "there is no tool 'mcp:'"),
        (uses("mcp:files/"), "there is no tool 'mcp:files/'"),
        (uses("mcp:/read"), "there is no tool 'mcp:/read'"),
        (uses("mcp"), "there is no tool 'mcp'"),
    ],
)
def test_mistakes_in_a_plan_are_named(resources: Resources, use: list[ToolUse], said: str) -> None:
    for read in (lambda: open_toolset(use, resources), lambda: resources_needed(use)):
        with pytest.raises(InputError) as refused:
            read()
        assert said in str(refused.value)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("mcp:files/delete",), "has no tool 'delete'"),
        (("mcp:mail",), "mcp names no server 'mail'"),
        (("mcp:files", "mcp:other"), "'read' is named twice"),
        (("mcp:files", "mcp:files/list"), "'list' is named twice"),
    ],
)
def test_what_only_the_servers_know_is_refused_when_they_are_opened(
    resources: Resources, names: tuple[str, ...], said: str
) -> None:
    assert resources_needed(uses(*names)) == {"mcp"}
    with pytest.raises(InputError) as refused:
        open_toolset(uses(*names), resources)
    assert said in str(refused.value)


async def test_tools_of_a_server_are_called_and_inspected(resources: Resources, call: Caller) -> None:
    question = "Which river did the surveyors of the northern expedition cross twice before they reached the salt lake?"
    leak = f"{question} The Olenyok."
    for block in (False, True):
        guard = LeakGuard(question, ["Olenyok"], block=block)
        async with open_toolset(uses("mcp:files/write", "mcp:files/read"), resources, guard=guard) as tools:
            harmless = await call(tools, "read", text="nothing")
            leaking = await call(tools, "write", text=leak)
        assert (harmless.output, harmless.markers) == ("read: nothing", ())
        assert [marker.kind for marker in leaking.markers] == ["answer_leak", "withheld"][: 1 + block]
        assert leaking.lookup is not None
        assert leaking.lookup.miss == ("blocked_by_policy" if block else None)
        assert (leaking.error == "blocked_by_policy") == block
        assert ("Olenyok" in leaking.output) != block


async def test_a_search_under_the_name_that_gpt_oss_knows(resources: Resources, call: Caller) -> None:
    async with open_toolset(uses("gpt-oss"), resources) as tools:
        found = await call(tools, "browser.search", query="harmonic", topn=3)
        page = await call(tools, "browser.open", id="https://example.org/harmonic", loc=-1, num_lines=-1)
        wrong = await call(tools, "browser.search", max_results=3)
    assert "https://example.org/harmonic" in found.output
    assert found.lookup is not None
    assert "Harmonic series (https://example.org/harmonic)" in page.output
    assert wrong.output.startswith("Invalid call of browser.search")


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(InputError) as refused:
        resources_needed(uses("pyhton"))
    assert all(name in refused.value.hint for name in ("python", *WEB, *GPT_OSS, "search", "all", "mcp:SERVER"))
    assert set(tool_names()) >= {"python", *WEB, *GPT_OSS, "search", "all", "gpt-oss"}


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("python", "[sandbox]"),
        ("web_search", "[search]"),
        ("browser_open", "[web]"),
        ("browser.find", "[web]"),
        ("mcp:files", '[[mcp]] with name = "files"'),
    ],
)
def test_a_missing_resource_says_what_to_put_into_the_plan(name: str, table: str) -> None:
    with pytest.raises(InputError) as refused:
        open_toolset(uses(name), Resources())
    assert table in refused.value.hint


def test_the_servers_that_are_needed() -> None:
    assert mcp_servers_needed(uses("mcp:b/x", "python", "mcp:a", "mcp:b/y")) == ("b", "a")
