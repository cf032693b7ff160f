"""Tools of a user's own."""

import asyncio
import enum
import json
import threading
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, JsonValue

from toolablate.tools import FunctionTool, ToolResult, Toolset, tool
from toolablate.traces.errors import InputError, ToolError
from toolablate.traces.records import ToolRequest


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: float
    y: float = 0.0


@tool
def convert(amount: float, unit: Literal["kg", "lb"] = "kg", colour: Colour | None = None, *, rate: float = 2.0) -> str:
    """Converts a weight.

    Says what it weighs.

    Args:
        amount: how much
        unit (str): of which unit
    """
    return f"{amount * rate:g} {unit} {colour}"


async def used(function: FunctionTool[Any, Any], arguments: object, **options: JsonValue) -> ToolResult:
    opened = function.open(function.options.model_validate(options))
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return await Toolset([opened]).call(ToolRequest(id="1", name=opened.spec.name, arguments=text))


@tool(nothing="nobody knows")
def who(name: str) -> str | None:
    """Tells who that is."""
    return name.strip() or None


async def test_a_function_can_say_in_its_own_words_that_there_is_nothing() -> None:
    assert who(" x ") == "x"
    assert (await used(who, {"name": "x"})).output == "x"
    assert (await used(who, {"name": " "})).output == "nobody knows"
    assert who.open(who.options()).template.nothing({"name": "x"}) == "nobody knows"
    assert convert.open(convert.options()).template.nothing({"amount": 1.0}) == "(no output)"
    with pytest.raises(InputError, match="tool 'speechless': nothing: no text"):

        @tool(nothing=" ")
        def speechless() -> None:
            """Says nothing."""


def test_signature_and_docstring_become_the_specification() -> None:
    spec = convert.open(convert.options()).spec
    assert (spec.name, spec.description) == ("convert", "Converts a weight.\n\nSays what it weighs.")
    assert spec.parameters == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "amount": {"type": "number", "description": "how much"},
            "unit": {"type": "string", "enum": ["kg", "lb"], "default": "kg", "description": "of which unit"},
            "colour": {"type": "string", "enum": ["red", "blue"]},
        },
        "required": ["amount"],
    }


def test_it_is_still_a_function() -> None:
    assert convert(2.0, "lb", rate=1.0) == "2 lb None"


async def test_arguments_come_from_the_model_and_options_from_the_plan() -> None:
    assert (await used(convert, {"amount": 3, "colour": "red"}, rate=10.0)).output == "30 kg Colour.RED"
    refused = await used(convert, {"amount": 3, "rate": 1.0})
    assert refused.status == "invalid"
    assert "there is no argument 'rate'" in refused.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "amount is missing"),
        ({"amount": "3"}, "amount: Input should be a valid number"),
        ({"amount": True}, "amount: Input should be a valid number"),
        ({"amount": 1, "unit": "stone"}, "unit: Input should be 'kg' or 'lb'"),
        ({"amount": 1, "colour": "green"}, "colour"),
        ({"amount": [1]}, "found [1]"),
        ({"amount": "x" * 10_000}, "…"),
    ],
)
async def test_what_does_not_fit_is_told_to_the_model(arguments: object, said: str) -> None:
    result = await used(convert, arguments)
    assert (result.status, result.error) == ("invalid", "invalid_arguments")
    assert said in result.output
    assert len(result.output) < 600


async def test_parameters_may_be_called_like_parts_of_a_model() -> None:
    @tool
    def odd(json: str, copy: int = 1, title: str = "", schema: Point | None = None, model_config: bool = True) -> str:
        """Odd names."""
        return f"{json} {copy} {title} {schema} {model_config}"

    assert set(odd.parameters["properties"]) == {"json", "copy", "title", "schema", "model_config"}  # type: ignore[arg-type]
    assert "$ref" not in json.dumps(odd.parameters)
    result = await used(odd, {"json": "a", "schema": {"x": 1}, "title": "t"})
    assert result.output == "a 1 t x=1.0 y=0.0 True"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("text", "text"),
        (None, "(no output)"),
        ("", "(no output)"),
        ({"a": [1, "ü"], 2: {3}}, '{"a": [1, "ü"], "2": [3]}'),
        (3.5, "3.5"),
        (Point(x=1), '{"x": 1.0, "y": 0.0}'),
        (object, "\"<class 'object'>\""),
        ("a\ud800", "a\ufffd"),
        (float("nan"), "NaN"),
    ],
)
async def test_results_are_shown_as_text(value: object, shown: str) -> None:
    @tool
    def give() -> object:
        """Gives."""
        return value

    assert (await used(give, {})).output == shown


