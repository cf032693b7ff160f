"""A plan that is wrong says which key, what was found, and what is allowed."""

import re
from pathlib import Path

import pytest

from toolablate.experiments.plans import plan as plans
from toolablate.experiments.plans.plan import Plan, all_questions, design, load_plan
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, ToolUse

MINIMAL = """
conditions = ["none", "python"]
[questions]
file = "builtin"
[[models]]
provider = "simulated"
name = "sim"
"""


def load(folder: Path, text: str) -> Plan:
    path = folder / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return load_plan(path)[0]


def test_paths_are_relative_to_the_plan_and_the_store_is_named_after_it(tmp_path: Path) -> None:
    plan = load(tmp_path, MINIMAL.replace('"builtin"', '"q.jsonl"'))
    assert plan.name == "plan"
    assert Path(plan.store) == tmp_path / "runs/plan.sqlite"
    assert Path(plan.questions.file) == tmp_path / "q.jsonl"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            ("[questions]", "repeat = 3\n[questions]"),
            r"repeat: unknown key; did you mean 'repeats'\? \(allowed: .*seed",
        ),
        (('name = "sim"', 'name = "sim"\nabilty = 1'), r"models\[0\]\.abilty: unknown key; did you mean 'ability'\?"),
        (('name = "sim"', 'name = "sim"\nability = 2'), r"models\[0\]\.ability: .*less than or equal to 1; found 2"),
        (
            ('"simulated"', '"openia"'),
            r"models\[0\]: provider is 'openia', allowed is 'langchain', 'openai', 'scripted', 'simulated'",
        ),
        (('provider = "simulated"', ""), r"models\[0\]: missing key 'provider'"),
        (
            ("[questions]", "repeats = 1_000_000_000_000\n[questions]"),
            r"repeats: .*less than or equal to 10000; found 1000000000000",
        ),
        (("[questions]", "seed = 'x'\n[questions]"), r"seed: .*integer.*; found 'x'"),
        (('file = "builtin"', ""), r"questions\.file: missing"),
        (('"python"]', '"pyhton"]'), r"no built-in condition 'pyhton'.*built in are: none, scaffold, python"),
        (('"python"]', '"none"]'), r"conditions: the name 'none' is used twice"),
        (('conditions = ["none", "python"]', ""), r'conditions: missing; name some, as in conditions = \["none"'),
        (("[questions]", "baseline = 'base'\n[questions]"), r"baseline: 'base' is not one of the conditions"),
        (
            ("[questions]", "[sandbox]\nbackend = 'firejail'\n[questions]"),
            r"sandbox\.backend: found 'firejail'.*docker",
        ),
        (
            ("[questions]", "[sandbox]\nlimits = { memory = 3 }\n[questions]"),
            r"sandbox\.limits\.memory: unknown key; did you mean 'memory_mb'\?",
        ),
        (
            ("[questions]", "[sandbox]\nlimits = { memory_mb = 0 }\n[questions]"),
            r"sandbox\.limits\.memory_mb: .*found 0",
        ),
        (("[questions]", "repeats = '4'\n[questions]"), r"repeats: .*valid integer; found '4'"),
        (("[questions]", "repeats = true\n[questions]"), r"repeats: .*valid integer; found True"),
        (("[questions]", "[budget]\nseconds = '3'\n[questions]"), r"budget\.seconds: .*valid number; found '3'"),
        (("[questions]", "[web]\nrobots = 'yes'\n[questions]"), r"web\.robots: .*valid boolean; found 'yes'"),
        (("[questions]", "[budget]\nturns = 0\n[questions]"), r"budget\.turns: .*greater than 0; found 0"),
        (
            ('"simulated"\nname = "sim"', '"openai"\nname = "sim"\n[budget]\ncost_usd = 1'),
            r"budget\.cost_usd: the model 'sim' has no price",
        ),
        (("conditions", "conditions = ["), r"not valid TOML: .*line 2"),
        (
            ('"python"]', '{ name = "p", base = "python", budget = { turn = 3 } }]'),
            r"conditions\[1\]\.budget\.turn: unknown key; did you mean 'turns'\?",
        ),
        (('"python"]', '{ name = "same", prompt = "" }]'), r"'none' and 'same' are the same condition under two names"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, change: tuple[str, str], expected: str) -> None:
    assert change[0] in MINIMAL
    with pytest.raises(InputError) as caught:
        load(tmp_path, MINIMAL.replace(*change)).resolved_conditions()
    assert re.search(expected, str(caught.value), re.DOTALL), str(caught.value)


