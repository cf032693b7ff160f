"""Interventions of a user's own: how a function becomes one, what it may do, and under which name a plan finds it."""

import asyncio
import sys
import threading
from collections.abc import Awaitable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.tools.interventions.echoing import Echoing, details, use

from toolablate.tools import Call, FunctionIntervention, ToolResult, intervention, user_code
from toolablate.tools.interventions import InterventionSetting, intervened, intervention_sources, open_interventions
from toolablate.tools.interventions.from_condition import Applied
from toolablate.tools.tool import PLAIN
from toolablate.traces.errors import InputError, InternalError, SandboxError, ToolError
from toolablate.traces.records import Change, InterventionUse, Lookup

OWN = """
from toolablate.tools import Call, ToolResult, intervention

@intervention
def shorten(result: ToolResult, call: Call, *, chars: int, ending: str = "...") -> str:
    return f"{call.tool} {call.number}: {result.output[:chars]}{ending}"

def plain(result: ToolResult) -> str:
    return result.output
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "own_interventions_for_test.py").write_text(OWN)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    yield "own_interventions_for_test"
    sys.modules.pop("own_interventions_for_test", None)


@intervention
def louder(result: ToolResult, *, marks: int = 1, side: Literal["left", "right"] = "right") -> str:
    return "!" * marks + result.output if side == "left" else result.output + "!" * marks


async def applied(
    function: FunctionIntervention[..., Any],
    result: ToolResult | None = None,
    **options: Any,
) -> ToolResult:
    kind = function.kind("m:f")
    made = kind.make(kind.options.model_validate(options), InterventionSetting())

    async def run() -> ToolResult:
        return result or ToolResult("text")

    return await intervened([Applied("m:f", made)], Call("echo", {}, 1, 1, PLAIN), run)


async def test_a_plan_names_a_function_of_a_module(own_module: str) -> None:
    shorten = use(f"{own_module}:shorten", chars=2)
    tools = Echoing([shorten, use(f"{own_module}:shorten", chars=9, ending="", calls=[2])])
    first, second = await tools("abcdef"), await tools("abcdef")
    assert first.output == "echo 1: ab..."
    assert second.output == "echo 2: echo 2: a"
    assert details(first) == [(shorten.name, "")]
    assert first.original is not None
    assert first.original.output == "abcdef"


async def test_it_is_still_a_function() -> None:
    assert louder(ToolResult("text"), marks=2) == "text!!"
    assert (await applied(louder, side="left")).output == "!text"


async def test_what_it_gives_is_what_the_model_is_shown() -> None:
    lookup = Lookup(kind="page", key="k", miss="not_in_archive")
    came = ToolResult("text", status="error", error="gone", lookup=lookup, changes=(Change(intervention="earlier"),))

    @intervention
    async def told(result: ToolResult) -> ToolResult:
        await asyncio.sleep(0)
        return replace(result, changes=(*result.changes, Change(intervention="told", detail="said so")))

    @intervention
    def fresh(result: ToolResult) -> ToolResult:
        return ToolResult("new")

    result = await applied(louder, came)
    assert replace(result, output="text", changes=came.changes, original=None) == came
    assert details(await applied(told, came)) == [("earlier", ""), ("told", "said so")]
    result = await applied(fresh, came)
    assert (result.output, result.status, result.lookup) == ("new", "ok", lookup)
    assert details(result) == [("earlier", ""), ("m:f", "")]
    assert (await applied(louder, marks=0)).changes == ()


async def test_a_plain_function_runs_in_a_thread_of_its_own_and_a_hanging_one_can_be_left() -> None:
    started, release = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @intervention
    def hang(result: ToolResult) -> str:
        loop.call_soon_threadsafe(started.set)
        release.wait()
        return "late"

    call = asyncio.create_task(applied(hang))
    await started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    release.set()


@pytest.mark.parametrize(
    ("error", "plain"),
    [
        *((ZeroDivisionError("no"), plain) for plain in (True, False)),
        *((TimeoutError("no"), plain) for plain in (True, False)),
        *((SystemExit("no"), plain) for plain in (True, False)),
        (StopIteration("no"), True),
    ],
)
async def test_an_exception_is_a_bug_and_no_result(error: BaseException, plain: bool) -> None:
    with pytest.raises(InternalError) as failed:
        await applied(raising(error, plain))
    assert failed.value.code == "internal_error"
    assert failed.value.message == f"the intervention 'm:f' failed: {type(error).__name__}: no"


async def test_a_bug_that_quotes_a_page_quotes_it_as_plain_text() -> None:
    with pytest.raises(InternalError) as failed:
        await applied(raising(ValueError("\x1b[31m\ud800" + "\n" * 9 + "x" * 5_000), True))
    assert "ValueError: [31m\ufffd xxx" in failed.value.message
    assert len(failed.value.message) < 400


@pytest.mark.parametrize("error", [ToolError("down", retryable=True), SandboxError("none")])
async def test_infrastructure_that_failed_is_no_bug(error: BaseException) -> None:
    with pytest.raises(type(error)) as failed:
        await applied(raising(error, True))
    assert failed.value is error


def raising(error: BaseException, plain: bool) -> FunctionIntervention[[ToolResult], str | Awaitable[str]]:
    def raises(result: ToolResult) -> str:
        raise error

    async def raises_later(result: ToolResult) -> str:
        raise error

    return intervention(raises if plain else raises_later)


@pytest.mark.parametrize("value", [None, 42, b"text", ToolResult(7)])  # type: ignore[arg-type]
async def test_a_value_that_is_no_result_is_a_bug(value: object) -> None:
    @intervention
    def give(result: ToolResult) -> object:
        return value

    with pytest.raises(InternalError, match="it gave no ToolResult or str but"):
        await applied(give)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "bogus"),
        ("error", None),
        ("changes", None),
        ("changes", ("sham",)),
        ("lookup", "k"),
        ("artifacts", 1),
    ],
)
async def test_a_result_that_cannot_be_recorded_is_a_bug_that_names_its_field(field: str, value: Any) -> None:
    @intervention
    def give(result: ToolResult) -> ToolResult:
        return replace(result, **{field: value})

    with pytest.raises(InternalError, match=rf"the intervention 'm:f' failed: its ToolResult has {field}.* = "):
        await applied(give)


async def test_parameters_may_be_called_like_parts_of_a_model() -> None:
    @intervention
    def odd(result: ToolResult, *, json: str, copy: int = 1, model_config: bool = True) -> str:
        return f"{json} {copy} {model_config}"

    assert (await applied(odd, json="a", copy=2)).output == "a 2 True"


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("own_interventions_for_test:lengthen", {}, "there is no 'lengthen'"),
        ("own_interventions_for_test:plain", {}, "is not an intervention: it is a function"),
        ("own_interventions_for_test:plain", {}, "decorate the function with @toolablate.tools.intervention"),
        ("own_interventions_for_test:shorten", {}, "chars: Field required"),
        ("own_interventions_for_test:shorten", {"chars": 1, "char": 1}, "char: Extra inputs are not permitted"),
        ("own_interventions_for_test:shorten", {"chars": "3"}, "chars: Input should be a valid integer, found '3'"),
        ("own_interventions_for_test:shorten", {"char": 1}, "its options: tools, calls, chars, ending"),
        ("tests.tools.interventions.echoing:echo", {}, "is not an intervention: it is a FunctionTool"),
        ("no_such_module_for_test:x", {}, "interventions: 'no_such_module_for_test:x': cannot import"),
        ("../evil:x", {}, "cannot import"),
        (":x", {}, "there is no intervention ':x'"),
        ("x:", {}, "one of your own is named as package.module:function"),
    ],
)
def test_a_wrong_name_or_option_is_one_clear_error(
    own_module: str, name: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as refused:
        open_interventions([InterventionUse(name=name, options=options)])
    assert said in str(refused.value)


async def test_a_package_can_register_an_intervention(own_module: str, tmp_path: Path) -> None:
    about = tmp_path / "short_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: short-package\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        f"[toolablate.interventions]\nbrief = {own_module}:shorten\ntruncate = {own_module}:shorten\n"
        f"[toolablate.tools]\nloud = {own_module}:shorten\n"
    )
    user_code.registered.cache_clear()
    try:
        result = await Echoing([use("brief", chars=1), use("remind", text="So.")])("abc")
        digest = user_code.code_digest(OWN.encode())
        assert intervention_sources([use("brief"), use("remind")]) == {"brief": digest}
        for refusing in (open_interventions, intervention_sources):
            with pytest.raises(InputError, match="'truncate' is claimed by several packages: short-package and tool"):
                refusing([use("truncate", chars=9)])
        with pytest.raises(InputError) as refused:
            open_interventions([use("loud")])
    finally:
        user_code.registered.cache_clear()
    assert result.output == "echo 1: a...\n\nSo."
    assert [name for name, _ in details(result)] == ["brief", "remind"]
    assert ", brief; one of your own" in refused.value.hint


def test_only_those_of_ones_own_have_a_source(own_module: str) -> None:
    name = f"{own_module}:shorten"
    assert intervention_sources([use("fail"), use(name, chars=1), use(name, chars=2)]) == {
        name: user_code.code_digest(OWN.encode())
    }


def test_a_use_in_python_is_that_of_a_plan() -> None:
    name = "tests.tools.interventions.test_own_interventions:louder"
    assert louder.use(marks=2, calls=(1, 2)) == InterventionUse(name=name, options={"marks": 2, "calls": [1, 2]})
    assert louder.use() == InterventionUse(name=name)
    assert len(open_interventions([louder.use(marks=2)])) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mark": 2}, "mark: Extra inputs are not permitted, found 2"),
        ({"marks": "2"}, "marks: Input should be a valid integer"),
        ({"side": object()}, "Unable to serialize unknown type"),
        ({"marks": float("nan")}, "not JSON compliant"),
        ({"calls": [0]}, "calls.0: Input should be greater than 0"),
    ],
)
def test_a_use_is_checked_where_it_is_written(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        louder.use(**options)
    assert said in refused.value.message


def test_what_no_plan_can_name_has_no_use() -> None:
    @intervention
    def local(result: ToolResult) -> str:
        return ""

    for nameless in (local, intervention(louder.function)):
        with pytest.raises(InputError) as refused:
            nameless.use()
        assert "no plan could name" in refused.value.message
        assert "at the top of a module" in refused.value.hint
