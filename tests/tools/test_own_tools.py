"""Functions of a user's own that a plan or a package names."""

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from toolablate.tools import (
    Resources,
    intervention_sources,
    open_toolset,
    own_source,
    resources_needed,
    tool_names,
    tool_sources,
    user_code,
)
from toolablate.tools.own_source import code_digest
from toolablate.traces.errors import InputError
from toolablate.traces.records import InterventionUse, ToolRequest, ToolUse

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
    (about / "entry_points.txt").write_text(f"[toolablate.tools]\nloud = {own_module}:shout\n")
    user_code.registered.cache_clear()
    try:
        assert tool_names().count("loud") == tool_names().count("python") == 1
        assert resources_needed([ToolUse(name="python"), ToolUse(name="loud")]) == {"sandbox"}
        async with open_toolset([ToolUse(name="loud")], Resources()) as tools:
            result = await tools.call(ToolRequest(id="1", name="shout", arguments="hey"))
    finally:
        user_code.registered.cache_clear()
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


CODE = """
'''Of units.'''
from toolablate.tools import tool

RATE, TEXTS = -1_000.5e3, ["caf\u00e9 \U0001fae8", b"\\xff", 0x10, None, ..., 2j]


@tool
async def weigh(grams: int, /, *more: str, unit: str = "kg", **options) -> str:
    '''Weighs.'''
    match options:
        case {"of": [first, *_]} if not (lambda: first)():
            raise ValueError(f"{unit!r:>{grams}}{'a' 'b'} {grams = }" "!" f"{more[0]:}") from None
    return f"{grams:,}" if grams else f""
"""
MEANS_THE_SAME = (
    ("from toolablate", "# Of one's own: a comment.\nfrom toolablate"),
    ("RATE, TEXTS = ", "(RATE,\n    TEXTS) = "),
    ("-1_000.5e3", "-1000500.0"),
    ('"kg"', "u'kg'"),
    ("\n", "\r\n"),
    ("\n\n\n", "\n"),
    ("raise", "raise  \t"),
    ('else f""', 'else f""  # at last'),
    ('"!" ', '"" "!" '),
)
MEANS_ANOTHER_THING = (
    ("'Weighs.", "'Weighs well."),
    ("'Of units", "'Of weights"),
    ("-1_000.5e3", "-1_000.5e2"),
    ("0x10", "True"),
    ("None, ", ""),
    ('"kg"', 'b"kg"'),
    ("async def", "def"),
    ("/, ", ""),
    ("!r:>", "!s:>"),
    (":,", ":_"),
    ("unit!r", "more!r"),
    (" from None", ""),
    ("*more", "*others"),
    ("not (", "("),
)


@pytest.mark.parametrize(("old", "new"), MEANS_THE_SAME)
def test_the_digest_of_code_is_of_what_it_means(old: str, new: str) -> None:
    assert old in CODE
    assert code_digest(CODE.replace(old, new).encode()) == code_digest(CODE.encode())


@pytest.mark.parametrize(("old", "new"), MEANS_ANOTHER_THING)
def test_the_digest_of_code_tells_changes(old: str, new: str) -> None:
    assert old in CODE
    assert code_digest(CODE.replace(old, new).encode()) != code_digest(CODE.encode())


def test_the_digest_of_code_is_the_same_in_every_python() -> None:
    """As Python 3.11.7, 3.12.1 and 3.13.0 give it; whatever runs this test has to give it too."""
    assert code_digest(CODE.encode()) == "code a1a71e0a91ab9496e26c8478c3cdd1a1"


def test_code_of_any_depth_size_and_encoding_has_a_digest() -> None:
    deep = "x = " + " + ".join(["y"] * 2_000)
    assert code_digest(deep.encode()) != code_digest(f"{deep} + y".encode())
    assert code_digest(b"x = 0x" + b"f" * 5_000) != code_digest(b"x = 0x" + b"f" * 5_001)
    assert code_digest(b"# coding: latin-1\nx = '\xe9'") == code_digest("x = 'é'".encode())
    assert code_digest(rb"x = '\ud800 \d'") != code_digest(rb"x = '\ud801 \d'")
    with pytest.raises(SyntaxError):
        code_digest(b"x = ")


