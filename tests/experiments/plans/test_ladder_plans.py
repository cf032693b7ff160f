"""A plan names toolsets, and gets their ladders: each arm once, each differing from its neighbour in one factor."""

import re
from pathlib import Path

import pytest
from tests.experiments.plans.test_plan import MINIMAL, load

from toolablate.experiments import ladder_of
from toolablate.experiments.environment.environment import fingerprint_of
from toolablate.experiments.plans.conditions import SCAFFOLD, named_condition, starts_kernel
from toolablate.traces.errors import InputError
from toolablate.traces.records import Budget, Condition, InterventionUse, ToolUse

ARMS_OF_PYTHON = [
    "none", "scaffold", "python:offered", "python:sham", "python:placebo", "python", "python:oracle", "python:adversarial",
]  # fmt: skip

LADDER = MINIMAL.replace('conditions = ["none", "python"]', "ladder = {}")


def resolved(folder: Path, ladder: str, extra: str = "") -> dict[str, Condition]:
    conditions = load(folder, LADDER.format(ladder) + extra).resolved_conditions()
    found = {condition.name: condition for condition in conditions}
    assert len(found) == len({condition.identity() for condition in conditions}) == len(conditions)
    return found


def test_a_toolset_becomes_all_arms_in_their_order(tmp_path: Path) -> None:
    assert list(resolved(tmp_path, '["python"]')) == ARMS_OF_PYTHON


def test_arms_that_toolsets_share_are_run_once(tmp_path: Path) -> None:
    of_search = [name.replace("python", "search") for name in ARMS_OF_PYTHON[2:]]
    assert list(resolved(tmp_path, '["python", "search"]')) == ARMS_OF_PYTHON + of_search


def test_neighbouring_arms_differ_in_one_thing(tmp_path: Path) -> None:
    arms = resolved(tmp_path, '["python"]')
    real = dict(arms["python"])

    def changed(arm: str) -> dict[str, object]:
        return {key: value for key, value in arms[arm] if value != real[key] and key != "name"}

    assert changed("python:offered") == {"tool_choice": "none"}
    for arm in ("sham", "placebo", "oracle", "adversarial"):
        assert changed(f"python:{arm}") == {"interventions": (InterventionUse(name=arm),)}
    assert arms["none"] == Condition(name="none")
    assert arms["scaffold"] == Condition(name="scaffold", prompt=SCAFFOLD)


def test_a_toolset_keeps_its_own_prompt_options_budget_and_interventions(tmp_path: Path) -> None:
    table = (
        '[{ name = "lookup", tools = ["web_search", { name = "my_tools:fahrenheit", options = { digits = 1 } }],'
        ' prompt = "Look it up.", budget = { turns = 3 }, tool_choice = "required", interventions = ["spotlight"] }]'
    )
    arms = resolved(tmp_path, table)
    assert list(arms)[:4] == ["none", "lookup:scaffold", "lookup:offered", "lookup:sham"]
    assert arms["none"] == Condition(name="none", budget=Budget(turns=3))
    assert arms["lookup:scaffold"].prompt == "Look it up."
    assert arms["lookup:scaffold"].tools == ()
    assert [use.name for use in arms["lookup:placebo"].interventions] == ["placebo", "spotlight"]
    assert arms["lookup:placebo"].tool_choice == "required"
    assert arms["lookup:offered"].interventions == arms["lookup"].interventions
    assert arms["lookup:oracle"].tools[1] == ToolUse(name="my_tools:fahrenheit", options={"digits": 1})


def test_a_toolset_without_a_prompt_has_no_scaffold(tmp_path: Path) -> None:
    arms = resolved(tmp_path, '[{ name = "bare", tools = ["python"], arms = [] }]')
    assert list(arms) == ["none", "bare"]


def test_arms_can_be_chosen_and_come_in_the_order_of_the_ladder(tmp_path: Path) -> None:
    arms = resolved(tmp_path, '[{ name = "python", arms = ["placebo", "offered"] }]')
    assert list(arms) == ["none", "scaffold", "python:offered", "python:placebo", "python"]


