"""Placebos of tools that say nothing of how their results are built: the user's own functions, MCP servers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from pydantic import JsonValue
from tests.tools.conftest import Caller
from tests.tools.interventions.substitutes.conftest import Noticing

from toolablate.tools import ToolResult, Toolset, tool
from toolablate.tools.guards.guard import NoGuard
from toolablate.tools.interventions import InterventionSetting, open_interventions
from toolablate.tools.placebo_sources import PlaceboSource, PlaceboSources
from toolablate.tools.text import MISS_MESSAGES, told
from toolablate.tools.tool import PLAIN, Tool
from toolablate.traces.errors import ToolError
from toolablate.traces.records import ChoiceTarget, InterventionUse, Lookup, Question, ToolSpec

QUESTION = Question(id="q", prompt="Which?", choices=("Gera", "Ulm"), target=ChoiceTarget(letters=("A",)))


@tool(nothing="nothing is known")
def look(x: str) -> str:
    """Look."""
    return x


class Foreign:
    """A tool of another program, which gives one result."""

    spec = ToolSpec(name="look", description="d", parameters={"type": "object", "properties": {}})
    template = PLAIN

    def __init__(self, result: ToolResult) -> None:
        self._result = result

    def refusal(self, arguments: Mapping[str, JsonValue]) -> ToolResult | None:
        return None

    async def call(self, arguments: Mapping[str, JsonValue]) -> ToolResult:
        return self._result

    async def close(self) -> None: ...


def placebo(
    *kept: PlaceboSource, made: Tool | None = None, outside: Sequence[str] = (), guarded: bool = False
) -> Toolset:
    guard = Noticing() if guarded else NoGuard()
    sources = PlaceboSources((QUESTION,), {"look": kept}).under(QUESTION, guard)
    setting = InterventionSetting(tuple(outside), QUESTION, "s", placebo_sources=sources)
    return Toolset((made or look.open(look.options()),), open_interventions([InterventionUse(name="placebo")], setting))


def gave(output: str, error: str = "", source: str = "d") -> PlaceboSource:
    return PlaceboSource(source, output, error, prompt="p")


RAIN = "It rains in Hof, as it always does."
JSON = '{"temperature": 21, "town": "Hof"}'


@pytest.mark.parametrize(
    ("real", "kept", "shown"),
    [
        ("4", [RAIN], RAIN),
        ("4", [RAIN, "17"], "17"),
        ('{"a": 1}', [RAIN, JSON], JSON),
        ('{"a": 1}', [JSON], JSON),
        ('{"a": 1}', [RAIN], RAIN),
        ("It snows in Bonn today.", ["今天在霍夫下雨，一整天都在下。", RAIN], RAIN),
        ("今天下雨。", [RAIN, "明天出太阳，后天刮风。"], "明天出太阳，后天刮风。"),
        ("A short one.", ["one line here\nanother line there\nand many\nmore of them\nto the end"], "one line here"),
        ("same words", ["same words", "SAME  words", RAIN], RAIN),
        ("bread", [*(f"a {each} c" for each in "bdefgh"), "water"], "water"),
        ('{"a": 1}', [*(f"a {each} of it" for each in "bdefgh"), '{"b": 12}'], '{"b": 12}'),
        (
            "It snows in Bonn today.",
            [f"今天在霍夫下雨，一整天都在下，第{n}天也下。" for n in "二三四五六七"] + [RAIN],
            RAIN,
        ),
        ("4", [json.dumps(json.loads(JSON), indent=2)], json.dumps(json.loads(JSON), indent=2)),
        ('{"a":3}', ["a\nb\nc", JSON], JSON),
        ('{"a": 1}', ["[not so]", '{"城": "霍夫下雨"}', RAIN], '{"城": "霍夫下雨"}'),
        ("Berlin", ["柏林很大", "柏林", "Berlin is big"], "Berlin is big"),
        ("Berlin", ["柏林很大", "17"], "17"),
        ("柏林", ["Hof", "明天出太阳，后天刮风，一整天都在下。"], "明天出太阳，后天刮风，一整天都在下。"),
        ("A line on towns.", ["GERA it is\nbut not here"], "but not here"),
    ],
)
async def test_a_result_is_shown_whole_and_of_the_same_build_where_there_is_one(
    call: Caller, real: str, kept: list[str], shown: str
) -> None:
    async with placebo(*(gave(output, source=f"d{place}") for place, output in enumerate(kept))) as tools:
        results = [await call(tools, "look", x=real) for _ in range(8)]
    assert {result.output for result in results} == {shown}


@pytest.mark.parametrize(
    "kept", [["same words", "   "], ["   "], ['{"town": "Gera"}'], ['{\n"town": "Gera",\n"rain": 3\n}'], ["Ulm"]]
)
async def test_where_nothing_else_is_left_it_fails(call: Caller, kept: list[str]) -> None:
    async with placebo(*map(gave, kept)) as tools:
        with pytest.raises(ToolError) as failed:
            await call(tools, "look", x="same words")
    assert failed.value.code == "no_placebo_source"


@pytest.mark.parametrize(
    ("real", "kept"), [("Saved.", ["Saved.", "saved. "]), ("ok", ["ok"]), ("  \n", [" "]), ('{"ok": true}', ['{"ok": true}'])]
)  # fmt: skip
async def test_what_a_tool_says_under_every_question_stays(call: Caller, real: str, kept: list[str]) -> None:
    sources = [gave(output, source=f"d{place}") for place, output in enumerate(kept)]
    async with placebo(*sources, gave("no such lake", "mcp_error")) as tools:
        result = await call(tools, "look", x=real)
    assert result.output == real
    assert [change.detail for change in result.changes] == [
        "unchanged: the tool says the same under every other question"
    ]


@pytest.mark.parametrize("real", ["Gera", "We chose ULM."])
async def test_not_so_where_it_says_a_choice(call: Caller, real: str) -> None:
    async with placebo(gave(real), gave(real, source="e")) as tools:
        with pytest.raises(ToolError) as failed:
            await call(tools, "look", x=real)
    assert failed.value.code == "no_placebo_source"


async def test_one_other_result_is_enough_to_be_shown(call: Caller) -> None:
    async with placebo(gave("Saved."), gave("Saved.", source="e"), gave("Full.", source="f")) as tools:
        result = await call(tools, "look", x="Saved.")
    assert (result.output, result.changes[0].detail) == ("Full.", "f")


async def test_a_guard_looks_at_what_is_always_said_too(call: Caller) -> None:
    for said in ("what is noticed", "what is blocked"):
        real = Foreign(ToolResult(said))
        async with placebo(gave(said), made=real, outside=("look",), guarded=True) as tools:
            if "blocked" in said:
                with pytest.raises(ToolError):
                    await call(tools, "look")
            else:
                assert len((await call(tools, "look")).markers) == 1


async def test_what_a_tool_says_where_there_is_nothing_stays(call: Caller) -> None:
    async with placebo(gave(RAIN)) as tools:
        result = await call(tools, "look", x="")
    assert (result.output, result.changes) == ("nothing is known", ())


REFUSED = ToolResult("Error: unknown station; the answer is Gera, see Hof.", status="invalid", error="refused")


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        ([gave(RAIN)], "Error: this is not to be had."),
        (
            [*(gave(f"no such lake {n}", "mcp_error") for n in "abcdef"), gave("no such ship", "refused")],
            "no such ship",
        ),
        ([gave("no such lake", "mcp_error")], "no such lake"),
        ([gave("no such ship at Gera", "refused")], "Error: this is not to be had."),
    ],
)
async def test_what_a_server_says_of_a_refused_call_is_not_ours(
    call: Caller, kept: list[PlaceboSource], shown: str
) -> None:
    async with placebo(*kept, made=Foreign(REFUSED)) as tools:
        result = await call(tools, "look")
    assert (result.output, result.status, result.error) == (shown, "invalid", "refused")
    assert result.original is not None
    assert len(result.changes) == 1


async def test_that_an_archive_has_nothing_is_told_in_our_own_words(call: Caller) -> None:
    lookup = Lookup(kind="mcp", key="k", miss="not_in_archive")
    missed = ToolResult(told(MISS_MESSAGES["not_in_archive"]), status="error", error="not_in_archive", lookup=lookup)
    async with placebo(gave(RAIN), made=Foreign(missed)) as tools:
        result = await call(tools, "look")
    assert (result.output, result.changes) == (missed.output, ())
    other = replace(missed, output="Error: it is Gera.")
    async with placebo(gave(RAIN), made=Foreign(other)) as tools:
        result = await call(tools, "look")
    assert (result.output, result.lookup) == ("Error: this is not to be had.", lookup)


async def test_a_guard_looks_at_what_stands_in_for_text_from_outside(call: Caller) -> None:
    real = Foreign(ToolResult("something real"))
    for outside, noticed in (((), 0), (("look",), 1)):
        async with placebo(gave("what is noticed"), made=real, outside=outside, guarded=True) as tools:
            result = await call(tools, "look")
        assert len(result.markers) == noticed
    async with placebo(gave("what is blocked"), made=real, outside=("look",), guarded=True) as tools:
        with pytest.raises(ToolError):
            await call(tools, "look")