def test_a_module_that_cannot_be_read_any_more_is_named(own_module: str, tmp_path: Path) -> None:
    shout = importlib.import_module(own_module).shout
    (tmp_path / "own_tools_for_test.py").write_text("def shout(:")
    with pytest.raises(InputError, match="the source of 'loud' cannot be read"):
        user_code.module_digest(shout.function, "loud", "tools")


def test_what_a_package_imports_from_itself_is_its_code_too(tmp_path: Path) -> None:
    package = tmp_path / "own_agent_for_test"
    package.mkdir()
    (package / "__init__.py").write_text("from .graph import graph\n")
    (package / "graph.py").write_text("graph = 1\n")
    before = own_source.code_source("own_agent_for_test", tmp_path)
    (package / "graph.py").write_text("graph = 2\n")
    assert own_source.code_source("own_agent_for_test", tmp_path) != before


@pytest.mark.parametrize("changed", ["helping", "deeper", "naming"])
def test_what_a_tool_or_an_intervention_imports_from_beside_it_is_its_code_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    """`naming` only names what another module makes."""
    (tmp_path / "helping_for_test.py").write_text("import json, deeper_for_test\nMARKS = 1\n")
    (tmp_path / "deeper_for_test.py").write_text("MARKS = 1\n")
    (tmp_path / "making_for_test.py").write_text(
        "import helping_for_test\nfrom toolablate.tools import ToolResult, intervention, tool\n"
        "def make(marks):\n    @tool\n    def shout(text: str) -> str:\n        'Says it.'\n        return text\n"
        "    @intervention\n    def cut(result: ToolResult) -> str:\n        return result.output\n    return shout, cut\n"
    )
    (tmp_path / "naming_for_test.py").write_text("from making_for_test import make\nshout, cut = make(marks=1)\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    names = [f"{each}_for_test" for each in ("helping", "deeper", "making", "naming")]

    def digests() -> tuple[dict[str, str], dict[str, str]]:
        use = InterventionUse(name="naming_for_test:cut")
        return tool_sources([ToolUse(name="naming_for_test:shout")]), intervention_sources([use])

    try:
        before = digests()
        edited = tmp_path / f"{changed}_for_test.py"
        edited.write_text(edited.read_text() + "# Of one's own.\n")
        assert digests() == before
        edited.write_text(edited.read_text() + "MORE = 2\n")
        assert [a != b for a, b in zip(digests(), before, strict=True)] == [True, True]
    finally:
        for name in names:
            sys.modules.pop(name, None)


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a plan; what is imported from there is forgotten."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or name).startswith((str(tmp_path), "packed_for_test")):
            del sys.modules[name]


def counting(folder: Path, name: str, line: str) -> ToolUse:
    """A tool in a module of this name that calls `marks`, which the line imports."""
    (folder / f"{name}.py").write_text(
        f"{line}\nfrom toolablate.tools import ToolResult, intervention, tool\n"
        "@tool\ndef count(text: str) -> str:\n    'Counts.'\n    return str(marks())\n"
        "@intervention\ndef cut(result: ToolResult) -> str:\n    return str(marks())\n"
    )
    return ToolUse(name=f"{name}:count")


async def said(use: ToolUse) -> str:
    async with open_toolset([use], Resources()) as tools:
        return (await tools.call(ToolRequest(id="1", name="count", arguments="hey"))).output


async def test_code_that_was_edited_between_two_runs_of_a_process_is_the_code_that_runs(beside: Path) -> None:
    """Of two tools with one helper too, of which a run has only the one."""
    helper = beside / "marking_for_test.py"
    helper.write_text("def marks(): return 1\n")
    one, other = (counting(beside, f"{name}_for_test", "from marking_for_test import marks") for name in ("one", "two"))
    cut = InterventionUse(name="two_for_test:cut")
    before = {**tool_sources([one]), **tool_sources([other])}, intervention_sources([cut])
    assert (await said(one), await said(other)) == ("1", "1")
    helper.write_text("def marks(): return 2\n")
    assert tool_sources([one]) != {one.name: before[0][one.name]}
    assert await said(one) == "2"
    assert intervention_sources([cut]) != before[1]
    assert await said(other) == "2"
    module = sys.modules["one_for_test"]
    assert tool_sources([one]) == tool_sources([one])
    assert sys.modules["one_for_test"] is module


async def test_a_helper_that_a_tool_imports_when_it_is_called_is_the_one_of_the_digest(beside: Path) -> None:
    """Also where its file has kept an older time: by `cp -p`, `rsync -t` or `tar`."""
    helper = beside / "marking_late_for_test.py"
    use = counting(beside, "late_for_test", "def marks():\n    import marking_late_for_test as late\n    return late.N")
    digests = set[str]()
    for marks in (1, 2, 3):
        helper.write_text(f"N = {marks}\n")
        os.utime(helper, (1_000_000_000 + marks, 1_000_000_000 + marks))
        digests.update(tool_sources([use]).values())
        assert await said(use) == str(marks)
    assert len(digests) == 3


@pytest.mark.parametrize("name", ["tried_for_test", "toolablate_tried_for_test"])
def test_a_module_that_was_tried_before_toolablate_looked_at_it_is_imported_anew(tmp_path: Path, name: str) -> None:
    """As in a notebook, in a process of its own: nothing of what runs trials is imported until a run begins."""
    text = "from toolablate.tools import tool\n@tool\ndef marks() -> str:\n    'Counts.'\n    return '1'\n"
    (tmp_path / f"{name}.py").write_text(text)
    program = (
        f"import time, {name} as mine; from pathlib import Path; before = mine.marks(); time.sleep(.1)\n"
        f"own = Path({str(tmp_path)!r}, {name + '.py'!r}); own.write_text(own.read_text().replace('1', '2')); import os; os.utime(own, (1e9, 1e9))\n"
        "from toolablate.tools.registry import tool_sources; from toolablate.traces.records import ToolUse\n"
        f"tool_sources([ToolUse(name={name + ':marks'!r})]); import sys; print(before, sys.modules[{name!r}].marks())"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "1 2\n"


def test_a_package_that_is_found_by_another_name_of_its_folder_is_not_imported_anew(
    beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = beside / "plans"
    package_of_one(folder, "", 1)
    use = counting(folder, "pathed_for_test", "from packed_for_test.one import marks")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", ["./", *sys.path])
    tool_sources([use])
    modules = {name: sys.modules[name] for name in ("pathed_for_test", "packed_for_test.one")}
    tool_sources([use])
    assert modules == {name: sys.modules[name] for name in modules}


async def test_two_plans_may_each_have_a_module_of_one_name_beside_them(
    beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        folder = beside / f"plan{number}"
        folder.mkdir()
        use = counting(folder, "own_for_test", f"def marks(): return {number}")
        monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
        tool_sources([use])
        assert await said(use) == str(number)


def package_of_one(folder: Path, first: str | None, marks: int) -> None:
    """Packages that hold nothing themselves, or have no file of their own, are what most helpers are in."""
    package = folder / "packed_for_test"
    package.mkdir(parents=True, exist_ok=True)
    if first is not None:
        (package / "__init__.py").write_text(first)
    (package / "one.py").write_text(f"def marks(): return {marks}\n")


FIRSTS = pytest.mark.parametrize(
    "first", [None, "", "# Nothing.\n", "KEPT = 1\n"], ids=["no file", "empty", "comment", "code"]
)
IN_PACKAGE = pytest.mark.parametrize(
    "line",
    [
        "from packed_for_test import one\nmarks = one.marks",
        "from packed_for_test.one import marks",
        "import packed_for_test.one\ndef marks(): return packed_for_test.one.marks()",
    ],
)


@FIRSTS
@IN_PACKAGE
async def test_a_helper_in_a_package_that_was_edited_is_what_runs(beside: Path, first: str | None, line: str) -> None:
    package_of_one(beside, first, 1)
    use = counting(beside, "counting_for_test", line)
    before = tool_sources([use])
    assert await said(use) == "1"
    package_of_one(beside, first, 2)
    assert tool_sources([use]) != before
    assert await said(use) == "2"


@FIRSTS
@IN_PACKAGE
async def test_two_plans_may_each_have_a_package_of_one_name_beside_them(
    beside: Path, monkeypatch: pytest.MonkeyPatch, first: str | None, line: str
) -> None:
    """Also where what is imported of it has another name."""
    for number in (1, 2):
        folder = beside / f"plan{number}"
        package_of_one(folder, first, number)
        use = counting(folder, f"counting_for_test_{number}", line)
        monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
        tool_sources([use])
        assert await said(use) == str(number)
    for name, number in (("left_for_test", 3), ("right_for_test", 4)):
        folder = beside / name
        package_of_one(folder, first, number)
        (folder / "packed_for_test" / "one.py").rename(folder / "packed_for_test" / f"{name}.py")
        use = counting(folder, f"of_{name}", f"from packed_for_test.{name} import marks")
        monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
        tool_sources([use])
        assert await said(use) == str(number)


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("from marking_for_test.one import marks", "__init__"),
        ("from marking_for_test import *", "one"),
        ("from marking_for_test import one\nmarks = one.marks", "one"),
        ("import marking_for_test.one\nmarks = marking_for_test.one.marks", "__init__"),
        ("from marking_for_test.relative import marks", "one"),
    ],
)
def test_all_of_a_helping_package_that_is_imported_is_the_tools_code(beside: Path, line: str, changed: str) -> None:
    package = beside / "marking_for_test"
    package.mkdir()
    (package / "__init__.py").write_text("__all__ = ['one', 'marks']\ndef marks(): return 0\n")
    (package / "one.py").write_text("def marks(): return 1\n")
    (package / "other.py").write_text("def marks(): return 2\n")
    (package / "relative.py").write_text("from . import one\nmarks = one.marks\n")
    use = counting(beside, "counting_for_test", line)
    before = tool_sources([use])
    for name, same in (("other", True), (changed, False)):
        edited = package / f"{name}.py"
        edited.write_text(edited.read_text() + "MORE = 1\n")
        assert (tool_sources([use]) == before) == same


@pytest.mark.parametrize("name", ["yaml", "time", "json"])
def test_a_file_beside_a_tool_with_the_name_of_a_library_counts_where_it_is_what_is_imported(
    beside: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    importlib.import_module(name)
    (beside / f"{name}.py").write_text("MORE = 1\n")
    use = counting(beside, "counting_for_test", f"import {name}\nfrom marking_for_test import marks")
    (beside / "marking_for_test.py").write_text("def marks(): return 1\n")
    before = tool_sources([use])
    (beside / f"{name}.py").write_text("MORE = 2\n")
    assert tool_sources([use]) == before
    if name == "yaml":
        # Before the libraries, as in the folder of a script.
        monkeypatch.setattr(sys, "path", [str(beside), *sys.path])
        monkeypatch.delitem(sys.modules, name)
        shadowed = tool_sources([use])
        (beside / f"{name}.py").write_text("MORE = 3\n")
        assert before != shadowed != tool_sources([use])


def test_the_digest_of_a_decorated_tool_is_of_its_own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrapper lies in the decorator's file, which is of an installed library here."""
    name, code = (
        "decorated_for_test",
        (
            "from contextlib import contextmanager\nfrom toolablate.tools import tool\n@contextmanager\n"
            "def held():\n    yield\n@tool\n@held()\ndef shout(text: str) -> str:\n    'Says it.'\n    return text\n"
        ),
    )
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    try:
        assert tool_sources([ToolUse(name=f"{name}:shout")]) == {f"{name}:shout": code_digest(code.encode())}
    finally:
        sys.modules.pop(name, None)


def test_a_tool_that_has_no_module_beside_it_keeps_its_digest(own_module: str, tmp_path: Path) -> None:
    """Stores name it by this one."""
    (tmp_path / "not_imported_for_test.py").write_text("MARKS = 1\n")
    name = f"{own_module}:shout"
    assert tool_sources([ToolUse(name=name)]) == {name: code_digest(OWN.encode())}


def test_code_that_is_installed_in_place_may_be_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "own_in_place_for_test-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: own_in_place_for_test\nVersion: 1.0\n")
    (tmp_path / "own_in_place_for_test.py").write_text("from beside_for_test import graph\n")
    (tmp_path / "beside_for_test.py").write_text("graph = 1\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    elsewhere = tmp_path / "plan"
    before = own_source.code_source("own_in_place_for_test", elsewhere)
    assert before["package"] == "own-in-place-for-test 1.0"
    (tmp_path / "beside_for_test.py").write_text("graph = 2\n")
    assert own_source.code_source("own_in_place_for_test", elsewhere) != before
    assert own_source.class_source("pytest", elsewhere)["package"].startswith("pytest ")
    assert "source_digest" not in own_source.code_source("pytest", elsewhere)
