"""Tools of LangChain in a plan: objects and classes, what a model is told and shown, what is refused."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolablate.tools.registry import tool_sources
from toolablate.tools.tool import Tool, ToolResult
from toolablate.tools.user_code import function_tool, options_of
from toolablate.traces.errors import InputError
from toolablate.traces.records import ToolUse

OWN = '''
from langchain_core.tools import BaseTool, StructuredTool, ToolException, tool
from pydantic import BaseModel

@tool
def add(x: int, y: int = 2) -> int:
    """Add two numbers."""
    return x + y

@tool
async def fails(text: str) -> str:
    """Fail."""
    raise ToolException("out of order")

class Wrapper(BaseModel):
    language: str = "en"

class Library(BaseTool):
    name: str = "library"
    description: str = "Look a word up."
    wrapper: Wrapper
    top: int = 1
    api_key: str = ""

    def _run(self, query: str) -> list:
        return [{"type": "text", "text": f"{query} in {self.wrapper.language}, {self.top}"}]

class Needy(Library):
    count: int

from_schema = StructuredTool.from_function(
    func=lambda **given: str(given), name="spaced-out", description="By a JSON schema.",
    args_schema={"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}, "required": ["q"]},
)
badly_named = StructuredTool.from_function(func=lambda q: q, name="two words", description="No.", args_schema={
    "type": "object", "properties": {"q": {"type": "string"}}})
'''


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / "own_langchain.py"
    path.write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield path
    sys.modules.pop("own_langchain", None)


def opened(name: str, **options: Any) -> Tool:
    use = ToolUse(name=f"own_langchain:{name}", options=options)
    function = function_tool(use.name)
    return function.open(options_of(use, function))


async def call(tool: Tool, **arguments: Any) -> ToolResult:
    return await tool.call(arguments)


async def test_an_object() -> None:
    tool = opened("add")
    assert (tool.spec.name, tool.spec.description) == ("add", "Add two numbers.")
    assert tool.spec.parameters["properties"] == {"x": {"type": "integer"}, "y": {"type": "integer", "default": 2}}
    assert tool.spec.parameters["required"] == ["x"]
    assert (await call(tool, x=40)).output == "42"
    wrong = await call(tool, z=1)
    assert (wrong.status, "x is missing" in wrong.output) == ("invalid", True)
    failed = await call(opened("fails"), text="a")
    assert (failed.status, failed.output) == ("error", "ToolException: out of order")


async def test_a_class_is_made_with_the_options_of_the_plan() -> None:
    assert (await call(opened("Library"), query="muon")).output == "muon in en, 1"
    tool = opened("Library", wrapper={"language": "de"}, top=3)
    assert tool.spec.name == "library"
    assert (await call(tool, query="muon")).output == "muon in de, 3"


async def test_a_json_schema() -> None:
    tool = opened("from_schema")
    assert tool.spec.parameters["required"] == ["q"]
    assert (await call(tool, q="a")).output == "{'q': 'a'}"
    assert (await call(tool, n=1)).status == "invalid"


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("badly_named", {}, "'two words' cannot be the name of a tool"),
        ("Needy", {}, "no Needy can be made: count: Field required"),
        ("Library", {"tip": 3}, "options of 'own_langchain:Library': tip"),
        ("Library", {"top": "many"}, "no Library can be made: top"),
        ("Library", {"api_key": "abc"}, "options.api_key looks like a secret"),
        ("add", {"x": 3}, "options of 'own_langchain:add': x"),
        ("Wrapper", {}, "is not a tool"),
    ],
)
def test_what_is_refused(name: str, options: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as caught:
        opened(name, **options)
    assert told in caught.value.message


def test_a_package_that_is_missing() -> None:
    with pytest.raises(InputError) as caught:
        function_tool("langchain_nowhere.tools:Search")
    assert caught.value.hint == "pip install langchain-nowhere"


def test_a_store_keeps_the_digest_of_its_module(own: Path) -> None:
    uses = [ToolUse(name="own_langchain:add"), ToolUse(name="own_langchain:Library")]
    before = tool_sources(uses)
    assert len(set(before.values())) == 1
    own.write_text(OWN.replace("x + y", "x - y"), encoding="utf-8")
    assert set(tool_sources(uses).values()).isdisjoint(before.values())
