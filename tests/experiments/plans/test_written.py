"""Plans in other forms than TOML, with parts replaced, run in part, and with a `.env` beside them."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.experiments.scripted import write_scripted

from toolablate.experiments.plans import written
from toolablate.experiments.plans.plan import Only, design, load_plan, read_plan
from toolablate.experiments.plans.written import keeping_env, take_env, values_given
from toolablate.experiments.running.launch import launch
from toolablate.experiments.running.progress import RunProgress
from toolablate.traces.errors import InputError
from toolablate.traces.records import ToolCall
from toolablate.traces.store import Store

TOML = """
conditions = ["none", "python", { name = "brief", base = "python", budget = { turns = 3 } }]
repeats = 2
[web]
mode = "replay"
archive = "a"
as_of = 2026-01-01
[questions]
file = "builtin"
[[models]]
provider = "simulated"
name = "sim"
"""
YAML = """
conditions: [none, python, {name: brief, base: python, budget: {turns: 3}}]
repeats: 2
web: {mode: replay, archive: a, as_of: 2026-01-01}
questions: {file: builtin}
models:
  - provider: simulated
    name: sim
"""
JSON = json.dumps(
    {
        "conditions": ["none", "python", {"name": "brief", "base": "python", "budget": {"turns": 3}}],
        "repeats": 2,
        "web": {"mode": "replay", "archive": "a", "as_of": "2026-01-01"},
        "questions": {"file": "builtin"},
        "models": [{"provider": "simulated", "name": "sim"}],
    }
)


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _environment() -> Iterator[None]:
    yield
    take_env(Path("/nonexistent"))


def test_a_plan_is_the_same_in_toml_yaml_and_json(tmp_path: Path) -> None:
    plan, _ = load_plan(put(tmp_path, "plan.toml", TOML))
    for name, text in (("plan.yaml", YAML), ("plan.yml", YAML), ("plan.json", JSON)):
        other, kept = load_plan(put(tmp_path, name, text))
        assert other.model_dump() == plan.model_dump()
        # A store knows the text alone.
        assert read_plan(kept, tmp_path / "plan.toml").model_dump() == plan.model_dump()


def test_yaml_merges_what_a_key_of_its_own_replaces(tmp_path: Path) -> None:
    merged = YAML.replace("name: sim", "name: sim\n    <<: {playbook: builtin, name: other}")
    assert load_plan(put(tmp_path, "plan.yaml", merged))[0].models[0].name == "sim"


def test_an_endpoint_of_embeddings_that_would_keep_a_secret_is_refused_with_the_plan(tmp_path: Path) -> None:
    table = '[embeddings]\nendpoint = "https://host.example/v1?key=1"\nmodel = "m"\n'
    with pytest.raises(InputError, match=r"embeddings.*query or fragment"):
        load_plan(put(tmp_path, "plan.toml", TOML + table))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("plan.yaml", YAML.replace("repeats: 2", "repeats: [2"), r"not valid YAML: .*\(at line \d, column \d+\)"),
        (
            "plan.yaml",
            YAML + "repeats: 3\n",
            r"not valid YAML: the key 'repeats' is there twice \(at line 9, column 1\)",
        ),
        ("plan.yaml", YAML.replace("repeats", "repeat"), r"plan.yaml: repeat: unknown key; did you mean 'repeats'\?"),
        ("plan.yaml", YAML.replace("name: sim", "name: sim\n    abilty: 1"), r"models\[0\]\.abilty: unknown key"),
        ("plan.yaml", "- a", "is no plan: it should be a table of keys; found list"),
        ("plan.yaml", "!!python/object/apply:os.system ['true']", "not valid YAML: could not determine a constructor"),
        ("plan.json", JSON[:-3], r"not valid JSON: .*line 1 column \d+"),
        ("plan.json", '{"repeats": 1, "repeats": 2}', "not valid JSON: the key 'repeats' is there twice"),
        ("plan.json", JSON.replace("repeats", "repeat"), r"plan.json: repeat: unknown key; did you mean 'repeats'\?"),
        ("plan.json", "[]", "is no plan: it should be a table of keys; found list"),
        ("plan.toml", "[" * 5_000, "not valid TOML"),
    ],
)
def test_a_mistake_is_named_in_each_of_them(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_plan(put(tmp_path, name, text))


def test_keys_are_replaced_by_their_places(tmp_path: Path) -> None:
    path = put(tmp_path, "plan.toml", TOML)
    given = ("repeats=5", "models.0.ability=0.5", "models.sim.seed = 7", "conditions.python.budget.turns=2")
    given += ("conditions.2.budget.turns=4", "sandbox.limits.memory_mb=900", "baseline=none", "web.archive='b=c'")
    plan, kept = load_plan(path, values_given(given))
    assert (plan.repeats, plan.models[0].ability, plan.models[0].seed, plan.baseline) == (5, 0.5, 7, "none")  # type: ignore[union-attr]
    assert [each.budget.turns for each in plan.resolved_conditions()[1:]] == [2, 4]
    assert (plan.sandbox.limits.memory_mb, Path(plan.web.archive).name) == (900, "b=c")
    # What a replay reads again is what was run.
    assert read_plan(kept, path) == plan


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("repeat=2", r"plan.toml: repeat: unknown key; did you mean 'repeats'\?"),
        ("models.0.abilty=1", r"models\[0\]\.abilty: unknown key; did you mean 'ability'\?"),
        ("repeats=many", r"repeats: .*integer.*; found 'many'"),
        ("models.1.seed=1", r"--set models.1.seed: models has no item '1'\n  its items: 0 \(sim\)"),
        ("models.other.seed=1", r"--set models.other.seed: models has no item 'other'"),
        ("repeats.x=1", r"--set repeats.x: repeats is 2, and has no keys\n  set repeats as a whole"),
        ("models..seed=1", r"--set models..seed: a part of it is empty"),
        ("repeats", r"--set: found 'repeats'\n  as in --set repeats=2"),
    ],
)
def test_a_key_that_cannot_be_replaced_is_named(tmp_path: Path, given: str, said: str) -> None:
    path = put(tmp_path, "plan.toml", TOML)
    with pytest.raises(InputError, match=said):
        load_plan(path, values_given([given]))


def test_a_part_of_a_plan_is_run(tmp_path: Path) -> None:
    plan, _ = load_plan(put(tmp_path, "plan.toml", TOML))
    whole = design(plan)
    few = [question.id for question in whole.questions[3:5]]
    part = design(plan, Only(("brief", "none"), tuple(reversed(few))))
    assert [question.id for question in part.questions] == few
    assert [condition.name for condition in part.conditions] == ["none", "brief"]
    assert {each.trial.id for each in part.trials} < {each.trial.id for each in whole.trials}
    with pytest.raises(InputError, match=r"--condition: the plan has no condition 'pyton'\n  did you mean 'python'\?"):
        design(plan, Only(conditions=("pyton",)))
    with pytest.raises(InputError, match=r"--question: the plan has no question 'zz'\n  it has "):
        design(plan, Only(questions=("zz",)))


def test_variables_stand_in_a_file_beside_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TB_SET", "outside")
    text = "# keys\nTB_A = plain # why\nexport TB_B=\"with # sign\"\nTB_C='it''s'\nTB_SET=inside\nnot a line\nTB_D=\nTB_A=again\n"
    put(tmp_path, ".env", text)
    load_plan(put(tmp_path, "plan.toml", TOML))
    found = {name: os.environ.get(name) for name in ("TB_A", "TB_B", "TB_D", "TB_SET")}
    assert found == {"TB_A": "plain", "TB_B": "with # sign", "TB_D": "", "TB_SET": "outside"}
    # Those of one plan are not for the next, whose endpoints may be others'.
    other = tmp_path / "other"
    other.mkdir()
    load_plan(put(other, "plan.toml", TOML))
    assert "TB_A" not in os.environ
    assert os.environ["TB_SET"] == "outside"
    (other / ".env").mkdir()
    load_plan(other / "plan.toml")


def test_what_is_in_it_reaches_neither_store_nor_sandbox_nor_log(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = "sk-" + "7" * 30
    put(tmp_path, ".env", f"TB_SECRET={secret}\n")
    code = "import os; print(sorted(os.environ), [v for v in os.environ.values() if 'sk-' in v])"
    plan = write_scripted(
        tmp_path, [("python", {"code": code})], "[{ name = 'python', tools = ['python'] }]", "sandbox = 'none'"
    )
    plan.write_text("sandbox = 'none'\n" + plan.read_text().replace("sandbox = 'none'\n", ""), encoding="utf-8")
    loaded, text = load_plan(plan)
    assert os.environ["TB_SECRET"] == secret
    with RunProgress() as progress:
        launch(loaded.with_changes(store=tmp_path / "s.sqlite"), text, progress)
    with Store(tmp_path / "s.sqlite") as store:
        (call,) = [event for trace in store.traces() for event in trace.events if isinstance(event, ToolCall)]
        assert call.status == "ok"
        assert "PATH" in call.output
        assert "TB_SECRET" not in call.output
        assert not any(secret in run.plan for run in store.runs())
    assert all(secret.encode() not in path.read_bytes() for path in tmp_path.glob("s.sqlite*"))
    assert secret not in "".join(capfd.readouterr())


def test_a_value_is_as_toml_has_it_or_a_text() -> None:
    given = ["a=1", "b=true", "c=[1, 2]", "d={x = 1}", "e=word", "f='7'", "g=", "h=1 2", "i=a=b\nj=1"]
    found = values_given(given)
    assert found == {
        "a": 1,
        "b": True,
        "c": [1, 2],
        "d": {"x": 1},
        "e": "word",
        "f": "7",
        "g": "",
        "h": "1 2",
        "i": "a=b\nj=1",
    }
    assert written._value("1\nother = 2") == "1\nother = 2"


def test_variables_of_a_plan_that_runs_stay_when_another_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ONE_KEY", raising=False)
    folders = [tmp_path / name for name in ("first", "second", "third")]
    for folder, text in zip(folders, ("ONE_KEY=one", "OTHER_KEY=two", "ONE_KEY=three"), strict=True):
        folder.mkdir()
        put(folder, ".env", text)
    with keeping_env(folders[0]):
        with pytest.raises(InputError, match="has not the same ONE_KEY, OTHER_KEY"), keeping_env(folders[1]):
            pass
        assert "OTHER_KEY" not in os.environ
        take_env(folders[1])
        assert (os.environ["ONE_KEY"], os.environ["OTHER_KEY"]) == ("one", "two")
        with pytest.raises(InputError, match="a plan that is running has another ONE_KEY"):
            take_env(folders[2])
    take_env(folders[2])
    assert os.environ["ONE_KEY"] == "three"
    assert "OTHER_KEY" not in os.environ
