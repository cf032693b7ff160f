"""Conditions of a user's own: built in Python, in a module beside the plan, and by entry points of a package."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.conftest import Cli
from tests.experiments.plan_files import outcomes
from tests.experiments.plans.test_plan import MINIMAL, load
from tests.experiments.scripted import run, write_scripted

from toolablate.experiments import condition
from toolablate.experiments.plans.conditions import BUILT_IN, SCAFFOLD
from toolablate.tools import ToolResult, intervention, tool
from toolablate.tools.user_code import registered
from toolablate.traces.errors import InputError
from toolablate.traces.records import Budget, Condition, InterventionUse, ToolUse

OWN = '''
from toolablate.experiments import condition
from toolablate.tools import tool

@tool
def fahrenheit(celsius: float) -> float:
    """Converts a temperature."""
    return celsius * 9 / 5 + 32

brief = condition("brief", base="python", budget={"turns": 3})

def asking():
    return condition("asking", prompt="Ask first.", tools=[fahrenheit, "web_search"])

def broken():
    raise RuntimeError("no such file")

def wanting(more):
    return brief

number = 7
'''

LIBRARY = Path(__file__).parents[2] / "tools/mcp/library_server.py"


@tool
def shout(text: str, *, marks: int = 1) -> str:
    """Says it louder."""
    return text.upper() + "!" * marks


@intervention
def shorten(result: ToolResult, *, chars: int = 80) -> str:
    return result.output[:chars]


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "own_conditions_for_test.py").write_text(OWN)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    yield "own_conditions_for_test"
    sys.modules.pop("own_conditions_for_test", None)


@pytest.fixture
def package(tmp_path: Path, own_module: str) -> Iterator[Path]:
    """An installed package that registers two conditions and a server."""
    about = tmp_path / "kind_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: kind-package\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        f"[toolablate.conditions]\nshort = {own_module}:brief\nasked = {own_module}:asking\n"
        "[toolablate.mcp]\nlibrary = servers_for_test:library\nodd = servers_for_test:odd\nlist = servers_for_test:list\n"
    )
    (tmp_path / "servers_for_test.py").write_text(
        f"library = {{'command': [{sys.executable!r}, {str(LIBRARY)!r}]}}\nodd = {{'comand': []}}\nlist = []\n"
    )
    registered.cache_clear()
    yield tmp_path
    sys.modules.pop("servers_for_test", None)
    registered.cache_clear()


def resolved(folder: Path, entry: str, extra: str = "") -> Condition:
    return load(folder, MINIMAL.replace('"none", "python"]', f"{entry}]") + extra).resolved_conditions()[0]


NAMES = st.sampled_from(["python", "web_search", "mcp:files", "my_tools:fahrenheit"])
OPTIONS = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.integers(0, 9) | st.booleans() | st.text("xyz", max_size=3), max_size=2)  # fmt: skip
USES = st.lists(NAMES | st.fixed_dictionaries({"name": NAMES, "options": OPTIONS}), max_size=3)
# What shows a part of questions may have no tools.
WHOLE = [name for name, each in BUILT_IN.items() if each.shown == "all"]
TABLES = st.fixed_dictionaries(
    {"name": st.sampled_from(["mine", "brief", "python", "search:sham", "a:b"])},
    optional={
        "base": st.sampled_from([*WHOLE, "python:sham", "mcp:files:placebo", "search:unprompted"]),
        "prompt": st.text("Think. ", max_size=12),
        "tools": USES,
        "tool_choice": st.sampled_from(["auto", "required", "none"]),
        "parallel_tool_calls": st.booleans(),
        "reasoning": st.sampled_from(["keep", "drop"]),
        "interventions": st.lists(st.sampled_from(["spotlight", "sham"]) | st.fixed_dictionaries({"name": st.just("truncate"), "options": st.just({"chars": 9})}), max_size=2),
        "budget": st.fixed_dictionaries({}, optional={"turns": st.integers(1, 20), "tool_calls": st.integers(0, 9), "seconds": st.floats(1, 99)}),
    },
).filter(lambda table: bool(table.keys() & {"base", "tools", "prompt"}))  # fmt: skip


def as_toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case dict():
            return "{" + ", ".join(f"{key} = {as_toml(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(as_toml, value)) + "]"
    return repr(value)


@pytest.mark.deep
@given(table=TABLES, shared=st.sampled_from(["", "[budget]\nturns = 5\nseconds = 30\n"]))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_condition_built_in_python_is_that_of_the_same_table(
    tmp_path: Path, table: dict[str, Any], shared: str
) -> None:
    built = condition(**table)
    assume(built.tools or not built.interventions)
    if not shared:
        assert resolved(tmp_path, as_toml(table)).identity() == built.identity()
    module = ModuleType("built_for_test")
    module.built = built  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    try:
        named = resolved(tmp_path, '"built_for_test:built"', shared)
    finally:
        del sys.modules[module.__name__]
    assert named == resolved(tmp_path, as_toml(table), shared)


def test_functions_stand_for_the_names_that_a_plan_has_for_them() -> None:
    built = condition("mine", tools=[shout, "python"], interventions=[shorten, shorten.use(chars=5), "spotlight"])
    assert built.tools == (ToolUse(name=f"{__name__}:shout"), ToolUse(name="python"))
    short = f"{__name__}:shorten"
    assert built.interventions == (
        InterventionUse(name=short), InterventionUse(name=short, options={"chars": 5}), InterventionUse(name="spotlight"),
    )  # fmt: skip


def test_a_base_may_be_a_condition() -> None:
    first = condition("first", base="python", budget={"turns": 3})
    second = condition("second", base=first, prompt="Be brief.", budget=Budget(seconds=9))
    assert (second.name, second.prompt, second.tools) == ("second", "Be brief.", first.tools)
    assert (second.budget.turns, second.budget.seconds) == (3, 9)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"budget": {"turn": 3}}, r"condition 'mine': budget\.turn: unknown key; did you mean 'turns'"),
        ({"prompt": 3}, r"condition 'mine': prompt: .*string; found 3"),
        ({"tools": "python"}, r"condition 'mine': tools: should be a list; found 'python'"),
        ({"tools": 5}, r"condition 'mine': tools: should be a list; found 5"),
        ({"interventions": "sham"}, r"condition 'mine': interventions: should be a list; found 'sham'"),
        ({"base": 5}, r"condition 'mine': base: neither a name nor a condition, but 5"),
        ({"base": "pyhton"}, "no built-in condition 'pyhton'"),
        ({}, "no built-in condition 'mine'"),
    ],
)
def test_a_mistake_in_a_condition_is_named(table: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError) as caught:
        condition("mine", **table)
    assert re.search(expected, str(caught.value)), str(caught.value)


def test_a_plan_takes_the_condition_of_a_module_under_its_own_name(own_module: str, tmp_path: Path) -> None:
    brief = resolved(tmp_path, f'"{own_module}:brief"', "[budget]\nturns = 9\nseconds = 30\n")
    assert (brief.name, brief.budget.turns, brief.budget.seconds) == ("brief", 3, 30)
    asking = resolved(tmp_path, f'"{own_module}:asking"')
    assert asking.tools == (ToolUse(name=f"{own_module}:fahrenheit"), ToolUse(name="web_search"))
    sham = resolved(tmp_path, f'"{own_module}:asking:sham"')
    assert sham == asking.model_copy(update={"name": "asking:sham", "interventions": (InterventionUse(name="sham"),)})
    based = resolved(tmp_path, f'{{ name = "mine", base = "{own_module}:brief", prompt = "Now." }}')
    assert (based.name, based.prompt, based.budget.turns) == ("mine", "Now.", 3)


def test_a_tool_of_a_module_has_a_ladder(own_module: str, tmp_path: Path) -> None:
    text = MINIMAL.replace(
        'conditions = ["none", "python"]', f'ladder = ["{own_module}:fahrenheit", "{own_module}:asking"]'
    )
    names = [each.name for each in load(tmp_path, text).resolved_conditions()]
    assert names[:3] == ["none", "scaffold", f"{own_module}:fahrenheit:offered"]
    assert [name for name in names if name.startswith("asking")][:3] == [
        "asking:scaffold",
        "asking:offered",
        "asking:sham",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("own_conditions_for_test:breif", "there is no 'breif' in 'own_conditions_for_test'"),
        ("own_conditions_for_test:number", "is not a condition: it is an int.*toolablate.experiments.condition"),
        ("own_conditions_for_test:broken", "gives no condition: RuntimeError: no such file"),
        ("own_conditions_for_test:wanting", "gives no condition: TypeError"),
        ("no_such_module_for_test:x", "cannot import 'no_such_module_for_test'.*in the plan's folder"),
        ("../evil:x", "cannot import"),
    ],
)
def test_a_wrong_condition_of_ones_own_is_one_clear_error(
    own_module: str, tmp_path: Path, name: str, expected: str
) -> None:
    with pytest.raises(InputError) as caught:
        resolved(tmp_path, f'"{name}"')
    assert re.search(expected, str(caught.value), re.DOTALL), str(caught.value)


def test_a_package_registers_conditions(package: Path, own_module: str, tmp_path: Path) -> None:
    assert resolved(tmp_path, '"short"').name == "brief"
    assert resolved(tmp_path, '"asked:oracle"').interventions == (InterventionUse(name="oracle"),)
    assert resolved(tmp_path, '"python"').prompt == SCAFFOLD
    # A module may build a condition of the name under which it is registered.
    assert resolved(tmp_path, '{ name = "short", prompt = "Think." }') == Condition(name="short", prompt="Think.")
    with pytest.raises(InputError, match=r"built in are: none, .*, question-only, asked, short"):
        resolved(tmp_path, '"shrot"')


@pytest.mark.parametrize("entry", ['"python"', '"python:sham"', '{ name = "mine", base = "python" }'])
def test_a_package_cannot_take_the_name_of_a_built_in_condition(package: Path, tmp_path: Path, entry: str) -> None:
    points = package / "kind_package-1.0.dist-info/entry_points.txt"
    points.write_text("[toolablate.conditions]\npython = no_such_module:x\n")
    registered.cache_clear()
    with pytest.raises(InputError, match="'python' is claimed by several packages: kind-package and toolablate"):
        resolved(tmp_path, entry)
    assert resolved(tmp_path, '"search"').prompt == SCAFFOLD


def test_a_limit_on_the_cost_in_a_condition_of_ones_own_needs_a_price(own_module: str, tmp_path: Path) -> None:
    (tmp_path / "own_conditions_for_test.py").write_text(OWN.replace('{"turns": 3}', '{"cost_usd": 1}'))
    paid = MINIMAL.replace('"simulated"', '"openai"').replace('"python"]', f'"{own_module}:brief"]')
    with pytest.raises(InputError, match=r"budget\.cost_usd: the model 'sim' has no price"):
        load(tmp_path, paid)


@pytest.mark.deep
def test_a_package_registers_a_server_that_plans_use_without_a_table(package: Path, tmp_path: Path) -> None:
    plan = write_scripted(tmp_path, [("add", {"left": 2, "right": 3})], '[{ name = "mcp:library" }]', "")
    ((called,),) = run(plan).values()
    assert (called.output, called.status) == ("5", "ok")


def test_a_server_that_nothing_uses_is_not_looked_at_and_a_plans_own_goes_first(package: Path, tmp_path: Path) -> None:
    assert load(tmp_path, MINIMAL).mcp == ()
    own = '[[mcp]]\nname = "odd"\nurl = "http://127.0.0.1:9"\n'
    text = MINIMAL.replace('"python"]', '{ name = "x", tools = ["mcp:odd", "mcp:library/add"] }]')
    first, second = load(tmp_path, text + own).mcp
    assert (first.name, first.url) == ("odd", "http://127.0.0.1:9")
    assert (second.name, second.command[1], second.folder) == ("library", str(LIBRARY), str(tmp_path))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("odd", r"mcp: 'odd', which a package names: comand: unknown key; did you mean 'command'"),
        ("list", r"mcp: 'list', which a package names, is not a mapping: it is a list"),
    ],
)
def test_a_wrong_server_of_a_package_is_one_clear_error(
    package: Path, tmp_path: Path, name: str, expected: str
) -> None:
    with pytest.raises(InputError, match=expected):
        load(tmp_path, MINIMAL.replace('"python"]', f'"mcp:{name}"]'))


def test_a_condition_of_a_module_beside_the_plan_is_run_by_the_command_line(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "my_conditions.py").write_text(
        'from toolablate.experiments import condition\nbrief = condition("brief", prompt="Be brief.")\n'
    )
    plan = tmp_path / "plan.toml"
    plan.write_text(
        MINIMAL.replace('"python"]', '"my_conditions:brief"]').replace(
            'file = "builtin"', 'file = "builtin"\nlimit = 1'
        )
    )
    ran = cli("run", plan, "--store", tmp_path / "store.sqlite")
    assert ran.returncode == 0, ran.stderr
    assert {condition for _, condition in outcomes(tmp_path / "store.sqlite")} == {"none", "brief"}
