"""What the documents say is true."""

import ast
import inspect
import json
import os
import re
import textwrap
import tomllib
from collections.abc import Iterator
from inspect import isawaitable
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

import click
import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from tests.project.pages import ROOT, blocks

import toolablate
from toolablate.benchmarks.questions import load_questions
from toolablate.benchmarks.scoring.scorer import AsyncScorer
from toolablate.benchmarks.scoring.scorers import scorer_for
from toolablate.cli import group
from toolablate.experiments.construction.pipeline import Pipeline
from toolablate.experiments.plans.plan import Plan, load_plan
from toolablate.experiments.plans.prices import read_prices
from toolablate.sandbox import open_sandbox
from toolablate.tools import FunctionTool
from toolablate.traces.records import Question

QUESTIONS_AND_MODEL = """
[questions]
file = "builtin"
[[models]]
provider = "simulated"
name = "sim"
"""


def completed(plan: str) -> str:
    """A plan of which a document shows only a part."""
    conditions = "" if "conditions" in plan else 'conditions = ["none"]\n'
    return conditions + (plan if "[[models]]" in plan else plan + QUESTIONS_AND_MODEL)


def models_in(annotation: object) -> list[type[BaseModel]]:
    """The plan's sections: a model, or a model or None; lists of entries are no sections."""
    options = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    return [option for option in options if isinstance(option, type) and issubclass(option, BaseModel)]


def help_pages(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, parent=context, info_name=name, terminal_width=100)
        title = inner.command_path.removeprefix("toolablate ")
        yield f"## {title}\n\n```text\n{command.get_help(inner)}\n```\n"
        if isinstance(command, click.Group):
            yield from help_pages(command, inner)


def test_the_help_pages_are_those_of_the_commands() -> None:
    """After changing a command, run this with UPDATE_DOCS=1."""
    pages = ["# Commands\n"]
    context = click.Context(group, info_name="toolablate", terminal_width=100, **group.context_settings)
    pages.append(f"```text\n{group.get_help(context)}\n```\n")
    pages += help_pages(group, context)
    page = ROOT / "docs/cli.md"
    if os.environ.get("UPDATE_DOCS"):
        page.write_text("\n".join(pages), encoding="utf-8")
    assert page.read_text(encoding="utf-8") == "\n".join(pages)


def reference() -> Iterator[str]:
    """What `import toolablate` offers, by signature and docstring."""
    for name in sorted(toolablate.__all__, key=str.lower):
        found = getattr(toolablate, name)
        if name == "ToolablateError":
            continue
        yield f"### {name}\n\n{documented(name, found)}"
        if name == "Store":
            for method, each in vars(found).items():
                if not method.startswith("_") and inspect.isfunction(each):
                    yield documented(f"store.{method}", each)