def test_more_trials_than_can_be_held_are_refused_before_they_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = load(tmp_path, "repeats = 10_000\n" + MINIMAL)
    monkeypatch.setattr(plans, "MAX_TRIALS", len(all_questions(plan)) * 20_000 - 1)
    with pytest.raises(InputError, match=r"^repeats: the plan calls for [\d,]+ trials.*lower `repeats`"):
        design(plan)
    assert design(plan.model_copy(update={"repeats": 1})).trials


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("a\\u0000b", "a path without a NUL character; found 'a\\x00b'"),
        ("x" * 5_000, "a shorter path: of 3,000 bytes at most, and 255 in each name; found 'xxx"),
        ("/long" * 1_000, "a shorter path: of 3,000 bytes"),
    ],
    ids=["nul", "name", "path"],
)
@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("questions.file", ('file = "builtin"', "file = PATH")),
        ("questions.folder", ('file = "builtin"', 'file = "builtin"\nfolder = PATH')),
        ("prices", ("[questions]", "prices = PATH\n[questions]")),
        ("store", ("[questions]", "store = PATH\n[questions]")),
        ("search.corpus", ("[questions]", "search = { provider = 'corpus', corpus = PATH }\n[questions]")),
        ("web.archive", ("[questions]", "web = { archive = PATH }\n[questions]")),
        ("placebo.store", ("[questions]", "placebo = { store = PATH }\n[questions]")),
        ("replies.file", ("[questions]", "replies = { file = PATH }\n[questions]")),
        ("mcp[0].folder", ("[questions]", "mcp = [{ name = 'm', command = ['x'], folder = PATH }]\n[questions]")),
        ("models[0].script", ('"simulated"', '"scripted"\nscript = PATH')),
        ("models[0].playbook", ('"simulated"', '"simulated"\nplaybook = PATH')),
        ("models[0].scenarios", ('"simulated"', '"simulated"\nscenarios = PATH')),
        (
            "judges[0].script",
            ("[[models]]", "[[judges]]\nprovider = 'scripted'\nname = 'j'\nscript = PATH\n[[models]]"),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_can_be_no_path_is_named_with_its_key(
    tmp_path: Path, key: str, change: tuple[str, str], path: str, why: str
) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, MINIMAL.replace(change[0], change[1].replace("PATH", f'"{path}"')))
    assert f": {key}: should be {why}" in str(caught.value)
    assert len(str(caught.value).replace(str(tmp_path), "")) < 200


def test_several_mistakes_are_named_together(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, MINIMAL.replace('name = "sim"', 'seed = "x"\ntrust = -1'))
    for part in ("models[0].name: missing", "models[0].seed", "models[0].trust"):
        assert part in str(caught.value)
    assert "at least 1 item" not in str(caught.value)


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_an_unreadable_plan_is_one_clear_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "plan.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(str(path))):
        load_plan(path)


def test_a_condition_in_a_plan_equals_the_one_built_in_python(tmp_path: Path) -> None:
    plan = load(
        tmp_path,
        MINIMAL.replace(
            '"python"]', '{ name = "mine", prompt = "Think.", tools = ["python"], budget = { turns = 3 } }]'
        ),
    )
    built = Condition(
        name="other label",
        prompt="Think.",
        tools=(ToolUse(name="python"),),
        budget={"turns": 3},  # type: ignore[arg-type]
    )
    assert plan.resolved_conditions()[1].identity() == built.identity()


def test_base_keeps_what_is_not_replaced_and_the_plans_budget_is_the_default(tmp_path: Path) -> None:
    text = MINIMAL.replace('"python"]', '{ name = "brief", base = "python", budget = { turns = 3 } }]')
    plan = load(tmp_path, text + "[budget]\nseconds = 30\n")
    none, brief = plan.resolved_conditions()
    assert (none.budget.turns, none.budget.seconds) == (12, 30)
    assert (brief.budget.turns, brief.budget.seconds) == (3, 30)
    assert brief.prompt
    assert brief.tools == (ToolUse(name="python"),)


def test_a_built_in_name_with_a_prompt_of_its_own_keeps_its_tools(tmp_path: Path) -> None:
    plan = load(tmp_path, MINIMAL.replace('"python"]', '{ name = "python", prompt = "Be brief." }]'))
    condition = plan.resolved_conditions()[1]
    assert (condition.prompt, condition.tools) == ("Be brief.", (ToolUse(name="python"),))


def test_questions_of_the_hub_are_on_no_disk(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    text = "conditions = ['none']\n[[models]]\nprovider = 'simulated'\nname = 's'\n[questions]\nfile = 'hf:owner/set#test'\n"
    path.write_text(text, encoding="utf-8")
    plan, _ = load_plan(path)
    assert plan.questions.file == "hf:owner/set#test"
    assert not plan.questions.files_folder.exists()
    path.write_text(f"{text}folder = 'data'\n", encoding="utf-8")
    assert load_plan(path)[0].questions.files_folder == tmp_path / "data"


@pytest.mark.parametrize("name", ["q.jsonl", "q.parquet"])
def test_a_question_file_that_is_not_there_is_named_with_its_key(tmp_path: Path, name: str) -> None:
    plan = load(tmp_path, MINIMAL.replace('"builtin"', f'"{name}"'))
    with pytest.raises(
        InputError, match=rf"^questions\.file: {re.escape(str(tmp_path))}/{name}: cannot be read: No such"
    ):
        design(plan)