def test_shapley_adds_the_arms_without_the_prompt(tmp_path: Path) -> None:
    arms = resolved(tmp_path, '[{ name = "python", shapley = true }]')
    added = [
        "python:offered-unprompted", "python:sham-unprompted", "python:placebo-unprompted", "python:unprompted",
    ]  # fmt: skip
    assert list(arms) == ARMS_OF_PYTHON + added
    for name in added:
        prompted = arms[name.replace(":unprompted", "").replace("-unprompted", "")]
        assert arms[name] == prompted.model_copy(update={"name": name, "prompt": ""})


def test_conditions_stand_beside_a_ladder_and_are_taken_once(tmp_path: Path) -> None:
    beside = (
        'ladder = ["python"]\nconditions = ["python:sham", { name = "brief", base = "python", budget = { turns = 1 } }]'
    )
    plan = load(tmp_path, LADDER.replace("ladder = {}", beside))
    assert [condition.name for condition in plan.resolved_conditions()] == [*ARMS_OF_PYTHON, "brief"]


def test_toolsets_that_share_a_prompt_of_their_own_share_its_arm(tmp_path: Path) -> None:
    prompt = 'prompt = "Think.", arms = []'
    arms = resolved(
        tmp_path, f'[{{ name = "a", base = "python", {prompt} }}, {{ name = "b", base = "search", {prompt} }}]'
    )
    assert list(arms) == ["none", "a:scaffold", "a", "b"]


@pytest.mark.parametrize(
    ("ladder", "expected"),
    [
        ('["none"]', r"ladder: 'none' has no tools"),
        ('["pyhton"]', r"ladder: there is no built-in condition 'pyhton'\n  did you mean 'python'\?"),
        ('["no_such_module:x"]', r"ladder: 'no_such_module:x': cannot import"),
        ('["python:sham"]', r"ladder: 'python:sham' has the intervention 'sham'.*name 'python'"),
        ('["python:offered"]', r"ladder: 'python:offered' bars its tools.*name 'python'"),
        ('[{ name = "mine", base = "python:sham" }]', r"ladder: 'mine' has the intervention 'sham'.*leave it out"),
        ('[{ name = "mine", base = "pyhton:sham" }]', r"ladder: there .*'pyhton:sham'\n  did you mean 'python:sham'\?"),
        ('["python", "python"]', r"ladder: the name 'python' is used twice"),
        ('[{ name = "python", arms = ["shame"] }]', r"ladder\[0\]\.arms\[0\]: found 'shame', allowed is 'offered', 'sham'"),
        ('[{ name = "python", arm = [] }]', r"ladder\[0\]\.arm: unknown key; did you mean 'arms'\?"),
        ('[{ name = "python", shapley = 1 }]', r"ladder\[0\]\.shapley: .*boolean"),
        ('[{ name = "bare", tools = ["python"], shapley = true }]', r"ladder: 'bare' has no prompt"),
        ('["python", { name = "search", budget = { turns = 1 } }]', r"the name 'none' is used for two .* in budget.*\[budget\]"),
        ('["search", { name = "lookup", base = "search" }]', r"'search:offered' and 'lookup:offered' are the same condition"),
        ("[]", r"conditions: missing"),
    ],
)  # fmt: skip
def test_a_mistake_about_a_ladder_is_named(tmp_path: Path, ladder: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, LADDER.format(ladder)).resolved_conditions()
    assert re.search(expected, str(caught.value), re.DOTALL), str(caught.value)


def test_a_condition_beside_a_ladder_may_not_take_an_arms_name_for_another(tmp_path: Path) -> None:
    beside = 'ladder = ["python"]\nconditions = [{ name = "python:sham", tools = ["python"] }]'
    with pytest.raises(
        InputError, match="'python:sham' is used for two conditions that differ in prompt, interventions"
    ):
        load(tmp_path, LADDER.replace("ladder = {}", beside)).resolved_conditions()


def test_the_baseline_may_be_an_arm_and_has_to_be_one(tmp_path: Path) -> None:
    text = LADDER.format('["python"]')
    assert load(tmp_path, f"baseline = 'python:sham'\n{text}").resolved_conditions()
    with pytest.raises(InputError, match="baseline: 'search' is not one of the conditions; those are none, scaffold"):
        load(tmp_path, f"baseline = 'search'\n{text}").resolved_conditions()