def documented(name: str, found: Any) -> str:
    """With the signature as the source has it, which no version of Python words in its own way."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(found))).body
    if isinstance(node, ast.ClassDef):
        node = next(each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    given = node.args
    given.args = [each for each in given.args if each.arg != "self"]
    for each in (*given.args, *given.kwonlyargs):
        if isinstance(each.annotation, ast.Constant):
            each.annotation = ast.parse(str(each.annotation.value), mode="eval").body
    # Lines end between parameters.
    whole = f"{name}({ast.unparse(given)})".replace(" ", "\0").replace(",\0", ", ")
    shown = textwrap.fill(whole, 110, subsequent_indent="    ", break_long_words=False).replace("\0", " ")
    return f"```text\n{shown}\n```\n\n```text\n{inspect.cleandoc(found.__doc__ or '')}\n```\n"


def test_the_reference_of_python_is_that_of_its_docstrings() -> None:
    """After changing one, run this with UPDATE_DOCS=1."""
    page = ROOT / "docs/python.md"
    text = page.read_text(encoding="utf-8")
    head, heading, _ = text.partition("## Reference\n")
    made = f"{head}{heading}\n" + "\n".join(reference())
    if os.environ.get("UPDATE_DOCS"):
        page.write_text(made, encoding="utf-8")
        text = made
    assert text == made


def test_the_examples_of_python_are_what_it_offers() -> None:
    """Names and words are there; what they do is tried in tests/api."""
    examples = blocks("docs/python.md", "python") + [text for text in blocks("README.md", "python") if "tb." in text]
    called = [node for text in examples for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    roots = {"tb": toolablate, "store": toolablate.Store}
    checked = 0
    for node in called:
        if (
            isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in roots
        ):
            found = getattr(roots[node.func.value.id], node.func.attr)
            words = inspect.signature(found).parameters
            keys = any(each.kind is each.VAR_KEYWORD for each in words.values())
            assert keys or {each.arg for each in node.keywords} <= set(words), ast.unparse(node)
            checked += 1
    assert checked >= 8


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/plans.md",
        "docs/web.md",
        "docs/replies.md",
        "docs/lpfqa.md",
        "docs/checklists.md",
        "docs/models.md",
        "docs/agents.md",
    ],
)
def test_every_plan_in_the_documents_is_valid(page: str, tmp_path: Path) -> None:
    # Plans of the contamination test are of another kind, and have a test of their own.
    examples = [text for text in blocks(page, "toml") if "[benchmarks]" not in text]
    assert examples
    for number, text in enumerate(examples):
        path = tmp_path / f"plan{number}.toml"
        path.write_text(completed(text), encoding="utf-8")
        plan, _ = load_plan(path)
        assert plan.resolved_conditions()


def test_the_reference_plan_shows_every_key() -> None:
    shown = tomllib.loads(blocks("docs/plans.md", "toml")[0])
    assert set(shown) == set(Plan.model_fields)
    sections = [model for name in shown for model in models_in(Plan.model_fields[name].annotation)]
    assert len(sections) >= 5
    for name in shown:
        for section in models_in(Plan.model_fields[name].annotation):
            assert set(shown[name]) == set(section.model_fields), name


def keys_of(section: type[BaseModel]) -> Iterator[tuple[str, object]]:
    """Each key as it is named in a table, with its default; of named entries, each name that there may be."""
    for name, field in section.model_fields.items():
        options = get_args(field.annotation)
        if models := models_in(field.annotation):
            yield from ((f"{name}.{key}", default) for key, default in keys_of(models[0]))
        elif get_origin(field.annotation) is dict:
            yield from ((f"{name}.{key}", None) for key in get_args(options[0]))
        else:
            yield name, field.default


def test_the_table_of_a_pipeline_has_every_key_with_its_default() -> None:
    page = (ROOT / "docs/construction_rules.md").read_text(encoding="utf-8")
    table = page.partition("## Keys of a pipeline file\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| .+ \| (.+) \|$", table, re.MULTILINE)
    known = dict(keys_of(Pipeline))
    assert len(known) > 30
    assert sorted(key for key, _ in rows) == sorted(known)
    # The others are words, such as "none".
    written = {key: tomllib.loads(f"is = {told[1:-1]}")["is"] for key, told in rows if re.fullmatch("`[^`]+`", told)}
    unset = ("", None, PydanticUndefined)
    said = {key: list(each) if isinstance(each, tuple) else each for key, each in known.items() if each not in unset}
    assert written == said


def test_the_reference_of_questions_shows_every_key() -> None:
    page = (ROOT / "docs/plans.md").read_text(encoding="utf-8").partition("## Questions")[2]
    for field in Question.model_fields.keys() - {"version"}:
        assert f"`{field}`" in page


def test_the_questions_of_the_readme_load(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(blocks("README.md", "json")), encoding="utf-8")
    assert len(load_questions(path)) == 2


@pytest.mark.deep
async def test_the_examples_of_scorers_are_scored_as_they_say() -> None:
    rows = [re.findall(r"`([^`]+)`", line) for line in (ROOT / "docs/plans.md").read_text("utf-8").splitlines()]
    examples = [row for row in rows if len(row) == 4 and row[1].startswith('{"kind"')]
    assert {name for name, *_ in examples} == {"exact", "contains", "f1", "regex", "math", "code"}
    for name, target, *replies in examples:
        asked = Question.model_validate({"id": "q", "prompt": "p", "target": json.loads(target)})
        scorer = scorer_for(name, sandbox=lambda: open_sandbox("bubblewrap"))
        made = [scorer.score(asked, "t", reply) for reply in replies]
        right, other = [await each if isawaitable(each) else each for each in made]
        if isinstance(scorer, AsyncScorer):
            await scorer.close()
        assert right.value == 1, (name, right)
        assert other.value is not None, (name, other)
        assert other.value < 1, (name, other)


def test_the_replies_of_the_plans_page_are_json() -> None:
    (example,) = blocks("docs/plans.md", "json")
    assert all({"question", "replies"} <= set(json.loads(line)) for line in example.splitlines())


def test_the_prices_of_the_plans_page_can_be_read(tmp_path: Path) -> None:
    (example,) = blocks("docs/plans.md", "text")
    path = tmp_path / "prices.toml"
    path.write_text(example, encoding="utf-8")
    assert set(read_prices(path).prices) == {("api.example.com", "a-model"), ("api.example.com", "another-model")}


def test_the_tool_of_the_readme_is_a_tool() -> None:
    (code,) = [text for text in blocks("README.md", "python") if "@tool" in text]
    names: dict[str, object] = {}
    exec(code, names)
    made = names["fahrenheit"]
    assert isinstance(made, FunctionTool)
    assert made.parameters["required"] == ["celsius"]
    assert made(100.0) == 212.0
