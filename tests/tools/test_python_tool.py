"""The python tool on real kernels."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from tests.tools.conftest import Caller

from toolablate.sandbox import Limits, Sandbox, WorkFile, open_sandbox
from toolablate.tools import Resources, Toolset, open_toolset
from toolablate.traces.errors import InputError, SandboxError
from toolablate.traces.records import ToolRequest, ToolUse

in_one_loop = pytest.mark.asyncio(loop_scope="module")
LIMITS = Limits(cell_seconds=60.0, grace_seconds=2.0, start_seconds=100.0, output_chars=2_000)
HURRIED = replace(LIMITS, cell_seconds=4.0)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["forkserver", "none"])
async def sandbox(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    """One for all tests of the module, since it takes seconds to start; each tool has a kernel of its own."""
    sandbox = open_sandbox(request.param, LIMITS)
    availability = await sandbox.check()
    if availability.works:
        yield sandbox
    await sandbox.close()
    if not availability.works:
        pytest.skip(f"{request.param}: {availability.detail}")


@pytest_asyncio.fixture(loop_scope="module")
async def tools(sandbox: Sandbox) -> AsyncIterator[Toolset]:
    async with open_toolset([ToolUse(name="python")], Resources(sandbox=sandbox)) as tools:
        yield tools


@pytest.mark.deep
@in_one_loop
async def test_what_a_cell_shows(tools: Toolset, call: Caller) -> None:
    ok = await call(tools, "python", code="x = 20\nprint('hello')\nx + 1")
    assert (ok.status, ok.output.split()) == ("ok", ["hello", "21"])
    kept = await call(tools, "python", code="x * 2")
    assert kept.output == "40"
    assert (await call(tools, "python", code="x = 3")).output == "(no output)"
    assert (await call(tools, "python", code="")).output == "(no output)"
    failed = await call(tools, "python", code="print('before'); 1 / 0")
    assert (failed.status, failed.error) == ("error", "ZeroDivisionError")
    assert failed.output.startswith("before")
    assert "division by zero" in failed.output


@in_one_loop
async def test_bare_code_and_odd_characters_are_run(tools: Toolset) -> None:
    bare = await tools.call(ToolRequest(id="1", name="python", arguments="s = '𝔘ü级'\nprint(s, len(s))"))
    assert bare.output == "𝔘ü级 3"
    lone = await tools.call(ToolRequest(id="2", name="python", arguments='{"code": "print(ascii(\'\\ud800\'))"}'))
    assert lone.output == "'\\ufffd'"


@in_one_loop
async def test_calls_of_one_turn_run_in_the_order_asked(tools: Toolset, call: Caller) -> None:
    cells = ["import time; time.sleep(0.3); seen = ['a']", "seen.append('b')", "seen.append('c'); seen"]
    results = await asyncio.gather(*(call(tools, "python", code=code) for code in cells))
    assert results[-1].output == "['a', 'b', 'c']"


@pytest.mark.deep
@in_one_loop
async def test_a_cell_that_takes_too_long_is_stopped_and_state_is_kept(
    sandbox: Sandbox, call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "limits", HURRIED)
    async with open_toolset([ToolUse(name="python")], Resources(sandbox=sandbox)) as tools:
        await call(tools, "python", code="y = 5")
        slow = await call(tools, "python", code="print('begun', flush=True)\nimport time; time.sleep(600)")
        assert (slow.status, slow.error) == ("error", "timeout")
        assert "begun" in slow.output
        assert "interrupted after 4 s" in slow.output
        assert (await call(tools, "python", code="y")).output == "5"


@in_one_loop
async def test_a_kernel_that_dies_is_told_and_replaced(tools: Toolset, call: Caller) -> None:
    await call(tools, "python", code="z = 5")
    dead = await call(tools, "python", code="import os; os._exit(3)")
    assert dead.status == "error"
    assert dead.error.startswith("died")
    assert "are gone" in dead.output
    fresh = await call(tools, "python", code="z")
    assert fresh.error == "NameError"


@in_one_loop
async def test_floods_are_cut_and_marked(tools: Toolset, call: Caller) -> None:
    flood = await call(tools, "python", code="print('x' * 1_000_000)")
    assert flood.truncated
    assert len(flood.output) < 3_000


@in_one_loop
async def test_a_figure_is_an_artifact(tools: Toolset, call: Caller) -> None:
    code = "from IPython.display import display, SVG\ndisplay(SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>'))"
    result = await call(tools, "python", code=code)
    assert [artifact.mime for artifact in result.artifacts] == ["image/svg+xml"]


@in_one_loop
async def test_trials_do_not_share_a_kernel(sandbox: Sandbox, call: Caller) -> None:
    resources = Resources(sandbox=sandbox)
    uses = [ToolUse(name="python")]
    async with open_toolset(uses, resources) as one, open_toolset(uses, resources) as other:
        await call(one, "python", code="secret = 1")
        assert (await call(other, "python", code="secret")).error == "NameError"


@in_one_loop
async def test_shell_commands_and_magics(tools: Toolset, call: Caller) -> None:
    assert (await call(tools, "python", code="!printf 'a\\nb\\n'")).output == "a\nb"
    await call(tools, "python", code="%%writefile part.py\nprint(6 * 7)")
    assert (await call(tools, "python", code="%run part.py")).output == "42"
    assert "per loop" in (await call(tools, "python", code="%timeit -n 1 -r 1 pass")).output


@pytest.mark.deep
@in_one_loop
@pytest.mark.parametrize("code", ["%pip install no-such-package", "!pip install no-such-package"])
async def test_that_nothing_can_be_installed_is_said_shortly(tools: Toolset, call: Caller, code: str) -> None:
    result = await call(tools, "python", code=code)
    assert "No matching distribution" in result.output
    assert "Retrying" not in result.output
    assert len(result.output) < 400


@pytest.mark.parametrize(("name", "network"), [("forkserver", False), ("docker", False), ("none", True)])
def test_the_model_is_told_what_holds(name: str, network: bool) -> None:
    (spec,) = open_toolset([ToolUse(name="python")], Resources(sandbox=open_sandbox(name, HURRIED))).specs
    assert ("There is no network" in spec.description) is not network
    for told in ("no input()", "for 4 seconds", "working folder", "!ls"):
        assert told in spec.description


@in_one_loop
async def test_files_are_read_when_the_kernel_starts_and_no_sooner(sandbox: Sandbox, call: Caller) -> None:
    reads = []

    async def read() -> list[WorkFile]:
        reads.append(1)
        return [WorkFile("a.txt", b"held\xff"), WorkFile("empty", b"")]

    async with open_toolset([ToolUse(name="python")], Resources(sandbox=sandbox), read) as tools:
        assert reads == []
        seen = await call(tools, "python", code="import os; open('a.txt', 'rb').read(), sorted(os.listdir())")
        assert seen.output == "(b'held\\xff', ['a.txt', 'empty'])"
        await call(tools, "python", code="open('a.txt', 'w').write('mine')")
        assert (await call(tools, "python", code="open('a.txt').read()")).output == "'mine'"
        await call(tools, "python", code="os._exit(1)")
        assert (await call(tools, "python", code="open('a.txt', 'rb').read()")).output == "b'held\\xff'"
    assert len(reads) == 1
    async with open_toolset([ToolUse(name="python")], Resources(sandbox=sandbox)) as tools:
        assert (await call(tools, "python", code="import os; os.listdir()")).output == "[]"


@in_one_loop
async def test_files_that_cannot_be_read_are_no_fault_of_the_code(sandbox: Sandbox, call: Caller) -> None:
    async def read() -> list[WorkFile]:
        raise InputError("data.csv was changed")

    async with open_toolset([ToolUse(name="python")], Resources(sandbox=sandbox), read) as tools:
        with pytest.raises(InputError, match="was changed"):
            await call(tools, "python", code="1")


async def test_a_kernel_that_cannot_start_is_an_error_of_the_sandbox(call: Caller) -> None:
    sandbox = open_sandbox("none", Limits(start_seconds=0.001))
    async with open_toolset([ToolUse(name="python")], Resources(sandbox=sandbox)) as tools:
        with pytest.raises(SandboxError):
            await call(tools, "python", code="1")
    await sandbox.close()
