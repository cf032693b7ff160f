"""Tools of real MCP servers, over stdio and streamable HTTP."""

import asyncio
import sys
from pathlib import Path

import pytest
from tests.tools.mcp.conftest import COMMAND, call, listed

from toolablate.tools.mcp import HttpAddress, McpServer, StdioAddress
from toolablate.tools.recorded import RecordedCalls
from toolablate.tools.toolset import Toolset
from toolablate.traces.errors import InputError, ToolError

Address = StdioAddress | HttpAddress


@pytest.mark.deep
async def test_its_tools_are_listed_and_called(address: Address) -> None:
    server = await listed(address)
    specs = {spec.name: spec for spec in server.specs}
    assert specs["add"].description == "Add two integers."
    assert set(specs["add"].parameters["properties"]) == {"left", "right"}  # type: ignore[arg-type]
    async with Toolset(server.open(["add", "fails", "picture", "long"])) as tools:
        one, two = await asyncio.gather(call(tools, "add", left=2, right=3), call(tools, "add", left=20, right=30))
        assert (one.output, two.output, one.status) == ("5", "50", "ok")
        assert one.lookup is not None
        assert one.lookup.kind == "mcp"
        failed = await call(tools, "fails")
        assert failed.status == "error"
        assert "the shelf is empty" in failed.output
        picture = await call(tools, "picture")
        assert picture.output == "[image: image/png]"
        assert picture.artifacts[0].mime == "image/png"
        long = await call(tools, "long")
        assert (len(long.output), long.truncated) == (20_000, True)
        assert "\x1b" not in long.output


@pytest.mark.deep
async def test_arguments_that_do_not_fit_are_the_models_own_mistake(address: Address) -> None:
    server = await listed(address)
    async with Toolset(server.open(["add"])) as tools:
        result = await call(tools, "add", left="two", right=3)
    assert result.status in ("error", "invalid")
    assert "left" in result.output


@pytest.mark.deep
async def test_images_of_one_result_have_one_limit(stdio_address: StdioAddress) -> None:
    server = await listed(stdio_address)
    async with Toolset(server.open(["album"])) as tools:
        result = await call(tools, "album")
    assert result.output.count("[image: image/png]") == 5
    assert len(result.artifacts) == 2


@pytest.mark.deep
async def test_a_servers_own_schema_is_not_run_on_its_results(stdio_address: StdioAddress) -> None:
    server = await listed(stdio_address)
    async with Toolset(server.open(["slow"])) as tools:
        async with asyncio.timeout(20):
            assert "aaaab" in (await call(tools, "slow")).output


async def test_a_proxy_of_the_environment_does_not_see_the_headers(
    http_address: HttpAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert (await listed(http_address)).specs


@pytest.mark.deep
async def test_a_name_that_chat_apis_refuse_is_changed_and_its_own_still_works(stdio_address: StdioAddress) -> None:
    server = await listed(stdio_address)
    (spec,) = [spec for spec in server.specs if spec.name.startswith("odd")]
    assert spec.name.replace("_", "").isalnum()
    async with Toolset(server.open(["odd.name/of a tool"])) as tools:
        assert (await call(tools, spec.name)).output == "odd"


@pytest.mark.deep
async def test_no_trial_sees_what_another_left_behind(stdio_address: StdioAddress) -> None:
    server = await listed(stdio_address)
    for _ in range(2):
        async with Toolset(server.open(["remember"])) as tools:
            assert (await call(tools, "remember", text="a")).output == "a"
            assert (await call(tools, "remember", text="b")).output == "a, b"


@pytest.mark.deep
async def test_it_gets_no_variable_but_those_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBRARY_TOKEN", "t0ken")
    monkeypatch.setenv("OTHER_SECRET", "s3cret")
    server = await listed(StdioAddress(COMMAND, env=("LIBRARY_TOKEN",)))
    assert "t0ken" not in server.identity
    async with Toolset(server.open(["secret"])) as tools:
        assert (await call(tools, "secret")).output == "t0ken None"
    with pytest.raises(InputError, match="NOT_THERE is not set"):
        await listed(StdioAddress(COMMAND, env=("NOT_THERE",)))


async def test_an_unknown_tool_is_refused_when_the_tools_are_opened(stdio_address: StdioAddress) -> None:
    server = await listed(stdio_address)
    with pytest.raises(InputError, match=r"no tool 'subtract'(.|\n)*add, remember"):
        server.open(["subtract"])


@pytest.mark.deep
async def test_a_server_that_dies_is_a_failure_and_the_next_call_gets_a_new_one(stdio_address: StdioAddress) -> None:
    server = await listed(stdio_address, seconds=20)
    async with Toolset(server.open(["dies", "add"])) as tools:
        with pytest.raises(ToolError, match=r"mcp library: (.|\n)*out of shelves") as caught:
            await call(tools, "dies")
        assert caught.value.retryable
        assert (await call(tools, "add", left=1, right=1)).output == "2"


@pytest.mark.deep
async def test_a_call_that_hangs_ends_in_time(address: Address) -> None:
    server = await listed(address)
    impatient = McpServer("library", address, RecordedCalls(None, "live"), seconds=5.0)
    await impatient.list()
    async with Toolset(impatient.open(["hangs"])) as tools:
        with pytest.raises(ToolError, match="no reply within 5 s") as caught:
            await call(tools, "hangs")
    assert caught.value.code == "mcp_timeout"
    assert server.specs == impatient.specs


@pytest.mark.deep
async def test_the_server_ends_with_a_trial_that_is_cancelled(stdio_address: StdioAddress, tmp_path: Path) -> None:
    server = await listed(stdio_address)

    async def trial() -> None:
        async with Toolset(server.open(["pid", "hangs"])) as tools:
            await call(tools, "pid", path=str(tmp_path / "pid"))
            await call(tools, "hangs")

    running = asyncio.create_task(trial())
    while not (tmp_path / "pid").exists():  # noqa: ASYNC110 - a file cannot wake us
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not _runs((tmp_path / "pid").read_text())


def _runs(pid: str) -> bool:
    """A zombie that nobody has waited for yet does not."""
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "State:\tZ" not in status.read_text()


@pytest.mark.deep
async def test_noise_on_its_outputs_does_no_harm() -> None:
    server = await listed(StdioAddress((*COMMAND, "--noisy")))
    async with Toolset(server.open(["add"])) as tools:
        assert (await call(tools, "add", left=1, right=2)).output == "3"


@pytest.mark.deep
@pytest.mark.parametrize(
    ("address", "told"),
    [
        (StdioAddress(("/no/such/program",)), "No such file"),
        (StdioAddress((sys.executable, "-c", "import sys; sys.exit('I am broken')")), "I am broken"),
        (StdioAddress((sys.executable, "-c", "import time; time.sleep(60)")), "no connection within"),
        (HttpAddress("http://127.0.0.1:9/mcp"), "mcp library (http://127.0.0.1:9/mcp): "),
        (
            HttpAddress("http://me:secret@127.0.0.1:9/mcp?key=secret#secret"),
            "see that the server runs and listens there",
        ),
    ],
    ids=["absent", "broken", "silent", "nobody listens", "secrets in its URL"],
)
async def test_a_server_that_cannot_be_had_is_a_sentence(address: Address, told: str) -> None:
    with pytest.raises(ToolError, match="mcp library") as caught:
        await listed(address, start_seconds=3.0 if told == "no connection within" else 60.0)
    assert told in str(caught.value)
    assert "secret" not in str(caught.value)
    assert not [line for line in str(caught.value).splitlines() if "Traceback" in line]