@pytest.mark.parametrize(
    "name",
    ["web_search", "gpt-oss", "mcp:files", "mcp:files/read", "mcp:sham"],
)
def test_a_tool_alone_is_a_condition_with_the_built_in_prompt(name: str) -> None:
    assert named_condition(name) == Condition(name=name, prompt=SCAFFOLD, tools=(ToolUse(name=name),))


@pytest.mark.parametrize("name", ["python:sham", "mcp:files:placebo", "mcp:sham:oracle", "search:unprompted"])
def test_an_arm_is_a_condition_by_its_name(name: str, tmp_path: Path) -> None:
    stem, _, _ = name.rpartition(":")
    arms = {arm.name: arm for arm in ladder_of(named_condition(stem), shapley=True)}
    text = MINIMAL.replace('"python"]', f'"{name}", {{ name = "mine", base = "{name}", budget = {{ turns = 1 }} }}]')
    _, one, based = load(tmp_path, text).resolved_conditions()
    assert one == arms[name]
    assert based == arms[name].model_copy(update={"name": "mine", "budget": Budget(turns=1)})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("none:sham", "'none' has no tools"),
        ("python:sham:sham", "has the intervention 'sham'"),
        ("python" + ":sham" * 3_000, "no built-in condition 'python:sham:sham"),
        ("python:scaffold", "the ladder of 'python' has no arm 'scaffold'.*none, scaffold, python:offered"),
        ("python:shame", "the ladder of 'python' has no arm 'shame'\n  did you mean 'python:sham'\\?"),
        ("mcp:files:adversary", "the ladder of 'mcp:files' has no arm 'adversary'.*'mcp:files:adversarial'"),
        ("pyton:sham", "no built-in condition 'pyton:sham'\n  did you mean 'python:sham'\\?"),
        ("pyton", "no built-in condition 'pyton'\n  did you mean 'python'\\?"),
        ("web_serch:sham", "did you mean 'web_search:sham'\\?"),
        ("none:shame", "'none' has no tools"),
        ("mcp:", "there is no built-in condition 'mcp:'"),
        (":sham", "there is no built-in condition ':sham'"),
    ],
)
def test_a_wrong_name_of_an_arm_is_one_clear_error(name: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        named_condition(name)
    assert re.search(expected, str(caught.value), re.DOTALL), str(caught.value)


def test_interventions_need_tools_whose_results_they_change(tmp_path: Path) -> None:
    changing = 'interventions = [{ name = "delay", options = { seconds = 1 } }]'
    table = f'{{ name = "slow", base = "scaffold", {changing} }}'
    with pytest.raises(InputError, match="conditions: 'slow' has interventions and no tools"):
        load(tmp_path, MINIMAL.replace('"python"]', f"{table}]")).resolved_conditions()
    given = f'{{ name = "slow", base = "scaffold", tools = ["python"], {changing} }}'
    assert len(load(tmp_path, MINIMAL.replace('"python"]', f"{given}]")).resolved_conditions()) == 2


@pytest.mark.parametrize("server", ["libary", "libary/look_up"])
def test_a_server_that_is_not_there_is_named_before_anything_else(tmp_path: Path, server: str) -> None:
    """Also where placebos of it would need the results of an earlier run."""
    table = '[[mcp]]\nname = "library"\nurl = "http://127.0.0.1:9/mcp"\n'
    plan = load(tmp_path, LADDER.format(f'["mcp:{server}"]') + table)
    with pytest.raises(InputError, match="mcp names no server 'libary'") as refused:
        fingerprint_of(plan, plan.resolved_conditions())
    assert "did you mean 'mcp:library'? put into the plan a table [[mcp]] with name" in refused.value.hint


def test_arms_that_never_call_a_tool_wait_for_no_kernel(tmp_path: Path) -> None:
    arms = resolved(tmp_path, '["all", "search"]')
    assert {name for name, arm in arms.items() if starts_kernel(arm)} == {"all:placebo", "all"}