async def test_a_long_result_is_cut_and_marked() -> None:
    @tool
    def flood() -> str:
        """Floods."""
        return "x" * 1_000_000

    result = await used(flood, "")
    assert result.truncated
    assert len(result.output) == 20_000


async def test_a_result_of_its_own_passes_as_it_is() -> None:
    own = ToolResult(output="nothing there", status="error", error="nothing")

    @tool
    async def give() -> ToolResult:
        """Gives."""
        return own

    assert await used(give, {}) is own


@pytest.mark.parametrize(
    "error",
    [ValueError("no such unit"), StopIteration("end"), SystemExit(3), KeyError("k"), KeyboardInterrupt("by itself"),
     GeneratorExit("g"), asyncio.CancelledError("c")],
)  # fmt: skip
async def test_an_exception_is_shown_to_the_model(error: BaseException) -> None:
    @tool
    def plain() -> str:
        """Fails."""
        raise error

    result = await used(plain, {})
    assert (result.status, result.error) == ("error", type(error).__name__)
    assert result.output == f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(
    "error",
    [ValueError("no such unit"), SystemExit(3), TimeoutError("late"), asyncio.CancelledError("by itself"),
     BaseException("of a compiled library"), BaseExceptionGroup("several", [KeyError("k")])],
)  # fmt: skip
async def test_an_exception_of_a_coroutine_is_shown_to_the_model(error: BaseException) -> None:
    @tool
    async def coroutine() -> str:
        """Fails."""
        raise error

    result = await used(coroutine, {})
    assert (result.status, result.output) == ("error", f"{type(error).__name__}: {error}")


async def test_a_cancelled_coroutine_is_cancelled() -> None:
    begun = asyncio.Event()

    @tool
    async def waits() -> None:
        """Waits."""
        begun.set()
        await asyncio.sleep(60)

    task = asyncio.create_task(used(waits, {}))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_tool_error_is_infrastructure() -> None:
    @tool
    def fails() -> str:
        """Fails."""
        raise ToolError("the service is down", code="down", retryable=True)

    with pytest.raises(ToolError, match="the service is down"):
        await used(fails, {})


async def test_plain_functions_do_not_hold_up_each_other() -> None:
    meeting = threading.Barrier(2, timeout=10)

    @tool
    def meet() -> int:
        """Waits for another call."""
        return meeting.wait()

    results = await asyncio.gather(used(meet, {}), used(meet, {}))
    assert sorted(result.output for result in results) == ["0", "1"]


def no_docstring(x: int) -> int:
    return x


def no_annotation(x) -> str:  # type: ignore[no-untyped-def]
    """Text."""
    return str(x)


def positional(x: int, /) -> str:
    """Text."""
    return str(x)


def variadic(*x: int) -> str:
    """Text."""
    return str(x)


def no_json(x: threading.Lock) -> str:  # type: ignore[valid-type]
    """Text."""
    return str(x)


def unknown_name(x: "Nowhere") -> str:  # type: ignore[name-defined]  # noqa: F821
    """Text."""
    return str(x)


class Tree(BaseModel):
    children: list["Tree"] = []


def recursive(x: Tree) -> str:
    """Text."""
    return str(x)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (no_docstring, "no docstring"),
        (no_annotation, "'x' has no type annotation"),
        (positional, "cannot be called by name"),
        (variadic, "cannot be called by name"),
        (no_json, "no_json"),
        (unknown_name, "Nowhere"),
        (recursive, "'Tree' contains itself"),
        (lambda: None, "cannot be a tool's name"),
    ],
)
def test_what_cannot_be_a_tool_is_refused(function: Any, said: str) -> None:
    with pytest.raises(InputError) as refused:
        tool(function)
    assert said in str(refused.value)


async def test_annotated_help_is_kept() -> None:
    @tool
    def helped(x: Annotated[int, Field(description="how many", ge=1)]) -> str:
        """Text."""
        return str(x)

    assert helped.parameters["properties"] == {"x": {"type": "integer", "description": "how many", "minimum": 1}}
    assert (await used(helped, {"x": 0})).status == "invalid"
