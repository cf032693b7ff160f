"""Functions of a user's own that a plan or a package names."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from toolablate.tools import Resources, open_toolset, own, resources_needed, tool_names
from toolablate.traces.errors import InputError
from toolablate.traces.records import ToolRequest, ToolUse

OWN = '''
from toolablate.tools import tool

@tool
def shout(text: str, *, marks: int = 1) -> str:
    """Says it louder."""
    return text.upper() + "!" * marks

def plain(text: str) -> str:
    """No tool."""
    return text
'''


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "own_tools_for_test.py").write_text(OWN)
    (tmp_path / "broken_tools_for_test.py").write_text("import no_such_module_at_all")
    (tmp_path / "leaving_tools_for_test.py").write_text("raise SystemExit(3)")
    (tmp_path / "minding_tools_for_test.py").write_text("def __getattr__(name): raise RuntimeError(f'no {name} here')")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    yield "own_tools_for_test"
    for name in ("own_tools_for_test", "minding_tools_for_test"):
        sys.modules.pop(name, None)


async def test_a_plan_names_a_function_of_a_module(own_module: str) -> None:
    use = ToolUse(name=f"{own_module}:shout", options={"marks": 3})
    async with open_toolset([use], Resources()) as tools:
        result = await tools.call(ToolRequest(id="1", name="shout", arguments='{"text": "hey"}'))
    assert result.output == "HEY!!!"


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("own_tools_for_test:whisper", {}, "there is no 'whisper'"),
        ("own_tools_for_test:plain", {}, "decorate the function"),
        ("own_tools_for_test:shout", {"mark": 1}, "mark: Extra inputs are not permitted"),
        ("own_tools_for_test:shout", {"marks": "3"}, "marks: Input should be a valid integer, found '3'"),
        ("broken_tools_for_test:x", {}, "no_such_module_at_all"),
        ("leaving_tools_for_test:x", {}, "cannot import 'leaving_tools_for_test': SystemExit: 3"),
        ("minding_tools_for_test:x", {}, "there is no 'x' in 'minding_tools_for_test': RuntimeError: no x here"),
        ("no_such_module_for_test:x", {}, "cannot import"),
        ("../evil:x", {}, "cannot import"),
        (":x", {}, "there is no tool ':x'"),
        ("x:", {}, "there is no tool 'x:'"),
    ],
)
def test_a_wrong_name_or_option_is_one_clear_error(
    own_module: str, name: str, options: dict[str, JsonValue], said: str
) -> None:
    with pytest.raises(InputError) as refused:
        open_toolset([ToolUse(name=name, options=options)], Resources())
    assert said in str(refused.value)


async def test_a_package_can_register_a_tool(own_module: str, tmp_path: Path) -> None:
    about = tmp_path / "loud_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: loud-package\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        f"[toolablate.tools]\nloud = {own_module}:shout\npython = {own_module}:shout\n"
    )
    own.registered.cache_clear()
    try:
        assert tool_names().count("loud") == tool_names().count("python") == 1
        assert resources_needed([ToolUse(name="python"), ToolUse(name="loud")]) == {"sandbox"}
        async with open_toolset([ToolUse(name="loud")], Resources()) as tools:
            result = await tools.call(ToolRequest(id="1", name="shout", arguments="hey"))
    finally:
        own.registered.cache_clear()
    assert result.output == "HEY!"


def test_a_use_in_python_is_that_of_a_plan(own_module: str) -> None:
    shout = importlib.import_module(own_module).shout
    use = shout.use(marks=3)
    assert use == ToolUse(name=f"{own_module}:shout", options={"marks": 3})
    assert shout.use() == ToolUse(name=f"{own_module}:shout")
    assert resources_needed([use]) == frozenset()
    with pytest.raises(InputError, match="mark: Extra inputs are not permitted, found 1"):
        shout.use(mark=1)


def test_a_program_of_its_own_cannot_be_named(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(OWN + "print(shout('hey'))\nshout.use()")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "HEY!\n")
    assert "tools: no plan could name 'shout' of '__main__'" in done.stderr


def test_an_option_may_be_of_a_type_that_json_has_no_word_for(own_module: str, tmp_path: Path) -> None:
    (tmp_path / "own_tools_for_test.py").write_text(
        "import enum\nfrom toolablate.tools import tool\nclass Unit(enum.Enum):\n    KG = 'kg'\n"
        "@tool\ndef weigh(*, unit: Unit) -> str:\n    'Weighs.'\n    return unit.name\n"
    )
    weigh = importlib.import_module(own_module).weigh
    unit = sys.modules[own_module].Unit.KG
    assert weigh.use(unit=unit) == ToolUse(name=f"{own_module}:weigh", options={"unit": "kg"})
    open_toolset([weigh.use(unit=unit)], Resources())
